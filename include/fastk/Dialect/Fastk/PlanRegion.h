//===- PlanRegion.h - A plan as ops, and as data ----------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_DIALECT_FASTK_PLANREGION_H
#define FASTK_DIALECT_FASTK_PLANREGION_H

#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "fastk/Protocol/LaunchPlan.h"

namespace fastk {

/// True for languages whose programs come with a launch plan.
bool hasLaunchPlan(Language language);

/// What a plan may ask of the devices of a target, as "cuda:sm_90a"; nothing
/// for targets that have no plans or that this version does not know. Devices
/// of one target differ in memory: that of the one that is meant is
/// \p memoryBytes, 0 for any.
std::optional<worker::PlanLimits> planLimitsOf(llvm::StringRef target,
                                               int64_t memoryBytes = 0);

/// The plan region of a lowering as data. Ops that do not belong there, and
/// words that no plan knows, are errors at the op.
mlir::FailureOr<worker::LaunchPlan> readPlan(LoweringOp lowering);

/// The ops of a plan without repeats, for these buffers.
void buildPlan(mlir::OpBuilder &builder, mlir::Location loc,
               const worker::LaunchPlan &plan, mlir::ValueRange inputs,
               mlir::ValueRange outputs);

/// Replaces the plan region of a lowering by `plan`, whose buffers, tensor maps
/// and words must be valid (worker::verifyLaunchPlan).
void writePlan(LoweringOp lowering, const worker::LaunchPlan &plan);

/// Bytes of an integer, an index, a float or a complex number in memory.
int64_t elementBytes(mlir::Type element);

/// Sizes in bytes of the operands, or of the results, of a workload.
std::vector<int64_t> bufferBytes(mlir::TypeRange types);

/// Checks that a lowering has a plan exactly where its language needs one, and
/// that the plan keeps every rule of its target.
mlir::LogicalResult verifyPlan(LoweringOp lowering);

} // namespace fastk

#endif // FASTK_DIALECT_FASTK_PLANREGION_H
