//===- SoloRun.h - A program in a process of its own, once ------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a promotion does beside validating and timing, it does in processes that
// tools may slow down and look into: under compute-sanitizer, or with CUPTI. A
// run is a file with the program, its plan and the bytes of its operands; the
// process, the worker's own code, allocates exactly what the tensors need,
// leaves results and workspaces as the driver gives them, calls the program and
// writes a reply beside the file. Device code has no way to write there.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_CUDA_CHILD_SOLORUN_H
#define FASTK_LIB_WORKER_CUDA_CHILD_SOLORUN_H

#include "Cuda/Inspect/Cupti.h"
#include "fastk/Protocol/LaunchPlan.h"
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace fastk::worker {

/// The hidden first argument that makes the worker such a process; the second
/// is the file.
inline constexpr const char *soloFlag = "--fastk-cuda-solo";

struct SoloRun {
  /// PTX or a cubin.
  std::string image;
  LaunchPlan plan;
  std::vector<uint64_t> inputBytes, outputBytes;
  /// Without CUPTI: one call. With the path of libcupti: calls with warm clocks
  /// and a cold L2, each with three times.
  std::string cupti;
  int64_t calls = 1;
  /// The process ends itself after so long.
  unsigned seconds = 60;
};

/// One call, in nanoseconds by the events around it and by the host; what CUPTI
/// saw between.
struct TracedCall {
  double eventNs = 0, hostNs = 0;
  std::vector<Activity> activities;
};

/// What the process says when it is done.
struct SoloReply {
  /// Why the program was not called, or what the driver said of the call.
  std::string error;
  std::vector<TracedCall> calls;
};

/// Writes a run; \p inputOf gives the bytes of an operand. Returns why it could
/// not.
std::string writeSoloRun(const std::string &path, const SoloRun &run,
                         const std::function<const void *(size_t)> &inputOf);

/// A run as its process reads it: operands point into the file's mapping, which
/// stays.
std::optional<SoloRun> mapSoloRun(const std::string &path,
                                  std::vector<const char *> &inputs,
                                  std::string &error);

std::string replyPath(const std::string &path);
std::string toJSON(const SoloReply &reply);
/// Nothing where there is none or it is cut off: the process did not get that
/// far.
std::optional<SoloReply> readSoloReply(const std::string &path);

/// The process. Its exit code is 0 whatever the program did, so that any other
/// is the tool's.
int runSolo(const char *path);

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_CUDA_CHILD_SOLORUN_H
