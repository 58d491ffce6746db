//===- MemrefPlace.h - Where a memref begins --------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CONVERSION_CUDA_KERNELS_MEMREFPLACE_H
#define FASTK_LIB_CONVERSION_CUDA_KERNELS_MEMREFPLACE_H

#include "fastk/Analysis/PlanLoops.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace fastk {

/// What the address of every operand of a program on a GPU is a multiple of.
inline constexpr int64_t kOperandAlignment = 16;

/// The buffer that a memref is cut from, which is no view, and the bytes from
/// its beginning.
struct MemrefPlace {
  mlir::Value buffer;
  LoopNumber bytes;
};

/// Where `memref` begins; nothing where that is known only when it runs.
std::optional<MemrefPlace> findPlace(mlir::Value memref);

/// Whether the elements lie one behind the other.
bool isContiguous(mlir::MemRefType type);

} // namespace fastk

#endif // FASTK_LIB_CONVERSION_CUDA_KERNELS_MEMREFPLACE_H
