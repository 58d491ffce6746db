//===- Job.h - What the worker is asked to evaluate -------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A job is everything one evaluation needs: the shapes and types of a workload,
// the shared objects that compute it, and the rules they are judged by. Its
// JSON form (format 1) is described in docs/formats/job.md.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_PROTOCOL_JOB_H
#define FASTK_PROTOCOL_JOB_H

#include "fastk/Protocol/ElementType.h"
#include "fastk/Protocol/LaunchPlan.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fastk::worker {

/// The only job format there is.
inline constexpr int64_t jobFormat = 1;
/// More than any machine holds in a tensor; keeps products far from overflow.
inline constexpr int64_t maxElements = int64_t(1) << 40;

/// evaluate: validate, then time briefly. validate: no timing. promote: more
/// trials, repeated runs, longer timing with an A/A control. compare: no
/// candidate, the device's oracle against the host's.
enum class Mode { Evaluate, Validate, Promote, Compare };

/// The kind of op decides which input distributions are drawn.
enum class Kind {
  Contraction,
  Convolution,
  Softmax,
  Norm,
  Attention,
  Reduction,
  Elementwise,
  Pooling,
  Other
};

/// Error classes, tightest first. None: not even the loosest holds.
enum class Precision { IEEE, TF32, Half, None };

/// What an operand means to the op; it decides the values that are legal.
enum class Role {
  Data,     ///< Any real number.
  Weight,   ///< As data, but never given infinities or extreme magnitudes.
  Scale,    ///< Multiplies a normalised value: around 1, both signs.
  Bias,     ///< As weight.
  Positive, ///< Variances, arguments of log: positive but in trials of their
            ///< own.
  Divisor,  ///< Any value but 0, both signs.
  Index,    ///< An integer in `range`, which is required.
  Mask      ///< Integer: 0 or 1. Float, added to logits: 0 or -inf, or a bias.
};

/// What a kernel owes where the exact result is NaN or infinite.
enum class NonFinite {
  Exact, ///< The same: nothing is summed, nothing is masked.
  Any,   ///< NaN or an infinity: in a sum of split products infinity minus
         ///< infinity is NaN.
  Free   ///< Anything: a term that a mask or a zero takes out may be skipped.
};

std::string_view toString(Mode mode);
std::string_view toString(NonFinite rule);
std::optional<NonFinite> parseNonFinite(std::string_view text);
std::string_view toString(Kind kind);
std::string_view toString(Precision precision);
std::string_view toString(Role role);
std::optional<Mode> parseMode(std::string_view text);
std::optional<Kind> parseKind(std::string_view text);
std::optional<Precision> parsePrecision(std::string_view text);
std::optional<Role> parseRole(std::string_view text);

/// One operand or result: contiguous, row-major, 64-byte aligned.
struct Tensor {
  ElementType type = ElementType::F32;
  /// Every extent is at least 1. Empty for a scalar.
  std::vector<int64_t> shape;
  /// Inputs only.
  Role role = Role::Data;
  /// Inputs only: values are kept within [first, second].
  std::optional<std::pair<double, double>> range;
  /// Integer inputs only: a value that the op compares them with, legal even
  /// outside of the range, such as the class that a loss ignores.
  std::optional<int64_t> special = std::nullopt;

  int64_t elements() const;
  int64_t bytes() const;
  /// Elements of the innermost dimension; 1 for a scalar.
  int64_t rowLength() const;
};

/// Where programs run.
enum class DeviceKind { Host, Cuda };

/// What the code of a program is: a shared object that exports `fastk_kernel`
/// for the host; PTX, a cubin or CUDA-C source for a GPU.
enum class Code { SharedObject, PTX, Cubin, CUDA };

struct Program {
  std::string path;
  /// Size of the scratch buffer passed as the last argument; on the host only.
  int64_t workspaceBytes = 0;
  Code code = Code::SharedObject;
  /// How device code is launched: there exactly where the code is for a GPU.
  /// Parsed, not verified (verifyLaunchPlan).
  std::optional<LaunchPlan> plan = std::nullopt;
};

struct ValidateOptions {
  /// Fresh seeds of N(0,1), on top of one trial per other distribution.
  int64_t trials = 3;
  /// Check that zeros, copies, means... are rejected on these inputs, and that
  /// the oracle reacts to every operand.
  bool competitors = true;
  /// In mode evaluate: as many trials as mode validate has, whatever the size.
  bool full = false;
  /// Refuse a candidate that does not give the same bits every time.
  bool requireDeterministic = false;
};

enum class Cache { Cold, Warm };
std::string_view toString(Cache cache);
std::optional<Cache> parseCache(std::string_view text);
/// Operands and results of so many bytes together are flushed whatever the
/// host's caches; beyond that, and four times its last-level cache, they evict
/// themselves.
inline constexpr int64_t alwaysFlushedBytes = int64_t(256) << 20;

struct TimeOptions {
  /// OpenMP threads of every program; 0: all processors of the worker.
  int64_t threads = 0;
  int64_t minSamples = 7;
  /// For the whole timing phase, all programs together.
  double maxSeconds = 2.0;
  /// Dropped early when slower than this times the incumbent (the baseline
  /// where there is none). 0 never drops.
  double screenRatio = 1.3;
  /// Cold: operands are flushed from the caches before every sample.
  Cache cache = Cache::Cold;
};

/// compute-sanitizer, on one call of the candidate in mode promote on a GPU.
struct SanitizerOptions {
  enum class When {
    Installed, ///< Where it is; the verdict says so where it is not.
    Required,  ///< Where a tool does not come to its end the status is error.
    Never
  } when = When::Installed;
  /// For each of its tools.
  double seconds = 60;
};

/// Delays at places of the candidate's code, in mode promote on a GPU: the same
/// operands again and again, on many schedules (docs/cuda.md).
struct DelayOptions {
  SanitizerOptions::When when = SanitizerOptions::When::Installed;
  /// For all schedules together.
  double seconds = 5;
  /// As many, where the seconds suffice; 50 of them in any case, and four times
  /// as many where racecheck doubts a program that it cannot follow.
  int64_t schedules = 400;
  /// Whether code with a fence that is certainly missing is refused.
  bool rules = true;
};

/// Hardware counters of one call of the candidate, by Nsight Compute, in mode
/// evaluate on a GPU: where it is right and faster than the baseline and the
/// incumbent. For whoever improves it; no verdict rests on them.
struct ProfileOptions {
  enum class When {
    Never,
    Installed ///< Where ncu is; the verdict says so where it is not.
  } when = When::Never;
  /// For the whole run of the tool.
  double seconds = 30;
};

struct Limits {
  /// Longest a single call may take. 0: the larger of 10 s and 20 times the
  /// baseline's call.
  double wallSeconds = 0;
  /// Address space a program may take on top of its buffers and libraries.
  int64_t memoryBytes = int64_t(4) << 30;
  /// Threads alive at once in one program; 0: four per timing thread plus 8.
  int64_t threads = 0;
  /// Largest file a program may write. Writing is denied anyway.
  int64_t fileBytes = 0;
};

struct Job {
  std::string id;
  DeviceKind device = DeviceKind::Host;
  /// Whose times are asked for: the CPU model as the system names it, the GPU
  /// as its driver does ("NVIDIA H200"). Another machine is not to answer when
  /// the job comes by a spool. Empty: any.
  std::string machine;
  Mode mode = Mode::Evaluate;
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  /// Takes the same inputs; every float output is double.
  Program oracle;
  /// As the oracle, but of each float output its condition: 8 u times it bounds
  /// the error of a right kernel (docs/validation.md). Without it errors are
  /// judged by rows, with one bound for all of a trial.
  std::optional<Program> condition;
  /// It is for class tf32: (8 u + 2^-11) times it is the bound, and of `ieee`
  /// it says nothing.
  bool conditionOfTF32 = false;
  /// Of mode compare alone: the oracle and the program of conditions as shared
  /// objects, which this machine runs whatever the device is.
  std::optional<Program> hostOracle, hostCondition;
  /// Of mode compare: what the operands are drawn with, to see the same again.
  /// Nothing: anew each time.
  std::optional<int64_t> seed;
  /// What NaN and infinities in operands lead to.
  NonFinite nonFinite = NonFinite::Exact;
  /// The default lowering, IEEE class: the trusted kernel errors compare with.
  /// Mode compare has neither this nor a candidate.
  Program baseline;
  std::optional<Program> incumbent;
  Program candidate;
  Kind kind = Kind::Other;
  /// Longest chain of additions into one output element; 1 for elementwise.
  int64_t reductionLength = 1;
  /// The loosest class accepted.
  Precision acceptedPrecision = Precision::IEEE;
  ValidateOptions validate;
  TimeOptions time;
  /// The time no kernel can beat, in nanoseconds. 0: unknown, not checked.
  double floorNs = 0;
  SanitizerOptions sanitizer;
  DelayOptions delays;
  ProfileOptions profile;
  Limits limits;
};

/// Reads a job. On failure returns nothing and sets \p error to one sentence
/// that names the place in the JSON (as `$.inputs[0].type`) and the remedy.
/// Fields absent from the text take the defaults above; for promote the
/// defaults are 10 trials and 5 s.
std::optional<Job> parseJob(std::string_view text, std::string &error);

/// The job as JSON, every field written out.
std::string toJSON(const Job &job);

} // namespace fastk::worker

#endif // FASTK_PROTOCOL_JOB_H
