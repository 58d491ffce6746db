//===- KernelCompiler.h - Kernels compiled by child processes ---*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each kernel is compiled by fastk-opt in a child process: what crashes, hangs
// or takes all memory ends that one. As many as the machine has processors run
// side by side; whoever asks may wait, or come again.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_EVALUATE_KERNELCOMPILER_H
#define FASTK_EVALUATE_KERNELCOMPILER_H

#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "fastk/Protocol/Job.h"
#include "fastk/Support/RequestContext.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/ThreadPool.h"
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>

#if !LLVM_ENABLE_THREADS
#error "fastk needs an LLVM with threads (LLVM_ENABLE_THREADS)"
#endif

namespace fastk {

/// The exit code of the compiler where a tool that it needs is missing on this
/// machine. That says nothing of the program: it is an error, and no verdict.
inline constexpr int kCompilerToolMissing = 69;

/// A compiled kernel, or why there is none.
struct CompiledKernel {
  worker::Program program;
  /// SHA-256 of code and plan; for the host of the object, before linking.
  std::string digest;
  /// The compiler's first error; empty when it compiled.
  std::string problem;
  /// The compiler said it; else nothing came to be compiled, or in time.
  bool isCompilersWord = false;
  bool timedOut = false;
};

/// A kernel that is being compiled, or has been.
class Compilation {
public:
  /// One that needs no compiler, or none any more.
  static std::shared_ptr<Compilation> ended(CompiledKernel kernel);

  bool hasEnded() const;
  /// Waits for its end. An error means that nothing can be said of the kernel
  /// (disk full, a tool that is missing, `context` ended the waiting).
  llvm::Expected<CompiledKernel> wait(const RequestContext &context) const;

private:
  friend class KernelCompiler;
  void end(llvm::Expected<CompiledKernel> result);

  mutable std::mutex mutex;
  mutable std::condition_variable isOver;
  bool isEnded = false;
  CompiledKernel kernel;
  /// Why nothing can be said; empty otherwise.
  std::string error;
  std::error_code code;
};

class KernelCompiler {
public:
  /// \p compiler is fastk-opt, \p folder where kernels are compiled to.
  KernelCompiler(std::string compiler, std::string folder);
  /// Kills what still compiles.
  ~KernelCompiler();

  /// Begins to compile \p lowering as \p role ("program", "oracle", ...), which
  /// may take so many seconds; one that was begun or compiled before is that
  /// one.
  std::shared_ptr<Compilation> begin(LoweringOp lowering, llvm::StringRef role,
                                     unsigned seconds);

private:
  struct Task;
  llvm::Expected<CompiledKernel> run(const Task &task) const;

  const std::string compiler;
  const std::string folder;
  /// By SHA-256 of the lowering's text and its role: baselines, oracles and
  /// incumbents are compiled once.
  llvm::StringMap<std::shared_ptr<Compilation>> known;
  std::atomic<bool> isOver = false;
  /// Last: its threads end before what they use.
  llvm::DefaultThreadPool pool;
};

} // namespace fastk

#endif // FASTK_EVALUATE_KERNELCOMPILER_H
