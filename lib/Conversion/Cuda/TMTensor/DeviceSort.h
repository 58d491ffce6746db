//===- DeviceSort.h - A sort as parallel loops ------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CONVERSION_CUDA_TMTENSOR_DEVICESORT_H
#define FASTK_LIB_CONVERSION_CUDA_TMTENSOR_DEVICESORT_H

#include "mlir/IR/Builders.h"

namespace fastk {

/// Says of two elements, the earlier and the later one of each buffer in turn,
/// whether they may stay in that order.
using Order =
    llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::ValueRange)>;

/// Sorts buffers of one static shape together along `dimension`: stable, in as
/// many parallel loops as the length has bits, each over all elements. `order`
/// must be total, or elements may be lost.
void emitDeviceSort(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::ValueRange buffers, int64_t dimension, Order order);

} // namespace fastk

#endif // FASTK_LIB_CONVERSION_CUDA_TMTENSOR_DEVICESORT_H
