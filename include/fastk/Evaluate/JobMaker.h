//===- JobMaker.h - From a request to what a worker can run -----*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What all evaluators share: the baseline, the oracle and the candidate are
// compiled by child processes, plans are checked, and the job is filled in.
// Where it is answered is the evaluator's business.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_EVALUATE_JOBMAKER_H
#define FASTK_EVALUATE_JOBMAKER_H

#include "fastk/Evaluate/Evaluator.h"
#include "fastk/Protocol/Job.h"
#include "fastk/System/ProcessFolder.h"
#include "fastk/Target/TargetDescription.h"
#include "llvm/ADT/StringMap.h"
#include <functional>
#include <optional>
#include <string>

namespace fastk {

/// The exit code of the compiler where a tool that it needs is missing on this
/// machine. That says nothing of the program: it is an error, and no verdict.
inline constexpr int kCompilerToolMissing = 69;

struct JobMakerOptions {
  /// `fastk-opt`, which compiles each kernel in a child process.
  std::string compiler;
  /// What is evaluated on, for the floor. Nothing: this machine.
  std::optional<TargetDescription> target;
  /// OpenMP threads of every program; 0: all processors.
  unsigned threads = 0;
  /// Longest that compiling a variant may take. Below the C compiler's own
  /// limit of 60 s (lib/Conversion/CProgram.cpp), so that every time-out is
  /// seen here and told as one.
  unsigned compileSeconds = 55;
  /// The same for the baseline and the oracle, which are fastk's own.
  unsigned trustedCompileSeconds = 300;
  /// The worker may look at the caches as they are (Warm) or flush them first.
  worker::Cache cache = worker::Cache::Cold;
  /// Candidates that give other bits for the same operands are refused.
  bool requireDeterministic = false;
  /// Where a disagreement of oracles leaves what shows it again. Empty: in the
  /// user's cache folder.
  std::string reproducers;
  /// Seconds of timing for each evaluation; the worker's default when 0.
  double timeSeconds = 0;
  /// Whether candidates in CUDA-C are compiled before they become jobs, where a
  /// compiler is here: errors cost no device then, and equal code is one job.
  bool compilesCudaHere = true;
};

/// A job, or the verdict where no worker is needed for it.
struct PreparedJob {
  /// Its programs lie in the scratch folder.
  worker::Job job;
  std::optional<worker::Verdict> verdict;
  /// SHA-256 of the candidate's plan and compiled code; of its source where no
  /// compiler is here. Candidates of one digest have one verdict.
  std::string candidateDigest;
};

/// A comparison of a workload's oracles, or why there is none.
struct PreparedComparison {
  /// Of the workload itself or, where it is large, of the same with smaller
  /// sizes. Its programs lie in the scratch folder.
  worker::Job job;
  /// What is compared, as text.
  std::string source;
  /// Empty where there is a job.
  std::string whyNot;
};

/// Reads the programs of a job, and gives them names beside each other instead
/// of paths: "oracle.so", "candidate.cu".
llvm::Error takeFiles(worker::Job &job,
                      std::vector<std::pair<std::string, std::string>> &files);

class JobMaker {
public:
  static llvm::Expected<std::unique_ptr<JobMaker>>
  create(JobMakerOptions options);

  /// Variants may be in these languages. Where C is among them, provenance()
  /// is an error without its compiler; else that is no used part.
  void expect(Languages languages) { expected = std::move(languages); }
  /// Why CUDA-C cannot be compiled on this machine, with the remedy; empty
  /// where it can. Compiles a small program, once.
  const std::string &whyNoCuda();
  /// An error means that nothing can be said of the variant (disk full, a tool
  /// that is missing, `context` ended the waiting: then what runs is killed).
  llvm::Expected<PreparedJob> make(const EvaluationRequest &request,
                                   bool competitors,
                                   const RequestContext &context);
  /// A job of mode compare for a workload of a GPU. Errors as make()'s.
  llvm::Expected<PreparedComparison>
  makeComparison(LoweringOp workload, const RequestContext &context);
  /// What identifies all that the result of such a comparison rests on. Costs
  /// no more than provenance().
  llvm::Expected<std::string> nameOfComparison(LoweringOp workload,
                                               const RequestContext &context);
  std::string reproducersFolder() const;
  /// What identifies the compiled baseline and oracle of a workload, and the
  /// compiler of C.
  llvm::Expected<Provenance> provenance(LoweringOp workload,
                                        const RequestContext &context);
  /// Where kernels are compiled to.
  llvm::StringRef getScratch() const { return scratch.path(); }

private:
  /// A compiled kernel, or why there is none.
  struct CompiledKernel {
    worker::Program program;
    /// SHA-256 of code and plan; for the host of the object, before linking.
    std::string digest;
    /// The compiler's first error; empty when it compiled.
    std::string problem;
    bool timedOut = false;
  };

  JobMaker(JobMakerOptions options, ProcessFolder scratch);
  llvm::Expected<CompiledKernel> compile(LoweringOp lowering,
                                         llvm::StringRef role, unsigned seconds,
                                         const RequestContext &context);
  /// The workload's default lowering or oracle.
  llvm::Expected<CompiledKernel> compileTrusted(LoweringOp workload,
                                                llvm::StringRef role,
                                                const RequestContext &context) {
    return compile(workload, role, options.trustedCompileSeconds, context);
  }
  llvm::Expected<CompiledKernel> compileVariant(LoweringOp workload,
                                                const Variant &variant,
                                                Precision precision,
                                                const RequestContext &context);
  llvm::Expected<CompiledKernel> sourceProgram(const Variant &variant,
                                               llvm::StringRef arch);
  /// Reads what the child wrote for a GPU.
  llvm::Error readDeviceProgram(llvm::StringRef folder, CompiledKernel &kernel);

  JobMakerOptions options;
  ProcessFolder scratch;
  TargetDescription target;
  /// Nothing: they may be in any.
  std::optional<Languages> expected;
  std::optional<std::string> cudaProblem;
  /// By SHA-256 of the lowering's text and its role: baselines, oracles and
  /// incumbents are compiled once.
  llvm::StringMap<CompiledKernel> kernels;
};

} // namespace fastk

#endif // FASTK_EVALUATE_JOBMAKER_H
