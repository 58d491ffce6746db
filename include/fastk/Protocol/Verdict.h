//===- Verdict.h - What the worker found ------------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The verdict on one job. Its JSON form (format 1) is described in
// docs/formats/verdict.md. Numbers that are not finite are written as null and
// read back as infinity.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_PROTOCOL_VERDICT_H
#define FASTK_PROTOCOL_VERDICT_H

#include "fastk/Protocol/Job.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fastk::worker {

inline constexpr int64_t verdictFormat = 1;

enum class Status {
  OK,         ///< Right within the accepted class; timed unless mode=validate.
  Wrong,      ///< Judged wrong, or wrote where it must not.
  Crash,      ///< The process died or left during a call.
  Timeout,    ///< A call took longer than limits.wall_seconds.
  Memory,     ///< Asked for more than limits.memory_bytes.
  Refused,    ///< Did what the sandbox forbids, or tampered with the clock.
  Impossible, ///< Faster than 0.97 of the floor.
  Slow,       ///< Dropped early: slower than screen_ratio times the incumbent.
  Unfit,      ///< The workload cannot be judged here, whatever the run.
  Error,      ///< The worker, the oracle, the baseline or the incumbent failed.
  /// Compiling the candidate took longer than the evaluator allows. Said by
  /// evaluators only: a worker is given compiled programs.
  CompileTimeout,
  /// The oracle on the device and the oracle on the host do not give the same
  /// results: one of them was compiled wrongly. Of mode compare, and of an
  /// evaluation that is not made for this reason.
  Disagreement
};

std::string_view toString(Status status);
std::optional<Status> parseStatus(std::string_view text);

/// Errors of the candidate on one distribution and trial, worst output. All are
/// relative: see docs/validation.md for the normalisation.
struct TrialError {
  std::string distribution;
  int64_t trial = 0;
  int64_t output = 0;
  double maxNormalized = 0;
  double relativeFrobenius = 0;
  /// The same errors of the baseline, the trusted kernel.
  double referenceMax = 0;
  double referenceFrobenius = 0;
  /// Elements whose NaN or infinity differs from the oracle's.
  int64_t nanMismatch = 0;
  /// The bounds of the accepted class on this trial.
  double bound = 0;
  double boundFrobenius = 0;
  /// Where elements have bounds of their own: the largest error as a share of
  /// its element's bound in the accepted class, and the elements of which
  /// nothing can be asked, since rounding may overflow on the way to them.
  std::optional<double> share;
  int64_t masked = 0;
  /// The tightest class that holds on this trial.
  Precision precision = Precision::None;
};

struct Timing {
  double medianNs = 0;
  double p10Ns = 0;
  double p90Ns = 0;
  int64_t samples = 0;
};

/// A ratio with its bootstrap 95 % confidence interval. Above 1: faster.
struct Ratio {
  double median = 0;
  double low = 0;
  double high = 0;
};

struct TimingReport {
  std::optional<Timing> candidate;
  std::optional<Timing> baseline;
  std::optional<Timing> incumbent;
  std::optional<Ratio> speedupOverBaseline;
  std::optional<Ratio> speedupOverIncumbent;
  /// Baseline over baseline, in two processes; far from 1: do not trust the
  /// run.
  std::optional<Ratio> aaRatio;
  /// Cost of calling an empty kernel, measured the same way. Contained in every
  /// time above, never subtracted.
  double handshakeNs = 0;
  /// The baseline takes less than five handshakes: ratios are biased towards 1.
  bool belowResolution = false;
  int64_t threads = 0;
  Cache cache = Cache::Cold;
  /// Blocks of calls, one of each program, that are in no number above: some
  /// call of theirs was disturbed. Nothing in verdicts of earlier workers.
  std::optional<int64_t> droppedBlocks;
  /// What disturbed the calls, for a person; empty when nothing noticeable did.
  std::string disturbedBy;
  /// Too few blocks were undisturbed, within the longest time that sampling may
  /// take. In mode promote there is no speedup then; in mode evaluate it is of
  /// all blocks, good enough to choose what to try next.
  bool tooBusy = false;
};

struct Competitor {
  std::string name;
  bool rejected = false;
  std::string reason;
};

struct Resources {
  int64_t peakMemoryBytes = 0;
  double cpuSeconds = 0;
  double wallSeconds = 0;
};

/// How long the worker was at one thing, inner phases taken out; see
/// docs/formats/verdict.md.
struct PhaseTime {
  std::string name;
  double seconds = 0;
  int64_t count = 0;
  /// By another process at the same time: in no sum.
  bool isBeside = false;
};

/// What is needed to repeat the evaluation, and what it covered.
struct Audit {
  /// Secret while the job ran.
  uint64_t seed = 0;
  /// FNV-1a of the candidate's bytes as they were loaded.
  uint64_t candidateHash = 0;
  int64_t trials = 0;
  std::vector<std::string> distributions;
  /// "name: why", distributions that are not legal for this op.
  std::vector<std::string> leftOut;
  /// Timed calls whose whole output was compared, and of these the ones on
  /// never-seen inputs against the oracle.
  int64_t timedOutputsChecked = 0;
  int64_t auditedCalls = 0;
  /// All calls after the trials whose whole output was compared with the
  /// baseline's, those that are no samples included.
  int64_t judgedCalls = 0;
  /// Runs on one and the same input (promote, or where the job requires
  /// determinism), and whether they were equal to the bit.
  int64_t repeatedCalls = 0;
  std::optional<bool> bitwiseDeterministic;
};

/// What the compiler says of a kernel of the candidate.
struct KernelReport {
  std::string name;
  int64_t registers = 0;
  /// Bytes a thread.
  int64_t spillStoreBytes = 0, spillLoadBytes = 0, stackBytes = 0;
  /// Static, bytes a block.
  int64_t sharedBytes = 0;
};

/// Hardware counters of one launch of the candidate, by Nsight Compute.
struct LaunchCounters {
  std::string kernel;
  /// Names as docs/formats/verdict.md lists them; those the device has.
  std::vector<std::pair<std::string, double>> values;

  /// The value of a counter, nothing where it was not read.
  std::optional<double> get(std::string_view name) const {
    for (const auto &[each, value] : values)
      if (each == name)
        return value;
    return std::nullopt;
  }
};

/// The readings of one gauge while programs were timed.
struct Gauge {
  double low = 0;
  double high = 0;
};

/// Of jobs for a GPU.
struct GpuReport {
  std::string name;
  /// "sm_90a".
  std::string arch;
  /// The CUDA version the driver supports, and NVRTC's: "13.0".
  std::string driver, compiler;
  /// SHA-256 of the prelude that a candidate in CUDA C++ was compiled with;
  /// empty for others, and in verdicts of earlier workers.
  std::string prelude;
  /// Of candidates in CUDA C++, and in PTX where ptxas assembled them.
  std::vector<KernelReport> kernels;
  std::vector<std::string> warnings;
  double compileMs = 0;
  /// The clocks that were compared, and those that were not, with the reason.
  std::vector<std::string> clocks, missingClocks;
  /// Of the candidate, by the host's clock.
  std::optional<Timing> host;
  /// Of the candidate in a few calls of their own, by CUPTI: how long its
  /// kernels and memsets were at work (promote).
  std::optional<Timing> cupti;
  /// What each tool of compute-sanitizer says (promote): "ok", "found: ...",
  /// "not run: ...", "not run to its end: stopped after 60 s". What is not "ok"
  /// is in Verdict::missingProtections, too, as `compute-sanitizer-TOOL`.
  std::vector<std::pair<std::string, std::string>> sanitizer;
  /// Of the runs under delays (promote): "ok", "found: ...", "not run: ...";
  /// the schedules that were run, the places where the program was held back,
  /// in so many builds of it, of all that it has, and the longest call as a
  /// multiple of one without delays.
  std::string delays;
  int64_t schedules = 0, delayPlaces = 0, possibleDelayPlaces = 0;
  int64_t delayBuilds = 0;
  double delaySlowdown = 0;
  /// In the order of the plan, where they were asked for and read; else why
  /// they were not.
  std::vector<LaunchCounters> counters;
  std::string missingCounters;
  /// MHz, W, degrees Celsius. Without NVML there are none.
  std::optional<Gauge> smClock, memoryClock, power, temperature;
  int64_t readings = 0;
  /// Readings at which the GPU held itself back, and why.
  int64_t throttled = 0;
  std::vector<std::string> throttleReasons;
};

struct Verdict {
  std::string id;
  Status status = Status::Error;
  std::string reason;
  Precision precision = Precision::None;
  std::vector<TrialError> errors;
  TimingReport timing;
  std::vector<Competitor> competitors;
  std::vector<std::string> protections;
  std::vector<std::string> missingProtections;
  Resources resources;
  /// Together, without those beside, they are resources.wallSeconds.
  std::vector<PhaseTime> phases;
  Audit audit;
  std::optional<GpuReport> gpu = std::nullopt;
};

/// One line of JSON without a newline at its end.
std::string toJSON(const Verdict &verdict);

/// Reads a verdict. Fields that it does not know are ignored: a later worker of
/// the same format may say more. A later format is an error that says so.
std::optional<Verdict> parseVerdict(std::string_view text, std::string &error);

} // namespace fastk::worker

#endif // FASTK_PROTOCOL_VERDICT_H
