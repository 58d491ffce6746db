//===- Device.h - What the protocol asks of a device ------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Validation and timing are written once, against this interface; a device
// brings memory, a way to run programs and its clocks. What is judged are bytes
// fetched from the device: a device may override compare(), fits() and the
// drawing of operands to do the work where the bytes are, with the same result.
// docs/validation.md says what a device has to guarantee.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_DEVICE_H
#define FASTK_LIB_WORKER_DEVICE_H

#include "Judge/Judge.h"
#include "Values/Trials.h"
#include "fastk/Protocol/Verdict.h"
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace fastk::worker {

/// What ended an evaluation early.
struct Failure {
  Status status = Status::Error;
  std::string reason;
};

/// Where tensors lie in what is allocated for them; it alternates, so that
/// accesses on both sides of a tensor are found.
enum class Placement {
  Start, ///< The tensor begins with an allocation: reads before it fault.
  End    ///< It ends with one, to 64 bytes: reads past it fault.
};

/// A program of a job by its part in it. Control is the baseline once more;
/// Empty is a program that does nothing and takes no buffers.
enum class ProgramRole {
  Oracle,
  Condition,
  Baseline,
  Incumbent,
  Candidate,
  Control,
  Empty
};

/// Whether the float results of the program that takes the part are double.
inline bool storesDoubles(ProgramRole part) {
  return part == ProgramRole::Oracle || part == ProgramRole::Condition;
}

/// As it is called in messages.
const char *nameOf(ProgramRole part);
/// The program that takes the part; null for Empty and for what the job is
/// without.
const Program *programOf(const Job &job, ProgramRole part);
/// All workspaces of the program that takes the part, in bytes.
int64_t workspaceBytesOf(const Job &job, ProgramRole part);

/// The operands of one call, in memory of a device.
class Operands {
public:
  virtual ~Operands() = default;
};

/// Results and workspace of one call of one program.
class Results {
public:
  explicit Results(bool ofOracle) : ofOracle(ofOracle) {}
  virtual ~Results() = default;
  /// Floats are stored as double.
  const bool ofOracle;
};

/// How one call went. Means nothing when it failed.
struct CallTime {
  /// The clock of record.
  double ns = 0;
  /// Another clock, which the device compares with it.
  double otherNs = 0;
  /// On a host: the longest that any one thread of the program, or the
  /// worker's, was ready to run and waited for a processor meanwhile.
  double waitedNs = 0;

  /// What the call itself took.
  double ownNs() const { return std::max(ns - waitedNs, 1.0); }
  /// The least that the call may have taken: waking up a program on another
  /// processor, which a load makes slow, is no wait, and only the program's own
  /// clock leaves it out. That may lie: good enough to go on with a candidate,
  /// never to prefer it.
  double leastNs() const { return std::max(std::min(ownNs(), otherNs), 1.0); }
};

/// A program ready to be called. It runs during call() only.
class ProgramInstance {
public:
  virtual ~ProgramInstance() = default;
  /// Binds buffers to a slot, at addresses not used before; null for Empty.
  virtual bool map(uint32_t slot, const Operands *operands,
                   const Results *results, Failure &failure) = 0;
  virtual bool unmap(uint32_t slot, Failure &failure) = 0;
  /// One call on a slot. On return the program does nothing any more, and what
  /// it has not written is missing. \p timed: spend a processor on precision.
  virtual bool call(uint32_t slot, double timeoutSeconds, CallTime &time,
                    Failure &failure, bool timed = false) = 0;
  /// How it is called from now on, by the number of a trial: what is right must
  /// be right however it is run. On the host, with 1, T and 2T + 1 threads of
  /// OpenMP. Turn 0 is how it is timed. Returns what is special, for people:
  /// ", with 5 threads".
  virtual std::string setTurn(uint32_t /*turn*/) { return {}; }
  /// Ends the program and tells what it used.
  virtual Resources finish() = 0;
};

class Device {
public:
  explicit Device(const Job &job) : job(job) {}
  virtual ~Device() = default;

  /// Reads the programs. Fills what is known of them in \p verdict.
  virtual bool open(Verdict &verdict, Failure &failure) = 0;
  /// \p sets: buffer sets mapped at once.
  virtual std::unique_ptr<ProgramInstance>
  start(ProgramRole part, int64_t sets, Verdict &verdict, Failure &failure) = 0;

  virtual std::unique_ptr<Operands> createOperands(Failure &failure) = 0;
  virtual std::unique_ptr<Results> createResults(ProgramRole part,
                                                 Failure &failure) = 0;
  /// Sets of operands to rotate in timing, at most \p wanted, each with results
  /// and workspaces of all \p parts; fewer where memory is short.
  virtual size_t rotatingSets(size_t wanted,
                              const std::vector<ProgramRole> &parts) = 0;

  /// Draws all operands of a trial.
  virtual void fill(Operands &operands, const Trial &trial,
                    Placement placement) = 0;
  /// Draws operand \p index alone, where it lies.
  virtual void redraw(Operands &operands, size_t index, const Trial &trial) = 0;
  /// Draws mutationsOf() elements of each operand anew (Inputs.h).
  virtual void mutate(Operands &operands, const Trial &trial,
                      uint64_t seed) = 0;
  /// \p to becomes \p from with every element moved by \p delta (see Inputs.h).
  virtual void perturb(const Operands &from, Operands &to, const Trial &trial,
                       uint64_t draw, double delta, Placement placement) = 0;
  /// Rounds floats wider than FP16 to FP16. Returns whether there are any.
  virtual bool roundToHalf(Operands &operands) = 0;

  virtual void place(Results &results, Placement placement) = 0;
  /// NaN in results and workspace, canaries around them.
  virtual void poison(Results &results) = 0;
  /// What a program has changed beside its results and workspace, as the rest
  /// of a sentence; empty when nothing.
  virtual std::string damage(const Operands &operands,
                             const Results &results) = 0;

  /// The bytes of an operand or a result, fetched from where they are; valid
  /// until they change.
  virtual const void *bytesOf(const Operands &operands, size_t index) = 0;
  virtual const void *bytesOf(const Results &results, size_t index) = 0;
  /// The same where only elements [begin, end) are looked at: the others may
  /// not be fetched. The address is that of element 0.
  virtual const void *partOf(const Operands &operands, size_t index,
                             int64_t /*begin*/, int64_t /*end*/) {
    return bytesOf(operands, index);
  }
  virtual const void *partOf(const Results &results, size_t index,
                             int64_t /*begin*/, int64_t /*end*/) {
    return bytesOf(results, index);
  }
  /// A hash of the bytes of all results.
  virtual uint64_t hashOf(const Results &results) = 0;

  /// Errors of result \p output of one call against another's.
  virtual Measure compare(size_t output, const Results &results,
                          const Results &reference);
  /// The same, element by element; \p condition may be null where \p rule is
  /// relative.
  virtual Shares judge(size_t output, const Results &results,
                       const Results &reference, const Results *condition,
                       const ErrorRule &rule);
  /// Whether every finite oracle value fits the type of the result.
  virtual bool fits(size_t output, const Results &oracle);

  /// The programs that are started from now on are timed.
  virtual void beginTiming() {}
  /// Waits, before the first timed call, until nothing of what was started or
  /// ended earlier disturbs it.
  virtual void settle() {}
  /// Whether samples of one program, \p spentNs together, have taken longer
  /// than one disturbance of the machine does.
  virtual bool outlastsDisturbance(double spentNs, size_t samples) const;
  /// Whether something other than the program held up the call that has just
  /// been made: another program on its processors or on its GPU.
  virtual bool isDisturbed(const CallTime & /*time*/) { return false; }
  /// What did, since settle(), as a list of things that are: "load average
  /// 4.1". \p times are all timed calls, of all programs.
  virtual std::string
  describeDisturbance(const std::vector<CallTime> & /*times*/) {
    return {};
  }
  /// Before a timed call, where the job wants it cold.
  virtual void flush(const Operands &operands, const Results &results) = 0;
  /// Empty unless the clocks of a call contradict each other; else the rest of
  /// a sentence that begins with the program's name.
  virtual std::string distrust(const CallTime &time) = 0;
  /// The same for all samples of the candidate. \p trusted are the baseline's,
  /// \p handshakeP90 the slow tenth of calls of an empty kernel.
  virtual std::string distrust(const std::vector<CallTime> &times,
                               const std::vector<CallTime> &trusted,
                               double handshakeP90) = 0;

  /// The last look at a candidate that is right and timed: what this kind of
  /// device alone can find. No program runs meanwhile but those it starts.
  virtual bool inspect(Verdict & /*verdict*/, Failure & /*failure*/) {
    return true;
  }

  const Job &job;
};

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_DEVICE_H
