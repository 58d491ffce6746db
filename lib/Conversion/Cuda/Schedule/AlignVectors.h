//===- AlignVectors.h - How vector accesses are aligned ---------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CONVERSION_CUDA_SCHEDULE_ALIGNVECTORS_H
#define FASTK_LIB_CONVERSION_CUDA_SCHEDULE_ALIGNVECTORS_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace fastk {

/// Writes to every vector.load and vector.store of the kernel what alignment
/// its address is known to have, which may be less than the vector's: a GPU
/// faults at accesses that are not as aligned as they say. Buffers begin at
/// multiples of 16 bytes.
void alignVectors(mlir::gpu::GPUFuncOp kernel);

} // namespace fastk

#endif // FASTK_LIB_CONVERSION_CUDA_SCHEDULE_ALIGNVECTORS_H
