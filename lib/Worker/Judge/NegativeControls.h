//===- NegativeControls.h - Worthless outputs to be rejected ----*- C++ -*-===//
//-*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A job whose inputs let zeros or a copy of the input pass cannot tell a good
// kernel from a worthless one. The judge is tried on such outputs, made up
// here, on the very trials the candidate is judged on.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_JUDGE_NEGATIVECONTROLS_H
#define FASTK_LIB_WORKER_JUDGE_NEGATIVECONTROLS_H

#include "Judge.h"
#include "fastk/Protocol/Verdict.h"
#include <functional>
#include <string>
#include <vector>

namespace fastk::worker {

class NegativeControls {
public:
  explicit NegativeControls(const Job &job);

  /// The data of a tensor by its index, of which elements [begin, end) will be
  /// read: where they are far away, only they are fetched. Always the same
  /// address of a tensor, that of its element 0.
  using Fetch =
      std::function<const void *(size_t index, int64_t begin, int64_t end)>;

  /// Tries all that have not been rejected yet on one trial. \p inputs and
  /// \p references are the tensors' data, references as the oracle gave them.
  /// \p conditions: those of references' elements; empty where there are none.
  void judge(const Fetch &inputs, const Fetch &references,
             const std::vector<ErrorContext> &difficulties,
             const std::string &trialName, const Fetch &conditions = {});

  /// Records a competitor judged elsewhere.
  void record(Competitor competitor);

  const std::vector<Competitor> &results() const { return entries; }
  /// The first that no trial rejected; empty when all are.
  std::string unrejected() const;

private:
  const Job &job;
  std::vector<Competitor> entries;
  size_t synthetic = 0;
  /// The previous trial's oracle results, kept while somebody needs them.
  std::vector<std::vector<double>> previous;
};

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_JUDGE_NEGATIVECONTROLS_H
