//===- WorkloadMatcher.h - Workloads beside their winners -------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Formation, search and application all ask for canonical forms and winners of
// the same workloads. This keeps both, so that each is made once a compile.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_TRANSFORMS_WORKLOADMATCHER_H
#define FASTK_TRANSFORMS_WORKLOADMATCHER_H

#include "fastk/Analysis/CanonicalForm.h"
#include "fastk/Bank/Bank.h"
#include "fastk/Transforms/FormWorkloads.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <memory>
#include <optional>

namespace fastk {

class WorkloadMatcher : public WinnerQuery {
public:
  /// `banks` outlives the matcher.
  WorkloadMatcher(const BankStack &banks, WinnerFilter filter)
      : banks(banks), filter(std::move(filter)) {}

  const BankStack &getBanks() const { return banks; }
  const WinnerFilter &getFilter() const { return filter; }
  /// The filter for one workload, whose form() was asked for: `loosest` is what
  /// it may have.
  WinnerFilter filterFor(llvm::StringRef key) const;

  /// The canonical form, kept until forget(). A workload that is erased or
  /// changed otherwise must be forgotten before. Fails, with a diagnostic, as
  /// computeCanonicalForm does.
  mlir::FailureOr<CanonicalForm *> form(WorkloadOp workload);

  /// What the banks have for a key, kept until searchedAgain().
  const BankLookup &lookup(llvm::StringRef key, mlir::MLIRContext *context);
  /// The banks may have a new winner for the key.
  void searchedAgain(llvm::StringRef key) {
    lookups.erase(key);
    largest.reset();
  }

  /// Runs `step`, which asks for winners of `module`'s workloads and changes
  /// it. Where remote banks have to be asked for some of them the step is run
  /// to learn of which, and all are fetched at once; where they are not what
  /// their index lets expect it is run once more, on the module as it was. What
  /// there is to say of these banks becomes warnings.
  mlir::LogicalResult
  withRemoteWinners(mlir::ModuleOp module,
                    llvm::function_ref<mlir::LogicalResult()> step);

  /// True when the banks have any winner for the target: without, no region is
  /// worth a question.
  bool anyWinners() { return largestPattern() != std::nullopt; }

  uint64_t mostReductions() override;
  bool hasWinner(WorkloadOp workload) override;
  // As of regions, the larger winner is taken.
  bool staysAlone(WorkloadOp) override { return false; }
  void forget(WorkloadOp workload) override { forms.erase(workload); }

private:
  /// What the banks say, read once.
  std::optional<unsigned> largestPattern();

  const BankStack &banks;
  WinnerFilter filter;
  llvm::DenseMap<mlir::Operation *, std::unique_ptr<CanonicalForm>> forms;
  llvm::StringMap<BankLookup> lookups;
  /// Keys of what WinnerFilter::convolutions is for.
  llvm::StringSet<> convolutions;
  std::optional<std::optional<unsigned>> largest;
};

/// What the options of a pass name: banks and what is accepted of them.
struct PassBanks {
  BankStack banks;
  WinnerFilter filter;
};

/// Opens the banks that a pass names, or says at `module` why it cannot.
mlir::FailureOr<PassBanks>
openPassBanks(mlir::ModuleOp module, llvm::ArrayRef<std::string> folders,
              llvm::StringRef target, Precision loosest,
              WinnersFrom winnersFrom, bool requireDeterministic);

} // namespace fastk

#endif // FASTK_TRANSFORMS_WORKLOADMATCHER_H
