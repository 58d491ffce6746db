//===- ServeSpool.cpp - Answer the jobs that are named --------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompileAhead.h"
#include "Cuda/Telemetry.h"
#include "SpoolAnswer.h"
#include "SpoolJob.h"
#include "fastk/System/WholeFile.h"
#include "fastk/Worker/Spool.h"
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <optional>
#include <sstream>
#include <sys/prctl.h>
#include <vector>

using namespace fastk::worker;
namespace fs = std::filesystem;

namespace {
class Server {
public:
  explicit Server(const SpoolOptions &options)
      : root(fs::absolute(options.folder)), rehearsal(options.rehearsal) {
    if (rehearsal.empty())
      canary = canaryOfThisGpu(root);
  }
  /// What is said of the first job of \p line, while the candidates of the
  /// others are compiled.
  std::string reply(const std::string &line);

private:
  /// Why \p name is not that of a job.
  static std::string whyNoName(const std::string &name);
  /// Why the GPU takes no job at this moment; empty: it does.
  std::string whyNotNow();
  /// Answers a job. Why it did not; empty: it is answered.
  std::string answer(const fs::path &folder) const;

  fs::path root;
  std::string rehearsal;
  std::optional<Canary> canary;
  /// What the canary told last: it does so once, and each job is told.
  std::string told;
  CompileAhead compiling;
};
} // namespace

std::string Server::whyNotNow() {
  if (!canary)
    return "";
  std::string news;
  bool may = canary->mayWork(news);
  if (!news.empty())
    told = "this GPU " + news;
  if (!may)
    return told;
  std::string neighbours = gpuNeighbours();
  return neighbours.empty() ? "" : "others use this GPU: " + neighbours;
}

std::string Server::answer(const fs::path &folder) const {
  if (isAnswered(folder))
    return "";
  std::string problem;
  std::optional<Verdict> verdict =
      verdictOnJob(folder, rehearsal, /*deaths=*/0, problem);
  if (!verdict)
    return problem;
  std::error_code error =
      fastk::writeFirstFile((folder / "verdict.json").string(),
                            toJSON(*verdict) + "\n", /*flush=*/true);
  return error ? "cannot write its verdict: " + error.message() : "";
}

std::string Server::whyNoName(const std::string &name) {
  if (name.rfind("job-", 0) != 0 || name.find('/') != std::string::npos)
    return "'" + name + "' is not the name of a job";
  return "";
}

std::string Server::reply(const std::string &line) {
  std::istringstream words(line);
  std::string name;
  words >> name;
  if (std::string why = whyNoName(name); !why.empty())
    return "left: " + why;
  std::vector<fs::path> next;
  for (std::string other; words >> other;) {
    if (std::string why = whyNoName(other); !why.empty())
      return "left: " + why;
    next.push_back(root / other);
  }
  // The cache of compiled code is that of all GPUs of this machine: also where
  // this one takes no job.
  if (rehearsal.empty())
    compiling.expect(std::move(next));
  if (std::string why = whyNotNow(); !why.empty())
    return "busy: " + why;
  std::string why = answer(root / name);
  return why.empty() ? "answered" : "left: " + why;
}

int fastk::worker::serveSpool(const SpoolOptions &options) {
  // Nobody asks any more when whoever started this is gone.
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  Server server(options);
  for (std::string names; std::getline(std::cin, names);) {
    std::string line = server.reply(names);
    // One line is one reply.
    std::replace(line.begin(), line.end(), '\n', ' ');
    printf("%s\n", line.c_str());
    if (fflush(stdout) != 0)
      return 1;
  }
  return 0;
}
