//===- SoloMain.cpp - The process that runs one program once --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChildContext.h"
#include "Clock.h"
#include "SoloRun.h"
#include "fastk/Cuda/LoadedProgram.h"
#include <csignal>
#include <fstream>
#include <sys/prctl.h>
#include <unistd.h>

using namespace fastk;
using namespace fastk::worker;
using cuda::CUdeviceptr;

namespace {

class Solo {
public:
  explicit Solo(const SoloRun &run) : run(run) {}
  std::string go(const std::vector<const char *> &inputs, SoloReply &reply);

private:
  std::string create(const std::vector<const char *> &inputs);
  std::string warmUp();
  std::string call(cuda::LoadedProgram &program, TracedCall &call);

  const SoloRun &run;
  Cupti cupti;
  const cuda::Driver *driver = nullptr;
  cuda::CUcontext context = nullptr;
  cuda::CUstream stream = nullptr;
  cuda::CUevent begin = nullptr, end = nullptr;
  CUdeviceptr written = 0;
  static constexpr size_t writtenBytes = size_t(256) << 20;
  cuda::DeviceBuffers buffers;
  cuda::BoundProgram bound;
};

} // namespace

std::string Solo::create(const std::vector<const char *> &inputs) {
  std::string error;
  // Before the driver: CUPTI sees what is made after it.
  if (!run.cupti.empty())
    error = cupti.start(run.cupti);
  if (error.empty())
    error = createChildContext(driver, context, stream, {&begin, &end});
  if (error.empty() && !run.cupti.empty())
    error = driver->call(driver->cuMemAlloc, &written, writtenBytes);
  // To the byte: memcheck knows where a tensor ends. What is not copied here
  // has never been written, which initcheck knows.
  auto allocate = [&](std::vector<CUdeviceptr> &group, uint64_t bytes) {
    group.push_back(0);
    if (error.empty())
      error = driver->call(driver->cuMemAlloc, &group.back(), size_t(bytes));
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    allocate(buffers.inputs, run.inputBytes[i]);
    if (error.empty())
      error = driver->call(driver->cuMemcpyHtoD, buffers.inputs[i],
                           static_cast<const void *>(inputs[i]),
                           size_t(run.inputBytes[i]));
  }
  for (uint64_t bytes : run.outputBytes)
    allocate(buffers.outputs, bytes);
  for (const Workspace &workspace : run.plan.workspaces)
    allocate(buffers.workspaces, uint64_t(workspace.bytes));
  return error;
}

/// As before the timed calls of a candidate: clocks up, L2 empty.
std::string Solo::warmUp() {
  std::string error;
  for (uint64_t start = clockNs();
       error.empty() && clockNs() - start < 20'000'000;) {
    for (int i = 0; i < 4 && error.empty(); ++i)
      error = driver->call(driver->cuMemsetD8Async, written,
                           static_cast<unsigned char>(i), writtenBytes, stream);
    if (error.empty())
      error = driver->call(driver->cuStreamSynchronize, stream);
  }
  std::vector<Activity> ours;
  return error.empty() ? cupti.take(ours) : error;
}

std::string Solo::call(cuda::LoadedProgram &program, TracedCall &call) {
  uint64_t before = clockNs();
  std::string error = driver->call(driver->cuEventRecord, begin, stream);
  if (error.empty())
    error = program.enqueue(bound, stream);
  if (error.empty())
    error = driver->call(driver->cuEventRecord, end, stream);
  std::string late = driver->call(driver->cuCtxSynchronize);
  call.hostNs = double(clockNs() - before);
  if (error.empty())
    error = late;
  float milliseconds = 0;
  if (error.empty())
    error = driver->call(driver->cuEventElapsedTime, &milliseconds, begin, end);
  call.eventNs = double(milliseconds) * 1e6;
  return error;
}

std::string Solo::go(const std::vector<const char *> &inputs,
                     SoloReply &reply) {
  std::string error = create(inputs);
  if (!error.empty())
    return error;
  cuda::LoadedProgram program(*driver);
  error = program.load(run.image, run.plan);
  if (error.empty())
    error = program.bind(buffers, bound);
  // The first call under CUPTI loads what the next ones find.
  for (int64_t i = run.cupti.empty() ? 0 : -1; i < run.calls && error.empty();
       ++i) {
    TracedCall traced;
    if (!run.cupti.empty())
      error = warmUp();
    if (error.empty())
      error = call(program, traced);
    if (error.empty() && !run.cupti.empty())
      error = cupti.take(traced.activities);
    if (i >= 0)
      reply.calls.push_back(std::move(traced));
  }
  // Tools look back at what was left behind.
  for (auto *group : {&buffers.inputs, &buffers.outputs, &buffers.workspaces})
    for (CUdeviceptr address : *group)
      if (error.empty())
        error = driver->call(driver->cuMemFree, address);
  return error;
}

int fastk::worker::runSolo(const char *path) {
  // A tool is between this process and the worker.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  SoloReply reply;
  std::vector<const char *> inputs;
  if (std::optional<SoloRun> run = mapSoloRun(path, inputs, reply.error)) {
    alarm(run->seconds + 5);
    reply.error = Solo(*run).go(inputs, reply);
  }
  if (!reply.error.empty())
    reply.calls.clear();
  std::ofstream file(replyPath(path), std::ios::binary | std::ios::trunc);
  file << toJSON(reply);
  return 0;
}
