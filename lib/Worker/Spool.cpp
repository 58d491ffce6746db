//===- Spool.cpp - Answers the jobs of a folder ---------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Worker/Spool.h"
#include "Clock.h"
#include "Hash.h"
#include "fastk/Cuda/Driver.h"
#include "fastk/Worker/Worker.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <tuple>
#include <vector>

using namespace fastk;
using namespace fastk::worker;

/// More than this is no job and no program.
static constexpr off_t largestFile = off_t(256) << 20;

namespace {

class File {
public:
  explicit File(int fd) : fd(fd) {}
  ~File() {
    if (fd >= 0)
      close(fd);
  }
  File(const File &) = delete;
  File &operator=(const File &) = delete;
  const int fd;
};

/// A job of the spool.
struct Entry {
  /// The name of its folder, and where that is.
  std::string name, folder;
  /// Equal for jobs that share everything but candidate and incumbent.
  uint64_t workload = 0;
  DeviceKind device = DeviceKind::Host;
};

} // namespace

static std::string errnoText() { return std::strerror(errno); }

static bool readFile(int fd, std::string &text, std::string &error) {
  struct stat info;
  if (fd < 0 || fstat(fd, &info) != 0) {
    error = errnoText();
    return false;
  }
  if (!S_ISREG(info.st_mode) || info.st_size > largestFile) {
    error = "is no file of at most 256 MiB";
    return false;
  }
  text.resize(size_t(info.st_size));
  size_t have = 0;
  while (have < text.size()) {
    ssize_t got = pread(fd, &text[have], text.size() - have, off_t(have));
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0) {
      error = got < 0 ? errnoText() : "was cut short while it was read";
      return false;
    }
    have += size_t(got);
  }
  return true;
}

static bool exists(const std::string &path) {
  return access(path.c_str(), F_OK) == 0;
}

/// Reads the job of a folder, with paths that hold from anywhere.
static std::optional<Job> readJob(const Entry &entry, int fd,
                                  std::string &error) {
  std::string text;
  if (!readFile(fd, text, error)) {
    error = "job.json: " + error;
    return std::nullopt;
  }
  std::optional<Job> job = parseJob(text, error);
  if (!job) {
    error = "job.json: " + error;
    return std::nullopt;
  }
  for (Program *program : {&job->oracle, &job->baseline, &job->candidate,
                           job->incumbent ? &*job->incumbent : nullptr})
    if (program && program->path[0] != '/')
      program->path = entry.folder + "/" + program->path;
  return job;
}

/// Everything that jobs of one workload have in common.
static uint64_t workloadOf(const Job &job) {
  Job common = job;
  common.id.clear();
  common.incumbent.reset();
  common.candidate = {};
  common.validate.competitors = false;
  common.floorNs = 0;
  for (Program *program : {&common.oracle, &common.baseline}) {
    std::string code, ignored;
    File file(open(program->path.c_str(), O_RDONLY | O_CLOEXEC));
    readFile(file.fd, code, ignored);
    program->path = std::to_string(hashBytes(code.data(), code.size()));
  }
  std::string text = toJSON(common);
  return hashBytes(text.data(), text.size());
}

/// The open jobs, those of one workload together.
static bool findJobs(const std::string &folder, std::vector<Entry> &entries,
                     std::string &error) {
  DIR *directory = opendir(folder.c_str());
  if (!directory) {
    error = folder + ": " + errnoText() +
            "; name the folder that a search with --evaluator=spool:DIR wrote";
    return false;
  }
  while (const dirent *found = readdir(directory)) {
    Entry entry;
    entry.name = found->d_name;
    entry.folder = folder + "/" + entry.name;
    if (entry.name.compare(0, 4, "job-") == 0 &&
        exists(entry.folder + "/job.json") &&
        !exists(entry.folder + "/verdict.json"))
      entries.push_back(entry);
  }
  closedir(directory);
  for (Entry &entry : entries) {
    File file(open((entry.folder + "/job.json").c_str(), O_RDONLY | O_CLOEXEC));
    std::string ignored;
    if (std::optional<Job> job = readJob(entry, file.fd, ignored)) {
      entry.workload = workloadOf(*job);
      entry.device = job->device;
    }
  }
  std::sort(entries.begin(), entries.end(), [](const Entry &a, const Entry &b) {
    return std::tie(a.workload, a.name) < std::tie(b.workload, b.name);
  });
  return true;
}

/// Writes the verdict so that it is there whole, also after a power failure, or
/// not at all.
static bool writeVerdict(const Entry &entry, const Verdict &verdict,
                         std::string &error) {
  std::string text = toJSON(verdict) + "\n";
  std::string path = entry.folder + "/verdict.json";
  std::string temporary =
      entry.folder + "/.verdict-" + std::to_string(getpid()) + ".tmp";
  bool ok;
  {
    File file(open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
                   0644));
    size_t done = 0;
    ok = file.fd >= 0;
    while (ok && done < text.size()) {
      ssize_t wrote = write(file.fd, &text[done], text.size() - done);
      ok = wrote > 0 || (wrote < 0 && errno == EINTR);
      done += wrote > 0 ? size_t(wrote) : 0;
    }
    ok = ok && fsync(file.fd) == 0;
  }
  ok = ok && rename(temporary.c_str(), path.c_str()) == 0;
  if (!ok) {
    error = path + ": " + errnoText();
    unlink(temporary.c_str());
    return false;
  }
  File directory(open(entry.folder.c_str(), O_RDONLY | O_CLOEXEC));
  fsync(directory.fd);
  return true;
}

/// What a person wants to see of a verdict while hundreds go by.
static std::string summaryOf(const Verdict &verdict) {
  std::string text(toString(verdict.status));
  if (verdict.timing.candidate && verdict.timing.speedupOverBaseline) {
    char numbers[80];
    snprintf(numbers, sizeof(numbers), " %.4g us, %.3gx",
             verdict.timing.candidate->medianNs * 1e-3,
             verdict.timing.speedupOverBaseline->median);
    return text + numbers;
  }
  if (verdict.status != Status::OK)
    text += ": " + verdict.reason.substr(0, verdict.reason.find('\n'));
  return text;
}

bool fastk::worker::answerSpool(const std::string &folder, std::FILE *progress,
                                std::string &error) {
  std::vector<Entry> entries;
  if (!findJobs(folder, entries, error))
    return false;
  // Without a GPU a job for one stays open: it is no fault of its programs.
  size_t count = entries.size();
  std::string noGpu;
  auto isForGpu = [](const Entry &e) { return e.device == DeviceKind::Cuda; };
  if (std::any_of(entries.begin(), entries.end(), isForGpu) &&
      !cuda::Driver::get(noGpu))
    entries.erase(std::remove_if(entries.begin(), entries.end(), isForGpu),
                  entries.end());
  size_t left = count - entries.size();

  uint64_t begin = clockNs();
  size_t answered = 0, elsewhere = 0;
  for (const Entry &entry : entries) {
    File file(open((entry.folder + "/job.json").c_str(), O_RDONLY | O_CLOEXEC));
    // Whoever holds the lock answers the job; it ends with its process.
    if (file.fd >= 0 && flock(file.fd, LOCK_EX | LOCK_NB) != 0) {
      ++elsewhere;
      continue;
    }
    if (exists(entry.folder + "/verdict.json"))
      continue;
    Verdict verdict;
    std::string problem;
    if (std::optional<Job> job = readJob(entry, file.fd, problem)) {
      verdict = evaluate(*job);
    } else {
      verdict.id = entry.name;
      verdict.reason = problem;
    }
    if (!writeVerdict(entry, verdict, error))
      return false;
    ++answered;
    double minutes = double(clockNs() - begin) / 60e9;
    std::fprintf(progress, "%zu/%zu %s %s (%.3g/min)\n", answered,
                 entries.size(), entry.name.c_str(), summaryOf(verdict).c_str(),
                 double(answered) / std::max(minutes, 1e-9));
    std::fflush(progress);
  }
  // What another worker had begun: answered now, or its worker is gone.
  if (elsewhere > 0) {
    std::fprintf(progress, "waiting for %zu jobs of another worker\n",
                 elsewhere);
    std::fflush(progress);
    for (const Entry &entry : entries) {
      File file(
          open((entry.folder + "/job.json").c_str(), O_RDONLY | O_CLOEXEC));
      while (file.fd >= 0 && flock(file.fd, LOCK_EX) != 0 && errno == EINTR)
        ;
    }
    return answerSpool(folder, progress, error);
  }
  if (left > 0) {
    error = std::to_string(left) +
            " jobs for a GPU stay open: " + noGpu;
    return false;
  }
  std::fprintf(progress, "%zu answered, none open\n", answered);
  return true;
}
