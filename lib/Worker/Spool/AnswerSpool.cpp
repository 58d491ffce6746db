//===- AnswerSpool.cpp - Answer a folder of jobs --------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Canary.h"
#include "Claim.h"
#include "CompileAhead.h"
#include "OpenJobs.h"
#include "SpoolAnswer.h"
#include "SpoolJob.h"
#include "fastk/System/WholeFile.h"
#include "fastk/Worker/Spool.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <set>
#include <thread>

using namespace fastk::worker;
namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

/// A folder is looked at so often where there is nothing to do: at first, and
/// after a while without a job.
static constexpr std::chrono::milliseconds kShortestPause{20};
static constexpr std::chrono::milliseconds kLongestPause{1000};

static double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

static void complain(const fs::path &path, const std::string &problem,
                     const char *kind = "error: ") {
  fprintf(stderr, "fastk-worker: %s%s: %s\n", kind, path.c_str(),
          problem.c_str());
}

namespace {
/// A worker at a spool.
class SpoolWorker {
public:
  explicit SpoolWorker(const SpoolOptions &options)
      : options(options), root(fs::absolute(options.folder)),
        jobs(root, options.share, options.shares) {}

  int run();

private:
  enum class Turn {
    /// A job was answered.
    Used,
    /// All jobs are at other workers, or for others.
    Idle,
    /// There are none.
    None
  };
  /// Answers one job, the first that no other worker has.
  Turn takeTurn();
  /// Answers a job that is claimed; false where it cannot.
  bool answer(const fs::path &folder, Claim &claim);
  /// Leaves a job for others, and says why.
  void leave(const fs::path &folder, const std::string &why);
  /// Says what may be said of many jobs, or many times: once, where it stays.
  void sayOnce(const fs::path &path, const std::string &problem,
               const char *kind = "error: ");
  void sayAnswered(const fs::path &folder, const Verdict &verdict);
  bool lookAgain();
  /// Whether a claim that nobody renews may soon be this worker's.
  bool mayTakeOver() const;
  /// False while this GPU is unlike the others.
  bool mayWork();

  const SpoolOptions &options;
  fs::path root;
  OpenJobs jobs;
  CompileAhead compiling;
  UnrenewedClaims unrenewed;
  Clock::time_point start = Clock::now();
  size_t known = 0, done = 0, failed = 0;
  /// Where it stays and evaluates on a GPU.
  std::optional<Canary> canary;
  /// Reasons that were said, where they are the same for many jobs.
  std::set<std::string> said;
};
} // namespace

void SpoolWorker::sayOnce(const fs::path &path, const std::string &problem,
                          const char *kind) {
  if (!options.follows || said.insert(problem).second)
    complain(path, problem, kind);
}

void SpoolWorker::leave(const fs::path &folder, const std::string &why) {
  std::error_code none;
  bool isGone = !fs::exists(folder, none);
  // What keeps a worker that stays from it may pass.
  if (options.follows && !isGone)
    jobs.putOff(folder);
  else
    jobs.remove(folder);
  // Whoever waited for it has removed it.
  if (isGone)
    return;
  // Workers that stay may be of many kinds: what one leaves is another's.
  failed += !options.follows;
  sayOnce(folder / "job.json", why);
}

void SpoolWorker::sayAnswered(const fs::path &folder, const Verdict &verdict) {
  double seconds = secondsSince(start);
  fprintf(stderr, "[%zu/%zu, %.1f s, %.1f a minute] %s %s: %s\n", done, known,
          seconds, 60 * double(done) / seconds, folder.filename().c_str(),
          std::string(toString(verdict.status)).c_str(),
          verdict.reason.c_str());
}

bool SpoolWorker::answer(const fs::path &folder, Claim &claim) {
  std::string problem;
  std::optional<Verdict> verdict =
      verdictOnJob(folder, options.rehearsal, claim.earlierDeaths(), problem);
  if (!verdict) {
    leave(folder, problem);
    return false;
  }
  fs::path place = folder / "verdict.json";
  if (std::error_code error = fastk::writeFirstFile(
          place.string(), toJSON(*verdict) + "\n", /*flush=*/true)) {
    if (options.follows) {
      sayOnce(place, "cannot write: " + error.message() +
                         "; make room, and the job is answered again");
      jobs.putOff(folder);
      return false;
    }
    ++failed;
    complain(place, "cannot write: " + error.message() +
                        "; the other verdicts are safe, make room and run the "
                        "same command again");
    jobs.remove(folder);
    return false;
  }
  jobs.remove(folder);
  claim.settle();
  ++done;
  sayAnswered(folder, *verdict);
  return true;
}

bool SpoolWorker::mayWork() {
  std::string told;
  bool may = !canary || canary->mayWork(told);
  if (!told.empty())
    fprintf(stderr, "fastk-worker: this GPU %s\n", told.c_str());
  return may;
}

bool SpoolWorker::mayTakeOver() const {
  // A job that is put off is looked at again within that time.
  constexpr auto kFresh = 3 * ClaimTimes().look;
  return std::any_of(unrenewed.begin(), unrenewed.end(),
                     [kFresh](const auto &each) {
                       return Clock::now() - each.second.seen < kFresh;
                     });
}

SpoolWorker::Turn SpoolWorker::takeTurn() {
  if (jobs.empty())
    return Turn::None;
  if (!mayWork())
    return Turn::Idle;
  std::vector<fs::path> order = jobs.inOrder();
  for (size_t i = 0; i < order.size(); ++i) {
    const fs::path &folder = order[i];
    // Many that stay look at many jobs of others; one that waits for the last
    // ones wants to be told.
    bool isPutOff = jobs.isPutOff(folder);
    if (isPutOff && options.follows)
      continue;
    if (isAnswered(folder)) {
      jobs.remove(folder);
      continue;
    }
    if (isPutOff)
      continue;
    std::string problem;
    std::unique_ptr<Claim> claim = Claim::take(folder, unrenewed, problem);
    if (!problem.empty()) {
      leave(folder, problem);
      continue;
    }
    if (!claim) {
      jobs.putOff(folder);
      continue;
    }
    compiling.expect({order.begin() + long(i) + 1, order.end()});
    if (answer(folder, *claim))
      return Turn::Used;
  }
  return jobs.empty() ? Turn::None : Turn::Idle;
}

bool SpoolWorker::lookAgain() {
  size_t before = jobs.size();
  std::error_code error = jobs.refresh();
  known += jobs.size() - before;
  if (error && options.follows)
    sayOnce(root, error.message() + "; it is waited for", /*kind=*/"");
  else if (error)
    complain(root, error.message() + "; --spool names the folder that "
                                     "fastk-opt --evaluator=spool:DIR wrote");
  return !error;
}

int SpoolWorker::run() {
  // A worker that stays may be there before the first job.
  if (!lookAgain() && !options.follows)
    return 1;
  fprintf(stderr, "fastk-worker: %zu %s to answer, %zu answered before\n",
          known, known == 1 ? "job" : "jobs", jobs.answeredBefore());
  if (options.follows && options.rehearsal.empty())
    canary = canaryOfThisGpu(root);
  Clock::time_point lastUse = Clock::now();
  std::chrono::milliseconds pause = kShortestPause;
  bool hasWaited = false;
  for (;;) {
    Turn turn = takeTurn();
    if (turn == Turn::None && !options.follows)
      break;
    if (turn == Turn::Used) {
      lastUse = Clock::now();
      pause = kShortestPause;
    } else {
      if (options.follows && options.idleSeconds > 0 &&
          secondsSince(lastUse) >= options.idleSeconds && !mayTakeOver())
        break;
      // It may be interrupted, and its job is free then.
      if (!options.follows && !hasWaited)
        fprintf(stderr, "fastk-worker: waiting for %zu %s of another worker\n",
                jobs.size(), jobs.size() == 1 ? "job" : "jobs");
      hasWaited = true;
      std::this_thread::sleep_for(pause);
      pause = std::min(2 * pause, kLongestPause);
    }
    // Where it is gone for a moment, as a network's folder may be, it comes
    // again.
    if (options.follows)
      lookAgain();
  }
  fprintf(stderr, "fastk-worker: %zu answered, %zu not", done, failed);
  // Those of other machines, or of other workers at this moment.
  if (!jobs.empty())
    fprintf(stderr, ", %zu left", jobs.size());
  fprintf(stderr, "\n");
  return failed ? 1 : 0;
}

int fastk::worker::answerSpool(const SpoolOptions &options) {
  return SpoolWorker(options).run();
}
