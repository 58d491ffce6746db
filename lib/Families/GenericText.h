//===- GenericText.h - A linalg.generic as text --------------- -*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_FAMILIES_GENERICTEXT_H
#define FASTK_LIB_FAMILIES_GENERICTEXT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace fastk::families {

/// What stands before the operands of an op whose loops are letters, those of
/// `reduced` reduce; each operand is the letters of its dimensions.
std::string genericText(llvm::StringRef loops,
                        llvm::ArrayRef<llvm::StringRef> operands,
                        llvm::StringRef reduced = "");

/// What an op of a text reads, each operand by the name of its element.
struct GenericInputs {
  /// After `ins`; arguments of the body, each followed by a comma; lines that
  /// make f32 of narrower floats and of integers.
  std::string values, types, arguments, wide;
  llvm::SmallVector<llvm::StringRef> maps;

  /// Tensors are named apart from their elements: both are values of one text.
  void add(llvm::StringRef name, llvm::StringRef dims, llvm::StringRef tensor,
           llvm::StringRef type);
};

/// Yields an f32 as an element of `type`.
std::string yieldText(llvm::StringRef value, llvm::StringRef type);

/// The op that makes a function's result, and the function's end: `lines` and
/// `value`, an f32, are its elements.
struct ResultText {
  llvm::StringRef loops, lines, value;
  /// Of an element, and of the tensor.
  llvm::StringRef type, tensor;
  /// What it is written to.
  llvm::StringRef empty = "%empty";

  std::string str(GenericInputs inputs) const;
};

/// Whether lines use the value.
bool usesValue(llvm::StringRef lines, llvm::StringRef name);

} // namespace fastk::families

#endif // FASTK_LIB_FAMILIES_GENERICTEXT_H
