//===- Spool.cpp - Answer a folder of jobs --------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Spool.h"
#include "fastk/Cuda/CompileInChild.h"
#include "fastk/Cuda/QueryDevice.h"
#include "fastk/System/WholeFile.h"
#include "fastk/Worker/Worker.h"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sys/file.h>
#include <thread>
#include <tuple>
#include <unistd.h>
#include <vector>

using namespace fastk::worker;
namespace fs = std::filesystem;

/// Threads that compile for jobs to come; few, since a judge is at work.
static constexpr size_t compilers = 3;

static bool complain(const fs::path &path, const std::string &problem) {
  fprintf(stderr, "fastk-worker: error: %s: %s\n", path.c_str(),
          problem.c_str());
  return false;
}

static bool writeVerdict(const fs::path &path, const std::string &text) {
  if (std::error_code error =
          fastk::writeWholeFile(path.string(), text, /*flush=*/true))
    return complain(path, "cannot write: " + error.message() +
                              "; the other verdicts are safe, make room and "
                              "run the same command again");
  return true;
}

/// Why this machine cannot answer a job; empty when it can. Such a job is left
/// for a machine that can: an answer would be taken for the candidate's.
static std::string unableToRun(const Job &job) {
  std::string here;
  if (job.device == DeviceKind::Cuda) {
    static fastk::DeviceDescription device;
    static const std::string problem = fastk::cuda::queryCudaDevice(device);
    if (!problem.empty())
      return problem;
    if (std::string error = checkDevice(job.device); !error.empty())
      return error;
    here = device.model;
  } else {
    static const std::string model = fastk::identifyHost().model;
    here = model;
  }
  if (job.machine.empty() || job.machine == here)
    return "";
  return "is for " + job.machine + ", this is " + here +
         "; answer it on such a machine, or search for this one";
}

static std::string textOf(const fs::path &path, bool &isRead) {
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  isRead = bool(file);
  return text;
}

/// The job of a folder, with paths that hold from anywhere.
static std::optional<Job> readJob(const fs::path &folder, std::string &error) {
  bool isRead = false;
  std::string text = textOf(folder / "job.json", isRead);
  if (!isRead) {
    error = "cannot be read";
    return std::nullopt;
  }
  std::optional<Job> job = parseJob(text, error);
  if (!job)
    return std::nullopt;
  auto resolve = [&](Program &program) {
    if (!program.path.empty())
      program.path = (folder / program.path).lexically_normal().string();
  };
  resolve(job->oracle);
  resolve(job->baseline);
  resolve(job->candidate);
  for (std::optional<Program> *program :
       {&job->incumbent, &job->condition, &job->hostOracle,
        &job->hostCondition})
    if (*program)
      resolve(**program);
  return job;
}

/// One job. \p status receives the verdict's.
static bool answer(const fs::path &folder, std::string &status) {
  std::string error;
  std::optional<Job> job = readJob(folder, error);
  if (!job)
    return complain(folder / "job.json", error);
  if (std::string why = unableToRun(*job); !why.empty())
    return complain(folder / "job.json", why);
  Verdict verdict = evaluate(*job);
  status = std::string(toString(verdict.status)) + ": " + verdict.reason;
  return writeVerdict(folder / "verdict.json", toJSON(verdict) + "\n");
}

/// Equal for jobs that share all but candidate and incumbent: what the worker
/// keeps of one serves the next. Empty for comparisons of oracles, which come
/// first: without their answers a search goes on with none of the others.
static std::string workloadOf(const fs::path &folder) {
  std::string ignored;
  std::optional<Job> job = readJob(folder, ignored);
  if (!job || job->mode == Mode::Compare)
    return "";
  job->id.clear();
  job->incumbent.reset();
  job->candidate = {};
  job->validate.competitors = false;
  job->floorNs = 0;
  std::string code;
  for (Program *program : {&job->oracle, &job->baseline,
                           job->condition ? &*job->condition : &job->oracle}) {
    if (program->path.empty())
      continue;
    bool isRead = false;
    code += textOf(program->path, isRead) + '\0';
    program->path.clear();
  }
  return std::to_string(std::hash<std::string>()(toJSON(*job) + code));
}

/// Compiles what jobs to come are made of while others are judged: the results
/// are in the cache when their turn comes. Errors are found again then.
static void compileAhead(const std::vector<fs::path> &jobs, size_t from,
                         std::atomic<size_t> &turn, std::atomic<bool> &stop) {
  fastk::DeviceDescription device;
  if (!fastk::cuda::queryCudaDevice(device).empty())
    return;
  // Not much further than the judge is: the last compiled is the last evicted.
  constexpr size_t ahead = 64;
  for (size_t i = from; i < jobs.size() && !stop; i += compilers) {
    while (i > turn + ahead && !stop)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::string ignored;
    std::optional<Job> job = readJob(jobs[i], ignored);
    if (!job || job->mode == Mode::Compare || stop)
      continue;
    bool isRead = false;
    fastk::cuda::CompileRequest request;
    request.source = textOf(job->candidate.path, isRead);
    request.arch = device.arch;
    if (isRead && job->candidate.code == Code::CUDA)
      fastk::cuda::compileCached(request);
    if (isRead && job->candidate.code == Code::PTX)
      fastk::cuda::assembleCached({request.source, request.arch});
  }
}

/// A job that this process answers alone, as long as the object lives.
namespace {
class Lock {
public:
  explicit Lock(const fs::path &folder, bool wait = false)
      : fd(::open((folder / "job.json").c_str(), O_RDONLY | O_CLOEXEC)) {
    int how = LOCK_EX | (wait ? 0 : LOCK_NB);
    do
      held = fd < 0 || flock(fd, how) == 0;
    while (!held && errno == EINTR);
  }
  ~Lock() {
    if (fd >= 0)
      close(fd);
  }
  Lock(const Lock &) = delete;
  Lock &operator=(const Lock &) = delete;
  /// False where another worker is at the job.
  bool isHeld() const { return held; }

private:
  int fd;
  bool held = false;
};
} // namespace

int fastk::worker::answerSpool(const std::string &directory) {
  std::error_code ec;
  fs::path root = fs::absolute(directory, ec);
  std::vector<fs::path> jobs;
  size_t answered = 0;
  for (fs::directory_iterator at(root, ec), end; !ec && at != end;
       at.increment(ec)) {
    if (at->path().filename().string().rfind("job-", 0) != 0 ||
        !fs::exists(at->path() / "job.json"))
      continue;
    if (fs::exists(at->path() / "verdict.json"))
      ++answered;
    else
      jobs.push_back(at->path());
  }
  if (ec) {
    complain(root, ec.message() + "; --spool names the folder that fastk-opt "
                                  "--evaluator=spool:DIR wrote");
    return 1;
  }
  std::map<fs::path, std::string> workloads;
  for (const fs::path &folder : jobs)
    workloads[folder] = workloadOf(folder);
  std::sort(jobs.begin(), jobs.end(),
            [&](const fs::path &a, const fs::path &b) {
              return std::tie(workloads[a], a) < std::tie(workloads[b], b);
            });
  fprintf(stderr, "fastk-worker: %zu %s to answer, %zu answered before\n",
          jobs.size(), jobs.size() == 1 ? "job" : "jobs", answered);
  auto start = std::chrono::steady_clock::now();
  size_t done = 0, failed = 0;
  std::atomic<size_t> turn{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> compiling;
  for (size_t i = 0; i < compilers; ++i)
    compiling.emplace_back([&, i] { compileAhead(jobs, i, turn, stop); });
  // What another worker is at is looked at once more in the end: it may have
  // been interrupted.
  std::vector<fs::path> elsewhere;
  auto answerOne = [&](const fs::path &folder) {
    std::string status;
    failed += !answer(folder, status);
    ++done;
    double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
            .count();
    fprintf(stderr, "[%zu/%zu, %.1f s, %.1f a minute] %s %s\n", done,
            jobs.size(), seconds, 60 * double(done) / seconds,
            folder.filename().c_str(), status.c_str());
  };
  for (const fs::path &folder : jobs) {
    ++turn;
    Lock lock(folder);
    if (!lock.isHeld())
      elsewhere.push_back(folder);
    else if (!fs::exists(folder / "verdict.json"))
      answerOne(folder);
  }
  stop = true;
  for (std::thread &thread : compiling)
    thread.join();
  if (!elsewhere.empty())
    fprintf(stderr, "fastk-worker: waiting for %zu jobs of another worker\n",
            elsewhere.size());
  for (const fs::path &folder : elsewhere) {
    Lock lock(folder, /*wait=*/true);
    if (!fs::exists(folder / "verdict.json"))
      answerOne(folder);
  }
  fprintf(stderr, "fastk-worker: %zu answered, %zu not\n", done - failed,
          failed);
  return failed ? 1 : 0;
}
