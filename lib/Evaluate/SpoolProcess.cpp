//===- SpoolProcess.cpp - Who answers a spool -----------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SpoolProcess.h"
#include "fastk/Support/DurableFile.h"
#include "llvm/Support/MemoryBuffer.h"
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <unistd.h>

using namespace fastk;

/// What the process gets to give its jobs back in; a driver of a cluster takes
/// half of it at most.
static constexpr std::chrono::seconds kPatience{20};

llvm::Error SpoolProcess::start(SpawnOptions spawned, std::string path) {
  if (process > 0)
    return llvm::Error::success();
  log = std::move(path);
  read = 0;
  // The jobs at hand are given back.
  spawned.parentDeathSignal = SIGTERM;
  spawned.error =
      ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (spawned.error < 0)
    return fileError(log, "write", errno);
  process = spawnProcess(spawned);
  int problem = errno;
  ::close(spawned.error);
  if (process < 0)
    return fileError(spawned.program, "start", problem);
  return llvm::Error::success();
}

void SpoolProcess::end() {
  if (process < 0)
    return;
  (void)endProcess(process, kPatience);
  process = -1;
}

bool SpoolProcess::hasEnded() const {
  return process > 0 && hasChildEnded(process);
}

void SpoolProcess::passOn(
    const RequestContext &context,
    llvm::function_ref<bool(llvm::StringRef line)> isTold) {
  auto buffer = llvm::MemoryBuffer::getFile(log, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return;
  llvm::StringRef text = (*buffer)->getBuffer().drop_front(
      std::min(read, (*buffer)->getBufferSize()));
  for (size_t end; (end = text.find('\n')) != llvm::StringRef::npos;) {
    llvm::StringRef line = text.take_front(end);
    if (isTold(line))
      context.say(line.str());
    read += end + 1;
    text = text.drop_front(end + 1);
  }
}

/// The last lines of a file.
static std::string endOf(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return "";
  llvm::StringRef text = (*buffer)->getBuffer().rtrim();
  constexpr size_t kMost = 600;
  if (text.size() > kMost)
    text = text.take_back(kMost).split('\n').second;
  return text.str();
}

llvm::Expected<std::vector<std::string>> SpoolProcess::waitForAnswers(
    Evaluator &spool, const RequestContext &context,
    llvm::function_ref<bool(llvm::StringRef line)> isTold,
    llvm::StringRef ended) {
  RequestContext watching = context;
  watching.whileWaiting = [&] {
    passOn(context, isTold);
    context.tick();
  };
  watching.stopRequested = [&] {
    return hasEnded() || context.isStopRequested();
  };
  llvm::Expected<std::vector<std::string>> answered =
      spool.waitForAnswers(watching);
  if (!answered || !answered->empty() || !hasEnded())
    return answered;
  end();
  return llvm::createStringError(
      ended + ":\n" + endOf(log) + "\n" + log +
      " has all that they said; the same command starts them again and goes on "
      "where it was");
}
