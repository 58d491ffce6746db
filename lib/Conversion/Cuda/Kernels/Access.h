//===- Access.h - Where the ops of a kernel read and write ------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel that walks rows sees every op as loops over `rows` points and,
// inside them, over `columns` points, both in row-major order. An operand is
// then a linear function of the loops, and mostly of the row and the column
// alone.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CONVERSION_CUDA_KERNELS_ACCESS_H
#define FASTK_LIB_CONVERSION_CUDA_KERNELS_ACCESS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include <optional>

namespace fastk {

/// How far each loop moves an operand; nothing where a map is not linear or
/// begins anywhere but at zero. `strides` are those of the operand's
/// dimensions. Loops of extent one count as not moving.
std::optional<llvm::SmallVector<int64_t>>
linearCoefficients(mlir::AffineMap map, llvm::ArrayRef<int64_t> strides,
                   llvm::ArrayRef<int64_t> extents);

/// Row-major strides of a shape.
llvm::SmallVector<int64_t> rowMajorStrides(llvm::ArrayRef<int64_t> shape);

/// `coefficients` as one stride of the row-major number of the loops' point: 0
/// where none moves. Nothing when the loops do not collapse into one.
std::optional<int64_t> collapsedStride(llvm::ArrayRef<int64_t> coefficients,
                                       llvm::ArrayRef<int64_t> extents);

/// How many of the first loops make up `rows` points; nothing when no prefix
/// does. Loops of extent one go to the rows.
std::optional<unsigned> splitLoops(llvm::ArrayRef<int64_t> extents,
                                   int64_t rows);

/// What a reduction combines each new value with: the op, and its operand that
/// is the new value.
struct Combiner {
  mlir::Operation *op = nullptr;
  mlir::Value contribution;
};

/// The combiner of result `index`; `op` is null when the result is combined by
/// more than one op, or by one without a neutral element.
Combiner findCombiner(mlir::linalg::GenericOp op, unsigned index);

} // namespace fastk

#endif // FASTK_LIB_CONVERSION_CUDA_KERNELS_ACCESS_H
