//===- ShellWord.h - Words of commands that people copy ---------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_SUPPORT_SHELLWORD_H
#define FASTK_SUPPORT_SHELLWORD_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace fastk {

/// \p word as a shell reads it back: in quotes where it has to be.
std::string shellWord(llvm::StringRef word);

} // namespace fastk

#endif // FASTK_SUPPORT_SHELLWORD_H
