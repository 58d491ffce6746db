//===- ScheduleRules.h - What a schedule may use ----------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CONVERSION_SCHEDULE_SCHEDULERULES_H
#define FASTK_LIB_CONVERSION_SCHEDULE_SCHEDULERULES_H

#include "fastk/Conversion/ProgramRules.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace fastk {

/// Refuses, with an error at `lowering` that names the op, where in the file it
/// stands and the rule, a schedule with an op that is not on the list of those
/// that transform the function and do nothing else. For a GPU it may also
/// annotate the function with kernelChoices(). Nothing of it is run.
mlir::LogicalResult checkScheduleOps(mlir::ModuleOp schedule,
                                     LoweringOp lowering);

/// Applies the schedule that `lowering` carries to `func`, which was made of
/// its pattern. Errors are diagnostics at the lowering.
mlir::LogicalResult applySchedule(LoweringOp lowering, mlir::func::FuncOp func);

} // namespace fastk

#endif // FASTK_LIB_CONVERSION_SCHEDULE_SCHEDULERULES_H
