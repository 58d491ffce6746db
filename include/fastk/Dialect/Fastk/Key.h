//===- Key.h - The key that names a workload --------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_DIALECT_FASTK_KEY_H
#define FASTK_DIALECT_FASTK_KEY_H

#include "mlir/IR/Region.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace fastk {

/// The exact text that a key is the hash of: the region's single block in
/// MLIR's generic form, with local scope and no locations, SSA names numbered
/// from zero. Two regions have equal texts exactly when they are the same
/// sequence of ops on the same types and attributes.
std::string serializePattern(mlir::Region &pattern);

/// SHA-256 of serializePattern(), as 64 lower-case hex digits. The region is
/// taken as it stands: bring it into canonical form first
/// (fastk/Analysis/CanonicalForm.h).
std::string computeKey(mlir::Region &pattern);

} // namespace fastk

#endif // FASTK_DIALECT_FASTK_KEY_H
