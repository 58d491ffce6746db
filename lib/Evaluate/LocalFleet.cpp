//===- LocalFleet.cpp - Evaluations on all GPUs of this machine -----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Evaluate/LocalFleet.h"
#include "FileDigest.h"
#include "fastk/Evaluate/Spool.h"
#include "fastk/Support/DurableFile.h"
#include "fastk/System/SpawnProcess.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace mlir;
using namespace fastk;

/// Workers keep their own watch on programs; this only catches workers that
/// hang themselves.
static constexpr double kWaitSeconds = 1800;

namespace {
class LocalFleet : public Evaluator {
public:
  explicit LocalFleet(LocalFleetOptions given) : options(std::move(given)) {}
  ~LocalFleet() override { end(); }
  llvm::Error prepare() {
    if (llvm::Error error = createLocalPool(options.pool).moveInto(pool))
      return error;
    return createSpool({options.pool.jobs, options.spool, kWaitSeconds})
        .moveInto(spool);
  }

  llvm::Error check(const Languages &languages,
                    const RequestContext &context) override {
    if (llvm::Error error = pool->check(languages, context))
      return error;
    return spool->check(languages, context);
  }
  // The worker is known here, and is the pool's.
  llvm::Expected<Provenance>
  provenance(LoweringOp workload, const RequestContext &context) override {
    llvm::Expected<std::string> worker = digestOfFile(options.pool.worker);
    if (!worker)
      return worker.takeError();
    llvm::Expected<Provenance> parts = spool->provenance(workload, context);
    if (parts)
      parts->front().content = std::move(*worker);
    return parts;
  }
  void expect(LoweringOp workload) override { spool->expect(workload); }
  llvm::Expected<std::optional<worker::Verdict>>
  evaluate(const EvaluationRequest &request,
           const RequestContext &context) override {
    if (llvm::Error error = start())
      return std::move(error);
    return spool->evaluate(request, context);
  }
  std::string pendingHint() const override { return spool->pendingHint(); }
  bool waits() const override { return true; }
  unsigned workers() const override { return unsigned(options.gpus.size()); }
  Evaluator *atOnce() override { return pool.get(); }
  llvm::Expected<std::vector<std::string>>
  waitForAnswers(const RequestContext &context) override;
  double promotionCost() const override { return pool->promotionCost(); }

private:
  std::string log() const { return options.spool + "/workers.log"; }
  llvm::Error start();
  void end();
  /// Tells people what the workers say of themselves, not of each job.
  void passOn(const RequestContext &context);
  /// True when all workers have ended by themselves.
  bool hasEnded();

  LocalFleetOptions options;
  std::unique_ptr<Evaluator> pool, spool;
  pid_t fleet = -1;
  /// How much of the log was read, to the end of a line.
  size_t read = 0;
};
} // namespace

llvm::Error LocalFleet::start() {
  if (fleet > 0)
    return llvm::Error::success();
  SpawnOptions spawned;
  spawned.program = options.pool.worker;
  spawned.arguments = {
      "fastk-worker", "--spool=" + options.spool, "--follow",
      "--gpus=" + llvm::join(llvm::map_range(options.gpus,
                                             [](unsigned gpu) {
                                               return std::to_string(gpu);
                                             }),
                             ",")};
  // The jobs at hand are given back.
  spawned.parentDeathSignal = SIGTERM;
  spawned.error =
      ::open(log().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (spawned.error < 0)
    return fileError(log(), "write", errno);
  fleet = spawnProcess(spawned);
  int problem = errno;
  ::close(spawned.error);
  if (fleet < 0)
    return fileError(options.pool.worker, "start", problem);
  return llvm::Error::success();
}

void LocalFleet::end() {
  if (fleet < 0)
    return;
  ::kill(fleet, SIGTERM);
  (void)waitForProcess(fleet);
  fleet = -1;
}

bool LocalFleet::hasEnded() {
  siginfo_t info = {};
  return fleet > 0 &&
         ::waitid(P_PID, id_t(fleet), &info, WEXITED | WNOHANG | WNOWAIT) ==
             0 &&
         info.si_pid == fleet;
}

void LocalFleet::passOn(const RequestContext &context) {
  auto buffer = llvm::MemoryBuffer::getFile(log(), /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return;
  llvm::StringRef text = (*buffer)->getBuffer().drop_front(
      std::min(read, (*buffer)->getBufferSize()));
  for (size_t end; (end = text.find('\n')) != llvm::StringRef::npos;) {
    llvm::StringRef line = text.take_front(end);
    if (line.contains("error:") || line.contains("starts again") ||
        line.contains("this GPU takes "))
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

llvm::Expected<std::vector<std::string>>
LocalFleet::waitForAnswers(const RequestContext &context) {
  RequestContext watching = context;
  watching.whileWaiting = [&] {
    passOn(context);
    context.tick();
  };
  watching.stopRequested = [&] {
    return hasEnded() || context.isStopRequested();
  };
  llvm::Expected<std::vector<std::string>> answered =
      spool->waitForAnswers(watching);
  if (!answered || !answered->empty() || !hasEnded())
    return answered;
  end();
  return llvm::createStringError(
      "the workers of this machine's GPUs have ended:\n" + endOf(log()) + "\n" +
      log() +
      " has all that they said; the same command starts them again and goes on "
      "where it was");
}

llvm::Expected<std::unique_ptr<Evaluator>>
fastk::createLocalFleet(LocalFleetOptions options) {
  // Answers of another worker are no answers of this one.
  llvm::Expected<std::string> worker = digestOfFile(options.pool.worker);
  if (!worker)
    return worker.takeError();
  constexpr size_t kDigits = 12;
  options.spool += "/" + worker->substr(0, kDigits);
  auto fleet = std::make_unique<LocalFleet>(std::move(options));
  if (llvm::Error error = fleet->prepare())
    return std::move(error);
  return fleet;
}
