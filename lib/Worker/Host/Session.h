//===- Session.h - What the phases of an evaluation share -------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_HOST_SESSION_H
#define FASTK_LIB_WORKER_HOST_SESSION_H

#include "../Distribution.h"
#include "../Judge.h"
#include "Child.h"
#include "fastk/Worker/Verdict.h"
#include <memory>
#include <vector>

namespace fastk::worker {

/// The inputs of one call, with a hash per operand of what the worker wrote.
struct InputSet {
  std::vector<SharedBuffer> buffers;
  std::vector<uint64_t> hashes;
};

/// Results and workspace of one program.
struct OutputSet {
  std::vector<SharedBuffer> buffers;
  SharedBuffer workspace;
};

/// True when samples of one program have taken longer than one disturbance of
/// the machine does: a scheduler's tick (4 ms) hits all samples of a short
/// kernel, and must not have it dropped as slow.
inline bool outlastsDisturbance(double spentNs, size_t samples) {
  return spentNs >= 20e6 || samples >= 64;
}

class Session {
public:
  Session(const Job &job, Verdict &verdict);

  /// Reads the programs and settles the limits.
  bool open(Failure &failure);

  bool createInputs(InputSet &set, Failure &failure) const;
  /// Outputs of a program; with \p oracle, of oracle type.
  bool createOutputs(OutputSet &set, const Program &program, bool oracle,
                     Failure &failure) const;

  /// Draws the inputs of a trial, at alternating ends of their pages.
  void fill(InputSet &set, const Case &trial, Placement placement) const;
  /// Brings hashes up to date after the worker changed the inputs.
  void rehash(InputSet &set) const;
  bool unchanged(const InputSet &set) const;

  static void place(OutputSet &set, Placement placement);
  static void poison(OutputSet &set);
  /// Empty when nothing was written outside the outputs and the workspace.
  std::string damage(const InputSet &inputs, const OutputSet &outputs) const;

  std::unique_ptr<Child> start(const std::string &name,
                               const ProgramImage *image,
                               const Program *program, int64_t sets,
                               Failure &failure);
  /// Adds what a child used to the verdict.
  void account(Child &child);

  static std::vector<const SharedBuffer *> buffersOf(const InputSet &inputs,
                                                     const OutputSet &outputs);
  std::vector<const void *> dataOf(const InputSet &inputs) const;
  std::vector<const void *> dataOf(const OutputSet &outputs) const;

  /// Errors of a program's output against oracle results.
  Measure measureOutput(size_t output, const OutputSet &outputs,
                        const OutputSet &oracle) const;

  /// Whether operands and results must be flushed from the caches before a
  /// timed call.
  bool mustFlush() const;

  const Job &job;
  Verdict &verdict;
  ProgramImage oracle, baseline, incumbent, candidate;
  int64_t threads = 1;
  /// Memory for inputs that validation has done with; timing draws its own
  /// values into it, so only the pages are used again.
  std::vector<InputSet> spare;
  /// Of one call of the candidate; grows with the baseline's time.
  double wallSeconds = 10;
};

/// Checks the candidate on every trial. Fills errors, precision, competitors
/// and audit of the verdict; on failure the verdict's status is in \p failure.
/// \p difficulty receives what N(0,1) was like, for the timed calls.
bool validateCandidate(Session &session, std::vector<Difficulty> &difficulty,
                       Failure &failure);

/// Times the programs. Fills timing and audit.
bool timeCandidate(Session &session, const std::vector<Difficulty> &difficulty,
                   Failure &failure);

/// Judges one output set against the oracle; the looser class over outputs.
/// \p worst receives the errors of the worst output.
Precision judgeOutputs(const Session &session, const OutputSet &outputs,
                       const OutputSet &oracle,
                       const std::vector<Difficulty> &difficulties,
                       TrialError &worst);

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_HOST_SESSION_H
