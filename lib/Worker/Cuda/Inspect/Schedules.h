//===- Schedules.h - Which warps are held back, and how long ----*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_CUDA_INSPECT_SCHEDULES_H
#define FASTK_LIB_WORKER_CUDA_INSPECT_SCHEDULES_H

#include "Process/RunTool.h"
#include "fastk/Cuda/DelayPTX.h"
#include <string>
#include <thread>
#include <vector>

namespace fastk::worker {

/// Schedule \p number of \p seed. \p dearNs: what a call takes longer where
/// every place delays by one nanosecond on the average; delays are so short
/// that a call takes about \p mostNs longer at most.
cuda::Schedule scheduleOf(uint64_t seed, int64_t number, double dearNs,
                          double mostNs);

/// "up to 8 us at 1 of 8 places, blocks as a whole".
std::string describe(const cuda::Schedule &schedule);

/// A program's PTX with some of its delays, assembled.
struct DelayedBuild {
  std::string cubin, variable;
  int64_t byKind[cuda::delayKinds] = {};
};

/// Builds that have, together, as many delays as can be had; none has a place
/// of another.
struct DelayedImage {
  /// Why there is none; else empty.
  std::string error;
  std::vector<DelayedBuild> builds;
  int64_t places = 0, possible = 0;
};

/// How the entries of a program are launched, as far as registers limit it.
struct LaunchShape {
  std::string entry;
  int64_t threads = 0, blocks = 0;
};

/// What may not get worse by delays: beside what ptxas complains of, the blocks
/// that fit on a multiprocessor, where blocks wait for each other.
struct AssemblerRules {
  std::vector<LaunchShape> launches;
  int64_t multiprocessors = 1;
  bool blocksWait = false;
};

/// Puts in as many delays as \p ptxas takes without what it does not do to the
/// program itself: serialised wgmma, spills, ignored setmaxnreg. What one build
/// cannot hold is dealt out to several. \p folder is for its files.
DelayedImage assembleDelayed(const std::string &ptx, const std::string &ptxas,
                             const std::string &arch, AssemblerRules rules,
                             const std::string &folder,
                             ToolControl *control = nullptr);

/// The same, beside what else is done meanwhile. It ends with the object.
class DelayAssembly {
public:
  DelayAssembly(std::string ptx, std::string ptxas, std::string arch,
                AssemblerRules rules);
  ~DelayAssembly();
  DelayAssembly(const DelayAssembly &) = delete;
  DelayAssembly &operator=(const DelayAssembly &) = delete;

  /// Takes no processor from here to resume(): for what is timed.
  void pause() { control.pause(); }
  void resume() { control.resume(); }
  /// Resumes it and waits for the result.
  const DelayedImage &wait();
  /// So long it was at work.
  double seconds() const { return worked; }

private:
  const ScratchFolder folder;
  ToolControl control;
  DelayedImage image;
  double worked = 0;
  std::thread thread;
};

/// Whether the assembler's \p log of a variant has what \p original has not:
/// more spilled bytes, a warning of another number, or so many registers that
/// fewer blocks are resident, or none.
bool isWorse(const std::string &original, const std::string &log,
             const AssemblerRules &rules = {});

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_CUDA_INSPECT_SCHEDULES_H
