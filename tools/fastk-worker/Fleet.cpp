//===- Fleet.cpp - A worker for each GPU ----------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fleet.h"
#include "fastk/Cuda/QueryDevice.h"
#include "fastk/System/EndingSignals.h"
#include "fastk/System/EventLog.h"
#include "fastk/System/SpawnProcess.h"
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

using namespace fastk::worker;
using Clock = std::chrono::steady_clock;

/// A worker that dies sooner than this says something of its GPU, and so many
/// such deaths in a row are enough.
static constexpr std::chrono::seconds kSoon{30};
static constexpr int kMostSoonDeaths = 5;
/// Before a worker is started again, doubled with every soon death.
static constexpr std::chrono::milliseconds kShortestPause{500};
/// Far more than a machine has.
static constexpr size_t kMostGpus = 64;
/// What workers get to end in once they are told to.
static constexpr std::chrono::seconds kPatience{10};

static volatile sig_atomic_t endingSignal = 0;

namespace {
struct Member {
  /// "gpu 1", and what the process is to see.
  std::string name, visible;
  unsigned share = 0;
  pid_t pid = -1;
  /// The end of its stderr that is read here, and an unfinished line.
  int output = -1;
  std::string line = {};
  Clock::time_point started = {}, startsAt = {};
  int soonDeaths = 0;
  bool isOver = false;
};

class Fleet {
public:
  Fleet(const SpoolCommand &command, std::vector<Member> members)
      : command(command), members(std::move(members)),
        log(command.spool.logsJSON) {}
  int run();

private:
  void start(Member &member);
  /// Shows what it says; at its end tells what becomes of it.
  void read(Member &member);
  void show(Member &member, std::string_view text);
  void ended(Member &member);
  void giveUp(Member &member, const std::string &why);
  void endAll();

  const SpoolCommand &command;
  std::vector<Member> members;
  fastk::EventLog log;
  int code = 0;
};
} // namespace

void Fleet::show(Member &member, std::string_view text) {
  member.line += text;
  for (size_t end; (end = member.line.find('\n')) != std::string::npos;) {
    // Its own lines name the GPU, where programs read them.
    if (command.spool.logsJSON && member.line[0] == '{')
      fprintf(stderr, "%s\n", member.line.substr(0, end).c_str());
    else
      log.say("worker", member.name + ": " + member.line.substr(0, end),
              {{"gpu", member.visible}});
    member.line.erase(0, end + 1);
  }
}

void Fleet::giveUp(Member &member, const std::string &why) {
  log.say("gives up", "fastk-worker: error: " + member.name + ": " + why,
          {{"gpu", member.visible}}, /*isError=*/true);
  member.isOver = true;
  code = 1;
}

void Fleet::start(Member &member) {
  fastk::SpawnOptions options;
  options.arguments = {"fastk-worker"};
  std::vector<std::string> arguments =
      workerArguments(command, member.share, unsigned(members.size()));
  options.arguments.insert(options.arguments.end(), arguments.begin(),
                           arguments.end());
  options.environment.emplace();
  for (char **entry = environ; *entry; ++entry)
    if (std::strncmp(*entry, "CUDA_VISIBLE_DEVICES=", 21) != 0)
      options.environment->emplace_back(*entry);
  options.environment->push_back("CUDA_VISIBLE_DEVICES=" + member.visible);
  // It gives its job back then.
  options.parentDeathSignal = SIGTERM;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return giveUp(member, std::strerror(errno));
  options.error = ends[1];
  member.pid = fastk::spawnProcess(options);
  int problem = errno;
  close(ends[1]);
  if (member.pid < 0) {
    close(ends[0]);
    return giveUp(member,
                  "cannot be started: " + std::string(std::strerror(problem)));
  }
  member.output = ends[0];
  member.started = Clock::now();
}

/// "exit code 1", "signal 9 (Killed)".
static std::string describeEnd(int status) {
  if (WIFEXITED(status))
    return "exit code " + std::to_string(WEXITSTATUS(status));
  return "signal " + std::to_string(WTERMSIG(status)) + " (" +
         strsignal(WTERMSIG(status)) + ")";
}

void Fleet::ended(Member &member) {
  close(member.output);
  member.output = -1;
  if (!member.line.empty())
    show(member, "\n");
  int status = fastk::waitForProcess(member.pid);
  member.pid = -1;
  // It came to its end, with or without problems of which it has told.
  if (WIFEXITED(status) && WEXITSTATUS(status) <= 1) {
    code = std::max(code, WEXITSTATUS(status));
    member.isOver = true;
    return;
  }
  if (endingSignal) {
    member.isOver = true;
    return;
  }
  bool isSoon = Clock::now() - member.started < kSoon;
  member.soonDeaths = isSoon ? member.soonDeaths + 1 : 0;
  if (member.soonDeaths >= kMostSoonDeaths)
    return giveUp(member, "its worker ended " +
                              std::to_string(kMostSoonDeaths) +
                              " times within " + std::to_string(kSoon.count()) +
                              " s of its start, the last time by " +
                              describeEnd(status) + "; the GPU is left out");
  auto pause = kShortestPause * (1 << member.soonDeaths);
  log.say("restarts",
          "fastk-worker: " + member.name + ": its worker ended by " +
              describeEnd(status) + "; starts again",
          {{"gpu", member.visible}}, /*isError=*/true);
  member.startsAt = Clock::now() + pause;
}

void Fleet::read(Member &member) {
  char text[4096];
  ssize_t size = ::read(member.output, text, sizeof text);
  if (size > 0)
    return show(member, {text, size_t(size)});
  if (size == 0 || errno != EINTR)
    ended(member);
}

void Fleet::endAll() {
  for (Member &member : members)
    if (member.pid > 0)
      kill(member.pid, SIGTERM);
}

int Fleet::run() {
  std::optional<Clock::time_point> deadline;
  for (;;) {
    if (endingSignal && !deadline) {
      endAll();
      deadline = Clock::now() + kPatience;
    }
    if (deadline && Clock::now() >= *deadline)
      for (Member &member : members)
        if (member.pid > 0)
          kill(-member.pid, SIGKILL);
    std::vector<pollfd> polls;
    std::vector<Member *> polled;
    bool isOver = true;
    for (Member &member : members) {
      if (!member.isOver && member.pid < 0 && !endingSignal &&
          Clock::now() >= member.startsAt)
        start(member);
      if (member.pid > 0) {
        polls.push_back({member.output, POLLIN, 0});
        polled.push_back(&member);
      }
      isOver &= member.isOver || (endingSignal && member.pid < 0);
    }
    if (isOver)
      return endingSignal ? 128 + endingSignal : code;
    constexpr int kMilliseconds = 200;
    if (poll(polls.data(), polls.size(), kMilliseconds) <= 0)
      continue;
    for (size_t i = 0; i < polls.size(); ++i)
      if (polls[i].revents)
        read(*polled[i]);
  }
}

/// What CUDA_VISIBLE_DEVICES calls each GPU that this process sees, in the
/// driver's order.
static std::vector<std::string> visibleGpus(std::string &problem) {
  int count = fastk::cuda::countCudaDevices(problem);
  if (!problem.empty())
    return {};
  std::vector<std::string> names;
  const char *set = std::getenv("CUDA_VISIBLE_DEVICES");
  std::stringstream list(set ? set : "");
  for (std::string name; int(names.size()) < count;)
    names.push_back(
        std::getline(list, name, ',') ? name : std::to_string(names.size()));
  return names;
}

/// A member for each GPU that is wanted.
static std::vector<Member> makeMembers(const SpoolCommand &command,
                                       std::string &problem) {
  const std::string &wanted = command.gpus;
  std::vector<std::string> gpus = visibleGpus(problem);
  // A rehearsal needs none: those that are named are taken for there.
  if (!command.spool.rehearsal.empty() && wanted != "all") {
    problem.clear();
    for (size_t i = gpus.size(); i < kMostGpus; ++i)
      gpus.push_back(std::to_string(i));
  }
  if (!problem.empty())
    return {};
  std::vector<size_t> numbers;
  if (wanted == "all") {
    for (size_t i = 0; i < gpus.size(); ++i)
      numbers.push_back(i);
  } else {
    std::stringstream list(wanted);
    for (std::string number; std::getline(list, number, ',');)
      if (size_t read = std::strtoul(number.c_str(), nullptr, 10);
          std::find(numbers.begin(), numbers.end(), read) == numbers.end())
        numbers.push_back(read);
  }
  std::vector<Member> members;
  for (size_t number : numbers) {
    if (number >= gpus.size()) {
      problem = "there is no GPU " + std::to_string(number) +
                ": this machine has " + std::to_string(gpus.size());
      return {};
    }
    Member member;
    member.name = "gpu " + std::to_string(number);
    member.visible = gpus[number];
    member.share = unsigned(members.size());
    members.push_back(std::move(member));
  }
  if (members.empty())
    problem = "this machine has no GPU";
  return members;
}

int fastk::worker::runFleet(const SpoolCommand &command) {
  std::string problem;
  std::vector<Member> members = makeMembers(command, problem);
  if (!problem.empty()) {
    fprintf(stderr, "fastk-worker: error: --gpus=%s: %s\n",
            command.gpus.c_str(), problem.c_str());
    return 1;
  }
  struct sigaction action = {};
  action.sa_handler = [](int signal) { endingSignal = signal; };
  for (int signal : fastk::endingSignals())
    sigaction(signal, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return Fleet(command, std::move(members)).run();
}
