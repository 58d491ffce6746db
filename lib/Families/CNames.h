//===- CNames.h - Other names for what a C program defines ------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_FAMILIES_CNAMES_H
#define FASTK_LIB_FAMILIES_CNAMES_H

#include "llvm/ADT/StringSet.h"
#include <string>

namespace fastk::families {

/// Every name that stands in a program.
llvm::StringSet<> namesIn(llvm::StringRef program);

/// Whether the names of a program can have a suffix wherever they mean what it
/// defines. False: \p why says where they cannot.
bool canRename(llvm::StringRef program, const llvm::StringSet<> &names,
               std::string &why);

/// The text with a suffix at all names of `names`.
std::string renamed(llvm::StringRef text, const llvm::StringSet<> &names,
                    llvm::StringRef suffix);

} // namespace fastk::families

#endif // FASTK_LIB_FAMILIES_CNAMES_H
