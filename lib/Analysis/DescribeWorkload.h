//===- DescribeWorkload.h - Features of a workload's parts ------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_ANALYSIS_DESCRIBEWORKLOAD_H
#define FASTK_LIB_ANALYSIS_DESCRIBEWORKLOAD_H

#include "WorkloadNames.h"
#include "fastk/Analysis/WorkloadKind.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace fastk {

// Products and reductions: DescribeProducts.cpp.
ContractionFeatures describeContraction(mlir::linalg::LinalgOp op);
ConvolutionFeatures describeConvolution(mlir::linalg::LinalgOp op);
/// How many elements an op reduces to one, and how many times; 1 where it is no
/// linalg op.
int64_t reducedLength(mlir::Operation *owner, int64_t *rows = nullptr);

/// What the body uses an operand for: DescribeInputs.cpp.
InputFeatures describeInput(const ScalarNode &input, mlir::Type type,
                            llvm::ArrayRef<NamedGroup> groups);

} // namespace fastk

#endif // FASTK_LIB_ANALYSIS_DESCRIBEWORKLOAD_H
