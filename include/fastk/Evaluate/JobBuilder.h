//===- JobBuilder.h - What the worker must know of a workload ---*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_EVALUATE_JOBBUILDER_H
#define FASTK_EVALUATE_JOBBUILDER_H

#include "fastk/Analysis/WorkloadKind.h"
#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "fastk/Protocol/Job.h"
#include "llvm/Support/Error.h"

namespace fastk {

/// The worker's element type for an MLIR one; nothing for types that a kernel
/// cannot take (complex, quantised, odd widths).
std::optional<worker::ElementType> toElementType(mlir::Type type);

/// A job with the operands, results and kind of a workload filled in; the
/// programs and the timing are the caller's. Fails, naming the type, when an
/// operand has a type that the worker does not draw.
llvm::Expected<worker::Job> buildJob(LoweringOp workload,
                                     const WorkloadFeatures &features);

} // namespace fastk

#endif // FASTK_EVALUATE_JOBBUILDER_H
