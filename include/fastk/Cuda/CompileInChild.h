//===- CompileInChild.h - Device code of others, compiled -------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A candidate's source is not trusted, and neither is the compiler that reads
// it: it runs in a child process that can reach nothing and cannot stay. The
// child loads NVRTC, gives up the file system, the network and its rights, then
// reads the source.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_CUDA_COMPILEINCHILD_H
#define FASTK_CUDA_COMPILEINCHILD_H

#include "fastk/Cuda/Nvrtc.h"
#include <cstdint>

namespace fastk::cuda {

/// Limits of one compilation.
struct CompileLimits {
  /// Processor time: the same on a busy machine as on an idle one.
  double cpuSeconds = 10;
  /// For what waits instead of working.
  double wallSeconds = 120;
  uint64_t addressSpaceBytes = uint64_t(4) << 30;
  /// Of the log, the PTX and the cubin each.
  uint64_t outputBytes = uint64_t(64) << 20;
  /// The program to start as the child: its main() begins with
  /// isNvrtcChild(). Empty: this program itself.
  std::string program;
};

/// Whether this process was started by one of the functions below: then main()
/// does nothing but `_exit(nvrtcChildMain(argc, argv))`.
bool isNvrtcChild(int argc, char **argv);
/// The child. Returns its exit code.
int nvrtcChildMain(int argc, char **argv);

/// Compiles in a child process of \p limits, then checks the PTX
/// (CheckDeviceCode.h). Never fails otherwise than by CompileResult::error: a
/// crash, a hang and an endless log of the compiler are texts, too. No cache.
CompileResult compileInChild(const CompileRequest &request,
                             const CompileLimits &limits = {});

/// PTX to a cubin, by the toolkit's ptxas in a process that is confined like
/// the compiler's.
struct AssembleRequest {
  std::string ptx;
  /// "sm_80" to "sm_90a".
  std::string arch = "sm_90a";
};

/// As compileInChild(): the PTX is checked before, the cubin afterwards.
/// CompileResult::missingTool: there is no ptxas, or it is older than the PTX;
/// toolFailed: there is one that does not work here.
CompileResult assembleInChild(const AssembleRequest &request,
                              const CompileLimits &limits = {});
CompileResult assembleCached(const AssembleRequest &request,
                             const CompileLimits &limits = {});

/// compileInChild() through the user's cache of results (CompileCache.h).
CompileResult compileCached(const CompileRequest &request,
                            const CompileLimits &limits = {});

} // namespace fastk::cuda

#endif // FASTK_CUDA_COMPILEINCHILD_H
