//===- Nesting.h - Texts that would exhaust the stack -----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM's reader of JSON and MLIR's of IR call themselves for each bracket: a
// file of a megabyte of them ends the process. What others may have written is
// looked at first.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_SUPPORT_NESTING_H
#define FASTK_SUPPORT_NESTING_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace fastk {

/// Far above what fastk writes, far below what a stack holds.
inline constexpr unsigned kDeepestNesting = 200;

/// True when brackets of any kind, "(", "[", "{" and MLIR's "<", are open in
/// each other more than `depth` deep somewhere in `text`, strings and comments
/// left out.
bool isNestedDeeper(llvm::StringRef text, unsigned depth = kDeepestNesting);

/// The same of JSON, where only strings are left out.
bool isJSONNestedDeeper(llvm::StringRef text, unsigned depth);

/// json::parse, with an error in place of an exhausted stack.
llvm::Expected<llvm::json::Value> parseShallowJSON(llvm::StringRef text);

} // namespace fastk

#endif // FASTK_SUPPORT_NESTING_H
