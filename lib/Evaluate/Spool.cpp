//===- Spool.cpp - Evaluations that another machine makes -----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Evaluate/Spool.h"
#include "fastk/Evaluate/OracleComparison.h"
#include "fastk/Support/DurableFile.h"
#include "fastk/Support/OutputPlace.h"
#include "fastk/Support/Sha256.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdio>
#include <fcntl.h>
#include <map>
#include <set>
#include <thread>
#include <unistd.h>

using namespace mlir;
using namespace fastk;

/// Writing a job takes milliseconds; whoever holds the lock longer is in
/// trouble.
static constexpr double kLockSeconds = 30;

/// How often answers are looked for: at first, and after a while without one.
static constexpr std::chrono::milliseconds kShortestPause{10};
static constexpr std::chrono::milliseconds kLongestPause{250};
/// Where looking itself takes long.
static constexpr std::chrono::milliseconds kLongestLook{5000};

/// By the recorded searches on GPUs: 6 to 12.
static constexpr double kPromotionCost = 6;

/// Far above any verdict; a bound for a stray file.
static constexpr size_t kFileLimit = 64 << 20;

static std::string hostName() {
  char name[HOST_NAME_MAX + 1] = {};
  return ::gethostname(name, HOST_NAME_MAX) == 0 ? name : "here";
}

namespace {
class Spool : public Evaluator {
public:
  explicit Spool(SpoolOptions given) : options(std::move(given)) {
    options.jobs.waitsForCompiler = !waits();
  }
  llvm::Error prepare() {
    if (llvm::Error error = createDirectories(options.directory))
      return error;
    if (llvm::Error error = JobMaker::create(options.jobs).moveInto(maker))
      return error;
    comparison.emplace(*maker);
    return llvm::Error::success();
  }

  llvm::Error check(const Languages &languages,
                    const RequestContext &) override {
    maker->expect(languages);
    return llvm::Error::success();
  }
  llvm::Expected<Provenance>
  provenance(LoweringOp workload, const RequestContext &context) override {
    llvm::Expected<Provenance> parts = maker->provenance(workload, context);
    // Which worker will answer is not known here.
    if (parts)
      parts->insert(parts->begin(), {"worker", "answers a spool"});
    return parts;
  }
  llvm::Expected<std::optional<worker::Verdict>>
  evaluate(const EvaluationRequest &request,
           const RequestContext &context) override;
  std::string pendingHint() const override {
    return "fastk-worker --spool " + options.directory;
  }
  void expect(LoweringOp workload) override { maker->beginFor(workload); }
  bool waits() const override { return options.waitSeconds > 0; }
  unsigned workers() const override { return mostAtWork; }
  double promotionCost() const override { return kPromotionCost; }
  llvm::Expected<std::vector<std::string>>
  waitForAnswers(const RequestContext &context) override;

private:
  /// A request whose programs are still compiled, to be made again then. It
  /// has all that it is about: the search may be gone by then.
  struct Deferred {
    Deferred(const EvaluationRequest &request, Compilations compiling);
    EvaluationRequest request() const;

    OwningOpRef<ModuleOp> module;
    Variant candidate;
    std::optional<Variant> incumbent;
    /// Its workload and variants are not those.
    EvaluationRequest asked;
    Compilations compiling;
  };
  /// What a workload waits for.
  struct Waiting {
    bool hasEnded() const { return jobs.empty() && deferred.empty(); }
    /// The first of a batch is deferred, or has become no job: the next job
    /// shows in its place that the inputs can tell right from wrong.
    bool owesCompetitors = false;
    /// Jobs without an answer.
    std::set<std::string> jobs;
    /// By identityOf().
    std::map<std::string, Deferred> deferred;
  };
  /// Writes the jobs of requests whose programs are compiled by now.
  llvm::Error askDeferred(const RequestContext &context);
  llvm::Expected<std::optional<worker::Verdict>>
  askOrDefer(const EvaluationRequest &request, std::string identity,
             const RequestContext &context);

  /// The answer to a job for the workload `key`, which is written where it is
  /// not there yet.
  llvm::Expected<std::optional<worker::Verdict>>
  ask(worker::Job &job, llvm::StringRef key, llvm::StringRef candidateDigest,
      int repeat, int failures);
  /// Whether there are new answers; they are waited for no more.
  bool lookForAnswers();
  /// The verdict on a job that is there, if it has one.
  llvm::Expected<std::optional<worker::Verdict>>
  answerOf(const std::string &job) const;
  /// There while a worker is at it; a later one's number may be another.
  std::string claimPath(llvm::StringRef job) const {
    return options.directory + "/" + job.str() + "/claim-1";
  }
  std::string verdictPath(llvm::StringRef job) const {
    return options.directory + "/" + job.str() + "/verdict.json";
  }
  llvm::Error write(const worker::Job &job,
                    llvm::ArrayRef<std::pair<std::string, std::string>> files);

  SpoolOptions options;
  std::unique_ptr<JobMaker> maker;
  std::optional<OracleComparison> comparison;
  /// Jobs that were asked for and had no answer then, by identityOf().
  std::map<std::string, std::string> jobs;
  /// By the keys of the workloads.
  std::map<std::string, Waiting> waiting;
  /// The most jobs that were seen to be claimed at the same time.
  unsigned mostAtWork = 1;
};
} // namespace

llvm::Expected<std::optional<worker::Verdict>>
Spool::ask(worker::Job &job, StringRef key, StringRef candidateDigest,
           int repeat, int failures) {
  // The programs under plain names, and what they hold.
  std::vector<std::pair<std::string, std::string>> files;
  if (llvm::Error error = takeFiles(job, files))
    return std::move(error);

  // The name tells what is evaluated: neither what is known of the machine's
  // rates by now nor who was first in a batch makes another job of it.
  worker::Job named = job;
  named.floorNs = 0;
  named.validate.competitors = false;
  std::string text = worker::toJSON(named);
  for (const auto &[name, content] : files)
    text +=
        "\n" + name + " " +
        (name == job.candidate.path ? candidateDigest.str() : sha256(content));
  if (repeat > 0)
    text += "\nrepeat " + std::to_string(repeat);
  // What failed is another job: its answer stays where it is.
  if (failures > 0)
    text += "\nfailures " + std::to_string(failures);
  job.id = "job-" + sha256(text).substr(0, 32);

  if (!llvm::sys::fs::exists(options.directory + "/" + job.id + "/job.json")) {
    if (llvm::Error error = write(job, files))
      return std::move(error);
    waiting[key.str()].jobs.insert(job.id);
    return std::nullopt;
  }
  llvm::Expected<std::optional<worker::Verdict>> verdict = answerOf(job.id);
  if (verdict && !*verdict)
    waiting[key.str()].jobs.insert(job.id);
  return verdict;
}

llvm::Expected<std::optional<worker::Verdict>>
Spool::answerOf(const std::string &job) const {
  std::string path = verdictPath(job);
  if (!llvm::sys::fs::exists(path))
    return std::nullopt;
  auto broken = [&](const llvm::Twine &problem, StringRef remedy = "remove") {
    return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                   path + ": " + problem + "; " + remedy +
                                       " it and answer again with `" +
                                       pendingHint() + "`");
  };
  llvm::Expected<std::string> answer =
      readRegularFile(AT_FDCWD, path, path, kFileLimit);
  if (!answer)
    return answer.takeError();
  std::string problem;
  std::optional<worker::Verdict> verdict =
      worker::parseVerdict(*answer, problem);
  // Whoever reads another format loses nothing: it is an answer there.
  if (!verdict && StringRef(problem).starts_with("$.format:"))
    return broken(problem, "or end such workers, remove");
  if (!verdict)
    return broken(problem);
  if (verdict->id != job)
    return broken("is the verdict on '" + verdict->id + "', of another job");
  return verdict;
}

/// Equal for requests that ask for the same evaluation.
static std::string identityOf(const EvaluationRequest &request) {
  std::string text = LoweringOp(request.workload).getKey().str() + " " +
                     digestOf(request.candidate) + " " +
                     (request.incumbent ? digestOf(*request.incumbent) : "");
  for (int value :
       {static_cast<int>(request.acceptedPrecision), int(request.promote),
        int(request.validateOnly), int(request.timesBriefly),
        int(request.counters), request.repeat, request.failures})
    text += " " + std::to_string(value);
  return text;
}

Spool::Deferred::Deferred(const EvaluationRequest &request,
                          Compilations compiling)
    : module(ModuleOp::create(LoweringOp(request.workload).getLoc())),
      candidate(request.candidate),
      incumbent(request.incumbent ? std::optional(*request.incumbent)
                                  : std::nullopt),
      asked(request), compiling(std::move(compiling)) {
  module->push_back(LoweringOp(request.workload)->clone());
}

EvaluationRequest Spool::Deferred::request() const {
  return {*(*module).getOps<LoweringOp>().begin(),
          candidate,
          incumbent ? &*incumbent : nullptr,
          asked.acceptedPrecision,
          asked.promote,
          asked.validateOnly,
          asked.timesBriefly,
          asked.firstOfBatch,
          asked.counters,
          asked.repeat,
          asked.failures};
}

llvm::Expected<std::optional<worker::Verdict>>
Spool::evaluate(const EvaluationRequest &request,
                const RequestContext &context) {
  if (llvm::Error error = askDeferred(context))
    return std::move(error);
  // A run that waits asks for the same when it may be answered.
  std::string identity = identityOf(request);
  if (auto asked = jobs.find(identity); asked != jobs.end())
    return answerOf(asked->second);
  return askOrDefer(request, std::move(identity), context);
}

llvm::Expected<std::optional<worker::Verdict>>
Spool::askOrDefer(const EvaluationRequest &request, std::string identity,
                  const RequestContext &context) {
  StringRef key = LoweringOp(request.workload).getKey();
  auto at = waiting.find(key.str());
  bool owes = at != waiting.end() && at->second.owesCompetitors;
  bool competitors = request.promote || request.firstOfBatch || owes;
  auto defer = [&](Compilations compiling) {
    waiting[key.str()].owesCompetitors |= competitors && !request.promote;
    waiting[key.str()].deferred.try_emplace(std::move(identity), request,
                                            std::move(compiling));
    return std::nullopt;
  };
  llvm::Expected<PreparedJob> prepared =
      maker->make(request, competitors, context);
  if (!prepared)
    return prepared.takeError();
  if (!prepared->compiling.empty())
    return defer(std::move(prepared->compiling));
  if (prepared->verdict)
    return std::move(prepared->verdict);
  llvm::Expected<OracleComparison::Answer> oracles = comparison->check(
      request.workload,
      [&](worker::Job &job) {
        return ask(job, key, /*candidateDigest=*/"", /*repeat=*/0,
                   /*failures=*/0);
      },
      context);
  if (!oracles)
    return oracles.takeError();
  if (!oracles->compiling.empty())
    return defer(std::move(oracles->compiling));
  if (oracles->verdict)
    return std::move(oracles->verdict);
  // Both are asked at once, and without the comparison no verdict counts.
  llvm::Expected<std::optional<worker::Verdict>> verdict =
      ask(prepared->job, key, prepared->candidateDigest, request.repeat,
          request.failures);
  if (at = waiting.find(key.str()); competitors && at != waiting.end())
    at->second.owesCompetitors = false;
  if (verdict && oracles->isPending)
    verdict->reset();
  else if (verdict && !*verdict)
    jobs.emplace(std::move(identity), prepared->job.id);
  return verdict;
}

llvm::Error Spool::askDeferred(const RequestContext &context) {
  for (auto &[key, each] : waiting)
    for (auto at = each.deferred.begin(); at != each.deferred.end();) {
      if (!llvm::all_of(at->second.compiling,
                        [](const auto &one) { return one->hasEnded(); })) {
        ++at;
        continue;
      }
      // What failed through no fault of a kernel would fail again.
      for (const std::shared_ptr<Compilation> &one : at->second.compiling)
        if (llvm::Expected<CompiledKernel> kernel = one->wait(context); !kernel)
          return kernel.takeError();
      if (context.isStopRequested())
        return llvm::Error::success();
      context.tick();
      auto ready = each.deferred.extract(at++);
      // A verdict that needs no worker is found when the search asks again.
      llvm::Expected<std::optional<worker::Verdict>> verdict =
          askOrDefer(ready.mapped().request(), ready.key(), context);
      if (!verdict)
        return verdict.takeError();
    }
  return llvm::Error::success();
}

bool Spool::lookForAnswers() {
  bool isNews = false;
  unsigned atWork = 0;
  for (auto &[key, each] : waiting)
    for (auto job = each.jobs.begin(); job != each.jobs.end();) {
      bool isThere = llvm::sys::fs::exists(verdictPath(*job));
      isNews |= isThere;
      atWork += !isThere && llvm::sys::fs::exists(claimPath(*job));
      job = isThere ? each.jobs.erase(job) : std::next(job);
    }
  mostAtWork = std::max(mostAtWork, atWork);
  return isNews;
}

llvm::Expected<std::vector<std::string>>
Spool::waitForAnswers(const RequestContext &context) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point lastAnswer = Clock::now();
  Clock::duration pause = kShortestPause;
  while (waits() && !waiting.empty()) {
    if (llvm::Error error = askDeferred(context))
      return std::move(error);
    Clock::time_point begin = Clock::now();
    // The compiler ends by itself.
    if (llvm::any_of(waiting, [](const auto &each) {
          return !each.second.deferred.empty();
        }))
      lastAnswer = begin;
    if (lookForAnswers()) {
      lastAnswer = begin;
      pause = kShortestPause;
    }
    std::vector<std::string> answered;
    for (auto at = waiting.begin(); at != waiting.end();) {
      bool hasEnded = at->second.hasEnded();
      if (hasEnded)
        answered.push_back(at->first);
      at = hasEnded ? waiting.erase(at) : std::next(at);
    }
    if (!answered.empty())
      return answered;
    Clock::time_point now = Clock::now();
    if (std::chrono::duration<double>(now - lastAnswer).count() >=
            options.waitSeconds ||
        context.isStopRequested())
      break;
    // Looking is no more than half of the time, also over a network.
    Clock::duration left =
        std::min<Clock::duration>(std::max(pause, now - begin), kLongestLook);
    for (; left > Clock::duration() && !context.isStopRequested();
         left -= kLongestPause) {
      context.tick();
      std::this_thread::sleep_for(
          std::min<Clock::duration>(left, kLongestPause));
    }
    pause = std::min<Clock::duration>(2 * pause, kLongestPause);
  }
  return std::vector<std::string>();
}

llvm::Error
Spool::write(const worker::Job &job,
             llvm::ArrayRef<std::pair<std::string, std::string>> files) {
  llvm::Expected<FileLock> lock =
      FileLock::acquire(options.directory + "/.lock",
                        "the spool " + options.directory, kLockSeconds);
  if (!lock)
    return lock.takeError();
  std::string final = options.directory + "/" + job.id;
  // Hidden until it is whole: a worker may be looking. What is found there
  // under the lock was left by a process that died.
  // The lock may hold on this machine alone.
  std::string temporary = options.directory + "/.tmp-" + hostName();
  llvm::scope_exit cleanUp(
      [&] { llvm::sys::fs::remove_directories(temporary); });
  llvm::sys::fs::remove_directories(temporary);
  auto writeAll = [&]() -> llvm::Error {
    if (llvm::Error error = createDirectories(temporary))
      return error;
    for (const auto &[name, content] : files)
      if (llvm::Error error = writeNewFile(temporary + "/" + name, content))
        return error;
    if (llvm::Error error =
            writeNewFile(temporary + "/job.json", worker::toJSON(job) + "\n"))
      return error;
    return syncDirectory(temporary);
  };
  if (llvm::Error error = writeAll())
    return nameInstead(std::move(error), temporary, final);
  // What stands there without a job.json is no job.
  if (::rename(temporary.c_str(), final.c_str()) != 0) {
    int errnum = errno;
    if (errnum != EEXIST && errnum != ENOTEMPTY)
      return fileError(final, "store the job", errnum);
    // Another search may have been faster: its job is this one.
    if (llvm::sys::fs::exists(final + "/job.json"))
      return llvm::Error::success();
    return llvm::createStringError(
        final + ": stands in the way of a job and holds no job.json; remove "
                "the folder");
  }
  return syncDirectory(options.directory);
}

llvm::Expected<std::unique_ptr<Evaluator>>
fastk::createSpool(SpoolOptions options) {
  auto spool = std::make_unique<Spool>(std::move(options));
  if (llvm::Error error = spool->prepare())
    return std::move(error);
  return spool;
}
