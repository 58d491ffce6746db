//===- RowFunction.h - Ops over the same rows, as a function ----*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_DIALECT_FASTK_ROWFUNCTION_H
#define FASTK_DIALECT_FASTK_ROWFUNCTION_H

#include "llvm/ADT/StringRef.h"

namespace fastk {

/// The attributes of a function on tensors whose ops share their rows: how many
/// rows, of how many columns. A fastk.call may name it as it does a lowering.
inline constexpr llvm::StringLiteral kRowsAttr = "fastk.rows";
inline constexpr llvm::StringLiteral kColumnsAttr = "fastk.columns";

} // namespace fastk

#endif // FASTK_DIALECT_FASTK_ROWFUNCTION_H
