//===- Compile.h - A model's way through the compiler -----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The steps of a compile, in the order of docs/architecture.md: prepare, form
// workloads, apply winners, lower the rest. Session.h has what they rest on.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_DRIVER_COMPILE_H
#define FASTK_DRIVER_COMPILE_H

#include "fastk/Transforms/ApplyWinners.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace fastk {

/// Makes functions that others call part of them, so that workloads are formed
/// across calls; private ones are gone then. Refuses recursion. A call of a
/// function without a body stays.
mlir::LogicalResult inlineCalls(mlir::ModuleOp module);

/// fastk-unroll-loops, for a GPU: its plan is a list.
mlir::LogicalResult unrollLoops(mlir::ModuleOp module);

/// What comes before workloads are formed: inlineCalls, and for a GPU
/// unrollLoops.
mlir::LogicalResult prepareModel(mlir::ModuleOp module, llvm::StringRef target);

/// fastk-channels-last, on every function; `float32`: of convolutions of f32,
/// too.
mlir::LogicalResult layChannelsLast(mlir::ModuleOp module, bool float32);

/// fastk-form-workloads. With `winners`, regions larger than `fusion` forms are
/// taken first where they have a winner; `scans` is asked in its place for
/// those of one scan.
mlir::LogicalResult runFormWorkloads(mlir::ModuleOp module, Fusion fusion,
                                     WinnerQuery *winners = nullptr,
                                     WinnerQuery *scans = nullptr);

/// Splits the workloads without a winner in which smaller regions have one.
mlir::LogicalResult runSplitWorkloads(mlir::ModuleOp module, Fusion fusion,
                                      WinnerQuery &winners);

/// The first half of a compile: forms workloads, first those that the banks
/// have winners for. Where the banks have nothing for the target, no region is
/// looked up but those of `fusion`. A search comes after it: it sees the
/// workloads before any is split. `scans` may know more than the banks of
/// regions of one scan (familyQuery()).
mlir::LogicalResult formWithWinners(mlir::ModuleOp module, Fusion fusion,
                                    WorkloadMatcher &matcher,
                                    WinnerQuery *scans = nullptr);

/// The second half: splits workloads without a winner where parts of them have
/// one, and applies all winners.
mlir::FailureOr<ApplySummary> applyBestWinners(mlir::ModuleOp module,
                                               Fusion fusion,
                                               WorkloadMatcher &matcher);

/// fastk-inline-lowerings: a model that came with winners, without them.
mlir::LogicalResult inlineLowerings(mlir::ModuleOp module);

/// fastk-inline-workloads: what has no winner leaves as it came.
mlir::LogicalResult inlineWorkloads(mlir::ModuleOp module);

/// fastk-lower-workloads: what has no winner becomes a call of its default
/// lowering.
mlir::LogicalResult lowerWorkloads(mlir::ModuleOp module,
                                   llvm::StringRef target);

/// fastk-promote-to-f64 on every function: the model as an oracle of itself.
mlir::LogicalResult promoteToF64(mlir::ModuleOp module);

/// Warns, at each of them, of functions that a device with so much memory has
/// no room for, by their shapes. `where` names the device.
void warnOfShortage(mlir::ModuleOp formed, int64_t bytes,
                    llvm::StringRef where);

/// What to say of the banks that were named and are not there: the path is
/// probably mistyped. `remedy` is what makes winners.
std::vector<std::string>
explainMissingBanks(llvm::ArrayRef<std::string> folders,
                    llvm::StringRef remedy);

} // namespace fastk

#endif // FASTK_DRIVER_COMPILE_H
