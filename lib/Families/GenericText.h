//===- GenericText.h - A linalg.generic as text --------------- -*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_FAMILIES_GENERICTEXT_H
#define FASTK_LIB_FAMILIES_GENERICTEXT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace fastk::families {

/// What stands before the operands of an op whose loops are letters, those of
/// `reduced` reduce; each operand is the letters of its dimensions.
std::string genericText(llvm::StringRef loops,
                        llvm::ArrayRef<llvm::StringRef> operands,
                        llvm::StringRef reduced = "");

} // namespace fastk::families

#endif // FASTK_LIB_FAMILIES_GENERICTEXT_H
