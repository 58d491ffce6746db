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
#include "Process/EndingThread.h"
#include "SpoolAnswer.h"
#include "SpoolJob.h"
#include "fastk/Protocol/VerdictNumbers.h"
#include "fastk/System/EventLog.h"
#include "fastk/System/Metrics.h"
#include "fastk/System/WholeFile.h"
#include "fastk/Worker/Spool.h"
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
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

/// The GPU that this process sees, where it is one of several.
static std::string visibleGpu() {
  const char *visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return visible ? visible : "";
}

/// As node_exporter's files of several workers are told apart.
static fastk::MetricLabels labelsOf(const std::string &gpu) {
  return gpu.empty() ? fastk::MetricLabels()
                     : fastk::MetricLabels{{"gpu", gpu}};
}

static fastk::EventLog::Fields fieldsOf(const std::string &gpu) {
  return gpu.empty() ? fastk::EventLog::Fields()
                     : fastk::EventLog::Fields{{"gpu", gpu}};
}

static std::string someJobs(size_t count) {
  return std::to_string(count) + (count == 1 ? " job" : " jobs");
}

namespace {
/// A worker at a spool.
class SpoolWorker {
public:
  explicit SpoolWorker(const SpoolOptions &options)
      : options(options), root(fs::absolute(options.folder)),
        jobs(root, options.share, options.shares),
        log(options.logsJSON, fieldsOf(visibleGpu())),
        metrics(options.metrics, labelsOf(visibleGpu())) {
    for (const VerdictNumber &number : zeroNumbers("fastk_worker"))
      metrics.take({number.name, number.help}, number.labels, number.value);
  }

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
  /// The same as answer(), as those see it who watch.
  bool answerWatched(const fs::path &folder, Claim &claim);
  /// Of a job; empty: there is none at hand.
  void setJobAtHand(std::string name);
  /// Says that a signal ends this worker, and what becomes of its job.
  void sayEnded(int signal);
  /// Answers a job that is claimed; false where it cannot.
  bool answer(const fs::path &folder, Claim &claim);
  /// Leaves a job for others, and says why.
  void leave(const fs::path &folder, const std::string &why);
  void complain(const fs::path &path, const std::string &problem) const;
  /// Says what may be said of many jobs, or many times: once, where it stays.
  void sayOnce(const fs::path &path, const std::string &problem);
  void sayAnswered(const fs::path &folder, const Verdict &verdict);
  bool lookAgain();
  /// Whether a claim that nobody renews may soon be this worker's.
  bool mayTakeOver() const;
  /// False while this GPU is unlike the others.
  bool mayWork();
  void count(const Verdict &verdict);
  /// Writes the metrics, all of them \p atOnce or when it is time.
  void showMetrics(bool atOnce);

  const SpoolOptions &options;
  fs::path root;
  OpenJobs jobs;
  CompileAhead compiling;
  UnrenewedClaims unrenewed;
  Clock::time_point start = Clock::now();
  size_t known = 0, done = 0, failed = 0;
  /// Where it stays and evaluates on a GPU.
  std::optional<Canary> canary;
  fastk::EventLog log;
  fastk::Metrics metrics;
  bool takesJobs = true;
  /// When the job at hand was begun; 0 without one.
  std::time_t jobStarted = 0;
  /// Its name, for the thread that tells of a signal.
  std::string jobAtHand;
  std::mutex jobMutex;
  /// Reasons that were said, where they are the same for many jobs.
  std::set<std::string> said;
};
} // namespace

void SpoolWorker::complain(const fs::path &path,
                           const std::string &problem) const {
  log.say("problem", "fastk-worker: error: " + path.string() + ": " + problem,
          {{"path", path.string()}}, /*isError=*/true);
}

void SpoolWorker::sayOnce(const fs::path &path, const std::string &problem) {
  if (!options.follows || said.insert(problem).second)
    complain(path, problem);
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
  char where[128];
  snprintf(where, sizeof where, "[%zu/%zu, %.1f s, %.1f a minute] ", done,
           known, seconds, 60 * double(done) / seconds);
  std::string status(toString(verdict.status));
  std::string job = folder.filename().string();
  log.say("answered", where + job + " " + status + ": " + verdict.reason,
          {{"job", job},
           {"status", status},
           {"seconds", verdict.resources.wallSeconds}});
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
  // It is nobody's any more, whatever ends this worker from here on.
  setJobAtHand("");
  jobs.remove(folder);
  claim.settle();
  ++done;
  count(*verdict);
  sayAnswered(folder, *verdict);
  return true;
}

void SpoolWorker::setJobAtHand(std::string name) {
  std::lock_guard<std::mutex> lock(jobMutex);
  jobAtHand = std::move(name);
}

bool SpoolWorker::answerWatched(const fs::path &folder, Claim &claim) {
  std::string name = folder.filename().string();
  jobStarted = std::time(nullptr);
  setJobAtHand(name);
  if (int deaths = claim.earlierDeaths())
    log.say("takes over",
            "fastk-worker: " + name + ": " + std::to_string(deaths) +
                (deaths == 1 ? " worker" : " workers") +
                " ended at it without an answer; it is begun again",
            {{"job", name}, {"deaths", double(deaths)}});
  showMetrics(/*atOnce=*/true);
  bool isDone = answer(folder, claim);
  jobStarted = 0;
  setJobAtHand("");
  return isDone;
}

void SpoolWorker::sayEnded(int signal) {
  std::lock_guard<std::mutex> lock(jobMutex);
  const char *name = sigabbrev_np(signal);
  std::string line =
      "fastk-worker: ended by " +
      (name ? "SIG" + std::string(name) : "signal " + std::to_string(signal));
  fastk::EventLog::Fields fields;
  if (!jobAtHand.empty()) {
    line += "; " + jobAtHand + " is free for others";
    fields.emplace_back("job", jobAtHand);
  }
  log.say("ends", line, fields);
}

void SpoolWorker::count(const Verdict &verdict) {
  for (const VerdictNumber &number : numbersOf(verdict, "fastk_worker"))
    metrics.take({number.name, number.help}, number.labels, number.value);
  metrics.set({"fastk_worker_last_answer_timestamp_seconds",
               "When this worker last answered a job"},
              {}, double(std::time(nullptr)));
}

void SpoolWorker::showMetrics(bool atOnce) {
  metrics.set({"fastk_worker_open_jobs",
               "Jobs of the spool without an answer, as this worker sees them"},
              {}, double(jobs.size()));
  metrics.set({"fastk_worker_takes_jobs",
               "0 while this GPU is unlike the others of its model"},
              {}, takesJobs);
  metrics.set({"fastk_worker_job_started_timestamp_seconds",
               "When this worker began the job that it is at; 0 without one"},
              {}, double(jobStarted));
  std::error_code error = atOnce ? metrics.write() : metrics.writeIfDue();
  if (!error)
    return;
  std::string problem =
      "cannot write: " + error.message() + "; jobs are answered all the same";
  // Once, also where it does not stay: it is written with each job.
  if (said.insert(problem).second)
    complain(options.metrics, problem);
}

bool SpoolWorker::mayWork() {
  std::string told;
  bool may = takesJobs = !canary || canary->mayWork(told);
  if (!told.empty())
    log.say("gpu", "fastk-worker: this GPU " + told, {}, /*isError=*/!may);
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
    if (answerWatched(folder, *claim))
      return Turn::Used;
  }
  return jobs.empty() ? Turn::None : Turn::Idle;
}

bool SpoolWorker::lookAgain() {
  size_t before = jobs.size();
  std::error_code error = jobs.refresh();
  known += jobs.size() - before;
  if (error && options.follows) {
    std::string why = error.message() + "; it is waited for";
    if (said.insert(why).second)
      log.say("waits", "fastk-worker: " + root.string() + ": " + why,
              {{"path", root.string()}});
  } else if (error)
    complain(root, error.message() + "; --spool names the folder that "
                                     "fastk-opt --evaluator=spool:DIR wrote");
  return !error;
}

int SpoolWorker::run() {
  EndingThread ending([this](int signal) { sayEnded(signal); });
  // A worker that stays may be there before the first job.
  if (!lookAgain() && !options.follows)
    return 1;
  log.say("begins", "fastk-worker: " + someJobs(known) + " to answer, " +
                        std::to_string(jobs.answeredBefore()) +
                        " answered before");
  if (options.follows && options.rehearsal.empty())
    canary = canaryOfThisGpu(root);
  showMetrics(/*atOnce=*/true);
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
        log.say("waits", "fastk-worker: waiting for " + someJobs(jobs.size()) +
                             " of another worker");
      hasWaited = true;
      std::this_thread::sleep_for(pause);
      pause = std::min(2 * pause, kLongestPause);
    }
    // Where it is gone for a moment, as a network's folder may be, it comes
    // again.
    if (options.follows)
      lookAgain();
    showMetrics(/*atOnce=*/false);
  }
  showMetrics(/*atOnce=*/true);
  // Those of other machines, or of other workers at this moment.
  std::string left =
      jobs.empty() ? "" : ", " + std::to_string(jobs.size()) + " left";
  log.say("ends", "fastk-worker: " + std::to_string(done) + " answered, " +
                      std::to_string(failed) + " not" + left);
  return failed ? 1 : 0;
}

int fastk::worker::answerSpool(const SpoolOptions &options) {
  return SpoolWorker(options).run();
}
