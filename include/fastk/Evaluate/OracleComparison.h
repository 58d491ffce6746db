//===- OracleComparison.h - Is a device's oracle the host's -----*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Oracle, default lowering and schedules of a device are lowered by the same
// passes, so what these get wrong they agree on. Before the first evaluation of
// a workload its oracle on the device is compared with the host's, and what
// agreed is kept beside other things that could be found out again.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_EVALUATE_ORACLECOMPARISON_H
#define FASTK_EVALUATE_ORACLECOMPARISON_H

#include "fastk/Evaluate/JobMaker.h"
#include "llvm/ADT/StringMap.h"

namespace fastk {

class OracleComparison {
public:
  /// Gives the verdict on a comparison, or nothing where it is pending.
  using Ask = llvm::function_ref<llvm::Expected<std::optional<worker::Verdict>>(
      worker::Job &job)>;

  struct Answer {
    /// Nothing may be decided on verdicts yet.
    bool isPending = false;
    /// Not empty: what it takes is still compiled, and nothing is asked yet.
    Compilations compiling;
    /// What every evaluation of the workload ends with: the oracles disagree.
    std::optional<worker::Verdict> verdict;
  };

  explicit OracleComparison(JobMaker &maker) : maker(maker) {}

  /// Nothing pending and no verdict: the evaluation may be made. An error means
  /// that nothing can be said (disk full, the waiting ended). Says in `context`
  /// why there is no comparison.
  llvm::Expected<Answer> check(LoweringOp workload, Ask ask,
                               const RequestContext &context);

private:
  llvm::Expected<Answer> compare(LoweringOp workload, Ask ask,
                                 const RequestContext &context);
  /// Leaves what shows the disagreement again, and says where.
  llvm::Expected<std::string> leaveReproducer(LoweringOp workload,
                                              const PreparedComparison &of,
                                              const worker::Verdict &verdict);

  JobMaker &maker;
  /// By key, of this process.
  llvm::StringMap<Answer> answers;
};

} // namespace fastk

#endif // FASTK_EVALUATE_ORACLECOMPARISON_H
