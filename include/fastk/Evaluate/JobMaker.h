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
#include "fastk/Evaluate/KernelCompiler.h"
#include "fastk/Protocol/Job.h"
#include "fastk/System/ProcessFolder.h"
#include "fastk/Target/TargetDescription.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fastk {

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
  /// Whether make() waits for the compiler. Where it does not, what it could
  /// not wait for is told.
  bool waitsForCompiler = true;
};

/// Kernels that are still compiled; the same call again once all have ended
/// gives what was asked for.
using Compilations = std::vector<std::shared_ptr<Compilation>>;

/// A job, or the verdict where no worker is needed for it.
struct PreparedJob {
  /// Not empty: neither is known yet.
  Compilations compiling;
  /// Its programs lie in the scratch folder.
  worker::Job job;
  std::optional<worker::Verdict> verdict;
  /// SHA-256 of the candidate's plan and compiled code; of its source where no
  /// compiler is here. Candidates of one digest have one verdict.
  std::string candidateDigest;
};

/// A comparison of a workload's oracles, or why there is none.
struct PreparedComparison {
  /// Not empty: nothing is known yet.
  Compilations compiling;
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
  /// Begins what provenance(), make() and makeComparison() will need of a
  /// workload.
  void beginFor(LoweringOp workload);
  /// Where kernels are compiled to.
  llvm::StringRef getScratch() const { return scratch.path(); }

private:
  JobMaker(JobMakerOptions options, ProcessFolder scratch);
  /// The workload's default lowering or oracle.
  std::shared_ptr<Compilation> beginTrusted(LoweringOp workload,
                                            llvm::StringRef role) {
    return compiler.begin(workload, role, options.trustedCompileSeconds);
  }
  llvm::Expected<CompiledKernel> compileTrusted(LoweringOp workload,
                                                llvm::StringRef role,
                                                const RequestContext &context) {
    return beginTrusted(workload, role)->wait(context);
  }
  llvm::Expected<std::shared_ptr<Compilation>>
  beginVariant(LoweringOp workload, const Variant &variant,
               Precision precision);
  /// Those of `all` that are not to be waited for and have not ended.
  Compilations notYet(Compilations all) const;
  llvm::Expected<CompiledKernel> sourceProgram(const Variant &variant,
                                               llvm::StringRef arch);

  JobMakerOptions options;
  ProcessFolder scratch;
  KernelCompiler compiler;
  TargetDescription target;
  /// Nothing: they may be in any.
  std::optional<Languages> expected;
  std::optional<std::string> cudaProblem;
};

} // namespace fastk

#endif // FASTK_EVALUATE_JOBMAKER_H
