//===- Spool.cpp - Answer a folder of jobs --------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Spool.h"
#include "fastk/Cuda/QueryDevice.h"
#include "fastk/Worker/Worker.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <unistd.h>
#include <vector>

using namespace fastk::worker;
namespace fs = std::filesystem;

static bool complain(const fs::path &path, const std::string &problem) {
  fprintf(stderr, "fastk-worker: error: %s: %s\n", path.c_str(),
          problem.c_str());
  return false;
}

/// Written beside its place, flushed to the disk, then moved there.
static bool writeWhole(const fs::path &path, const std::string &text) {
  std::string temporary = path.string() + ".tmp-" + std::to_string(getpid());
  int fd =
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  size_t done = 0;
  while (fd >= 0 && done < text.size()) {
    ssize_t count = write(fd, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      break;
    done += size_t(count);
  }
  bool ok = fd >= 0 && done == text.size() && fsync(fd) == 0;
  int problem = errno;
  if (fd >= 0)
    ok &= close(fd) == 0;
  if (ok && rename(temporary.c_str(), path.c_str()) == 0)
    return true;
  problem = ok ? errno : problem;
  unlink(temporary.c_str());
  return complain(path, std::string("cannot write: ") + strerror(problem) +
                            "; the other verdicts are safe, make room and run "
                            "the same command again");
}

/// Why this machine cannot answer a job; empty when it can. Such a job is left
/// for a machine that can: an answer would be taken for the candidate's.
static std::string unableToRun(const Job &job) {
  if (job.device != DeviceKind::Cuda)
    return "";
  static fastk::DeviceDescription device;
  static const std::string problem = fastk::cuda::queryCudaDevice(device);
  if (!problem.empty())
    return problem;
  if (!job.gpu.empty() && job.gpu != device.model)
    return "is for " + job.gpu + ", the GPU here is " + device.model +
           "; answer it on such a machine, or search for this one with "
           "--target=cuda";
  return "";
}

/// One job. \p status receives the verdict's.
static bool answer(const fs::path &folder, std::string &status) {
  fs::path path = folder / "job.json";
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  if (!file)
    return complain(path, "cannot be read");
  std::string error;
  std::optional<Job> job = parseJob(text, error);
  if (!job)
    return complain(path, error);
  if (std::string why = unableToRun(*job); !why.empty())
    return complain(path, why);
  auto resolve = [&](Program &program) {
    if (!program.path.empty())
      program.path = (folder / program.path).lexically_normal().string();
  };
  resolve(job->oracle);
  resolve(job->baseline);
  resolve(job->candidate);
  if (job->incumbent)
    resolve(*job->incumbent);
  Verdict verdict = evaluate(*job);
  status = std::string(toString(verdict.status)) + ": " + verdict.reason;
  return writeWhole(folder / "verdict.json", toJSON(verdict) + "\n");
}

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
  std::sort(jobs.begin(), jobs.end());
  fprintf(stderr, "fastk-worker: %zu jobs to answer, %zu answered before\n",
          jobs.size(), answered);
  auto start = std::chrono::steady_clock::now();
  size_t done = 0, failed = 0;
  for (const fs::path &folder : jobs) {
    std::string status;
    failed += !answer(folder, status);
    ++done;
    double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
            .count();
    fprintf(stderr, "[%zu/%zu, %.1f s, %.1f a minute] %s %s\n", done,
            jobs.size(), seconds, 60 * double(done) / seconds,
            folder.filename().c_str(), status.c_str());
  }
  fprintf(stderr, "fastk-worker: %zu answered, %zu not\n", done - failed,
          failed);
  return failed ? 1 : 0;
}
