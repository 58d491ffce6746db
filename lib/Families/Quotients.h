//===- Quotients.h - Divisions that need not be exact -----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_FAMILIES_QUOTIENTS_H
#define FASTK_LIB_FAMILIES_QUOTIENTS_H

#include "mlir/IR/Value.h"
#include <optional>

namespace fastk::families {

/// Whether a quotient, or the inverse of a root, may be off by 2 ulp of f32 on
/// a GPU, where exact ones take a branch (div.full.f32 of the PTX ISA; rsqrtf()
/// of the CUDA C++ Programming Guide): no comparison makes a step of it, in its
/// own op or in one that reads it, and its workload rounds nothing to whole
/// numbers, where 2.9999998 is not 3.
bool mayBeInexact(mlir::Operation *quotient);

/// 1 / \p divisor as f32, where that is a constant and its inverse a normal
/// number: a product with it is off by 1.5 ulp at most.
std::optional<float> inverseOf(mlir::Value divisor);

} // namespace fastk::families

#endif // FASTK_LIB_FAMILIES_QUOTIENTS_H
