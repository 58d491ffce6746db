//===- OpenJobs.cpp - The jobs that nobody has answered -------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpenJobs.h"
#include "SpoolJob.h"
#include <algorithm>
#include <cstdlib>
#include <tuple>
#include <utility>

using namespace fastk::worker;
namespace fs = std::filesystem;

/// An idle worker costs a file server no more than a look in so long.
static constexpr std::chrono::milliseconds kLongestWait{30'000};

/// How often all jobs are looked at, also those that were answered.
static constexpr std::chrono::seconds kWholePause{60};

/// Names end in digits of a hash, which deal the jobs out evenly.
static unsigned shareOf(const std::string &name, unsigned shares) {
  constexpr size_t kDigits = 6;
  std::string end = name.substr(name.size() - std::min(kDigits, name.size()));
  return unsigned(std::strtoul(end.c_str(), nullptr, 16)) % shares;
}

/// The name of a workload is a hash, as a number.
static unsigned workloadShareOf(const std::string &workload, unsigned shares) {
  return unsigned(std::strtoull(workload.c_str(), nullptr, 10) % shares);
}

std::error_code OpenJobs::refresh() {
  std::error_code error;
  std::set<std::string> before = std::exchange(seen, {});
  bool isFirst = lastWhole == Clock::time_point();
  if (Clock::now() - lastWhole >= kWholePause) {
    lastWhole = Clock::now();
    before.clear();
  }
  for (fs::directory_iterator at(root, error), end; !error && at != end;
       at.increment(error)) {
    std::string name = at->path().filename().string();
    if (name.rfind("job-", 0) != 0)
      continue;
    if (before.count(name)) {
      seen.insert(std::move(name));
      continue;
    }
    std::error_code none;
    // Renamed into place it has one; if it has none yet it may get it.
    if (!fs::exists(at->path() / "job.json", none))
      continue;
    seen.insert(name);
    if (isAnswered(at->path())) {
      answered += isFirst;
      continue;
    }
    auto [found, isNew] = open.try_emplace(at->path());
    if (!isNew)
      continue;
    Open &job = found->second;
    job.workload = workloadOf(at->path());
    if (!job.workload.empty() && workloadShareOf(job.workload, shares) == share)
      job.whose = Open::OwnWorkload;
    else if (shareOf(name, shares) == share)
      job.whose = Open::OwnShare;
  }
  if (error)
    seen.insert(before.begin(), before.end());
  return error;
}

std::vector<fs::path> OpenJobs::inOrder() const {
  std::vector<fs::path> order;
  for (const auto &[path, job] : open)
    order.push_back(path);
  auto rank = [this](const fs::path &path) {
    const Open &job = open.at(path);
    return std::tuple(!job.workload.empty(), job.whose,
                      std::string_view(job.workload),
                      std::string_view(path.native()));
  };
  std::sort(
      order.begin(), order.end(),
      [&](const fs::path &a, const fs::path &b) { return rank(a) < rank(b); });
  return order;
}

void OpenJobs::putOff(const fs::path &path) {
  auto found = open.find(path);
  if (found == open.end())
    return;
  Open &job = found->second;
  job.notBefore = Clock::now() + job.wait;
  job.wait = std::min(2 * job.wait, kLongestWait);
}

bool OpenJobs::isPutOff(const fs::path &path) const {
  auto found = open.find(path);
  return found != open.end() && Clock::now() < found->second.notBefore;
}
