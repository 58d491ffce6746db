//===- Access.cpp - Where the ops of a kernel read and write --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Access.h"
#include "fastk/Dialect/Linalg/LinearForm.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace fastk;

std::optional<SmallVector<int64_t>>
fastk::linearCoefficients(AffineMap map, ArrayRef<int64_t> strides,
                          ArrayRef<int64_t> extents) {
  auto address = LinearForm::ofAccess(map, strides);
  if (!address || address->constant != 0)
    return std::nullopt;
  SmallVector<int64_t> coefficients(ArrayRef<int64_t>(address->coefficients));
  for (auto [coefficient, extent] : llvm::zip_equal(coefficients, extents))
    if (extent == 1)
      coefficient = 0;
  return coefficients;
}

SmallVector<int64_t> fastk::rowMajorStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (unsigned i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * shape[i];
  return strides;
}

std::optional<int64_t> fastk::collapsedStride(ArrayRef<int64_t> coefficients,
                                              ArrayRef<int64_t> extents) {
  std::optional<int64_t> stride;
  int64_t inner = 1;
  for (unsigned i = extents.size(); i-- > 0;) {
    if (extents[i] == 1)
      continue;
    if (!stride)
      stride = coefficients[i];
    else if (coefficients[i] != *stride * inner)
      return std::nullopt;
    inner *= extents[i];
  }
  return stride.value_or(0);
}

std::optional<unsigned> fastk::splitLoops(ArrayRef<int64_t> extents,
                                          int64_t rows) {
  int64_t count = 1;
  unsigned split = 0;
  while (split < extents.size() && (count < rows || extents[split] == 1))
    count *= extents[split++];
  if (count != rows)
    return std::nullopt;
  return split;
}

Combiner fastk::findCombiner(linalg::GenericOp op, unsigned index) {
  // Matches only an old value with one use, by an op of two operands.
  SmallVector<Operation *> combiners;
  if (!matchReduction(op.getRegionOutputArgs(), index, combiners) ||
      combiners.size() != 1 || !arith::getNeutralElement(combiners.front()))
    return {};
  Operation *combiner = combiners.front();
  BlockArgument old = op.getRegionOutputArgs()[index];
  return {combiner, combiner->getOperand(combiner->getOperand(0) == old)};
}
