//===- ProgramRules.h - What programs in MLIR may use -----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For whoever tells others how to write schedules and programs in the gpu
// dialect: the lists that these are held against, and what a schedule meets.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_CONVERSION_PROGRAMRULES_H
#define FASTK_CONVERSION_PROGRAMRULES_H

#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include <string>
#include <vector>

namespace fastk {

/// The named sequence that a schedule must define.
inline constexpr llvm::StringLiteral kScheduleEntry = "__fastk_schedule";

/// Ops that a schedule may use, without "transform.", and the prefixes that
/// whole families share; sorted.
llvm::ArrayRef<llvm::StringLiteral> allowedScheduleOps();
llvm::ArrayRef<llvm::StringLiteral> allowedScheduleFamilies();
/// The same with the members of the families that this MLIR has, sorted.
const std::vector<std::string> &scheduleOps();

/// Dialects of which a program in language `gpu` may use ops, and the ops of
/// the gpu dialect, without its prefix, that it may use.
llvm::ArrayRef<llvm::StringLiteral> allowedProgramDialects();
llvm::ArrayRef<llvm::StringLiteral> allowedGPUOps();
/// Ops of those dialects that it may not, or a beginning of names and '*'.
llvm::SmallVector<llvm::StringRef> refusedProgramOps();

/// A module with one function: what the lowering's pattern is when a schedule
/// is applied to it, for the host and for a GPU. Errors are diagnostics at the
/// lowering.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>>
createScheduledFunction(LoweringOp lowering,
                        llvm::StringRef symbol = "pattern");

} // namespace fastk

#endif // FASTK_CONVERSION_PROGRAMRULES_H
