//===- WithNumbers.h - C programs that compile faster -----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_UNITTESTS_FAMILIES_WITHNUMBERS_H
#define FASTK_UNITTESTS_FAMILIES_WITHNUMBERS_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace fastk::test {

/// A C program with numbers in place of macros' expressions, which C has to
/// agree with. Macros that name macros repeat them whole: a compiler reads some
/// of families for longer than all else takes.
std::string withNumbers(llvm::StringRef program);

} // namespace fastk::test

#endif // FASTK_UNITTESTS_FAMILIES_WITHNUMBERS_H
