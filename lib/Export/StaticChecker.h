//===- StaticChecker.h - Words that KernelBench refuses ---------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// KernelBench's static checker looks for `pass`, `try:` and `except x` by
// regular expressions, in text and in comments of all languages alike, after it
// has cut each line at its first `#` and then at its first `//`.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_EXPORT_STATICCHECKER_H
#define FASTK_LIB_EXPORT_STATICCHECKER_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace fastk {

/// C++ that means the same as \p code and has none of these words: an
/// identifier `pass` becomes `pass_`, comments between `/*` and `*/` say it
/// otherwise. Texts in quotes stay as they are.
std::string avoidRefusedWords(llvm::StringRef code);

/// The first of these words that the checker finds; empty where there is none.
std::string findRefusedWord(llvm::StringRef text);

} // namespace fastk

#endif // FASTK_LIB_EXPORT_STATICCHECKER_H
