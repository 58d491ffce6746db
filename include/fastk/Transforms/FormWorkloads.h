//===- FormWorkloads.h - Which ops are one workload -------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Formation knows nothing of banks: it asks a WinnerQuery. Its two steps are
// apart so that a search can come in between: what the search finds depends on
// the first step alone, and with it found, the same compile without a search
// gives the same module.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_TRANSFORMS_FORMWORKLOADS_H
#define FASTK_TRANSFORMS_FORMWORKLOADS_H

#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "fastk/Transforms/PassChoices.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include <memory>

namespace fastk {

/// Who knows which regions have a winner.
class WinnerQuery {
public:
  virtual ~WinnerQuery() = default;
  /// A region with more reductions (contractions, convolutions, sums) is too
  /// large for any winner that is known: it need not be built to be asked for.
  virtual uint64_t mostReductions() = 0;
  /// True when there is a usable winner for exactly this workload.
  virtual bool hasWinner(WorkloadOp workload) = 0;
  /// The workload is about to be erased: what is kept of it must go.
  virtual void forget(WorkloadOp workload) = 0;
  /// Whether a workload with several results is worth being split into regions
  /// of one, each of which reads its operands anew.
  virtual bool takesSingleResults() const { return false; }
  /// Whether no winner of the workload and a neighbour as one is to take its
  /// place.
  virtual bool staysAlone(WorkloadOp) { return true; }
  /// What remarks call a region that is taken.
  virtual llvm::StringRef nameOfRegions() const { return "region-of-winner"; }
};

/// Forms the workloads of every function as `fusion` says. With `winners`,
/// regions that are larger than `fusion` makes them are taken first where they
/// have a winner. `scans` is asked in its place for regions of one scan each,
/// which are part of no workload otherwise, but with fusion=whole.
mlir::LogicalResult formWorkloads(mlir::ModuleOp module, Fusion fusion,
                                  WinnerQuery *winners,
                                  WinnerQuery *scans = nullptr);

/// Splits workloads without a winner in which smaller regions have one: the
/// largest first, down to those of `smallest`. What is left of them is formed
/// anew as `fusion` says.
mlir::LogicalResult splitWorkloads(mlir::ModuleOp module, Fusion fusion,
                                   WinnerQuery &winners,
                                   Fusion smallest = Fusion::Op);

/// Points in the largest iteration space among the reductions of a workload of
/// static shape; 0 where there is none.
int64_t largestReduction(WorkloadOp workload);

/// The same two steps as passes. Who is asked outlives the pass.
std::unique_ptr<mlir::Pass>
createFormWorkloadsPass(Fusion fusion, WinnerQuery *winners,
                        WinnerQuery *scans = nullptr);
std::unique_ptr<mlir::Pass> createSplitWorkloadsPass(Fusion fusion,
                                                     WinnerQuery &winners);

} // namespace fastk

#endif // FASTK_TRANSFORMS_FORMWORKLOADS_H
