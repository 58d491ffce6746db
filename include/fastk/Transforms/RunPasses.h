//===- RunPasses.h - Passes inside of fastk's own steps ---------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A compile is many small pass managers, wherever a step needs some passes. To
// the user they are one: --mlir-print-ir-after-all and its like see all of
// them, and --mlir-timing adds them up in one report.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_TRANSFORMS_RUNPASSES_H
#define FASTK_TRANSFORMS_RUNPASSES_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"

namespace fastk {

/// While it lives, what this thread runs by runPasses obeys MLIR's options of
/// pass managers (mlir::registerPassManagerCLOptions) and is timed as a part of
/// `timing`. The innermost one counts; that without a timing switches both off.
class ObservedPasses {
public:
  explicit ObservedPasses(mlir::TimingScope *timing);
  ~ObservedPasses();
  ObservedPasses(const ObservedPasses &) = delete;
  ObservedPasses &operator=(const ObservedPasses &) = delete;

private:
  mlir::TimingScope *before;
};

/// Runs `passes` on `op`, observed where this thread is. Fails when a pass
/// does, and when the options contradict each other, which is reported.
mlir::LogicalResult runPasses(mlir::PassManager &passes, mlir::Operation *op);

/// Times what is no pass, until the scope ends; nothing where nothing is timed.
mlir::TimingScope timeStep(llvm::StringRef name);

} // namespace fastk

#endif // FASTK_TRANSFORMS_RUNPASSES_H
