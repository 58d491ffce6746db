//===- HostLoad.cpp - What else the machine is doing ----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostLoad.h"
#include "Process/ChildRegistry.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <fstream>
#include <sys/resource.h>
#include <unistd.h>

using namespace fastk::worker;

/// The second number of a schedstat file. False where there is none.
static bool readRunDelay(const char *path, uint64_t &delay) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return false;
  char text[96] = {};
  ssize_t got = ::read(fd, text, sizeof(text) - 1);
  close(fd);
  unsigned long long ran = 0, waited = 0;
  if (got <= 0 || sscanf(text, "%llu %llu", &ran, &waited) != 2)
    return false;
  delay = waited;
  return true;
}

RunDelays fastk::worker::runDelaysOf(pid_t process) {
  RunDelays delays;
  char path[96];
  snprintf(path, sizeof(path), "/proc/%d/task", int(process));
  DIR *threads = opendir(path);
  if (!threads)
    return delays;
  while (const dirent *entry = readdir(threads)) {
    int thread = std::atoi(entry->d_name);
    uint64_t delay = 0;
    snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", int(process),
             thread);
    if (thread > 0 && readRunDelay(path, delay))
      delays[thread] = delay;
  }
  closedir(threads);
  return delays;
}

uint64_t fastk::worker::ownRunDelay() {
  uint64_t delay = 0;
  readRunDelay("/proc/thread-self/schedstat", delay);
  return delay;
}

uint64_t fastk::worker::longestWait(const RunDelays &before,
                                    const RunDelays &after) {
  uint64_t longest = 0;
  for (auto [thread, delay] : after) {
    auto earlier = before.find(thread);
    uint64_t from = earlier == before.end() ? 0 : earlier->second;
    longest = std::max(longest, delay > from ? delay - from : 0);
  }
  return longest;
}

/// Processor time of the worker and its children, dead or alive, seconds.
static double ownSeconds() {
  auto seconds = [](const timeval &time) {
    return double(time.tv_sec) + double(time.tv_usec) * 1e-6;
  };
  double sum = 0;
  for (int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    struct rusage usage = {};
    getrusage(who, &usage);
    sum += seconds(usage.ru_utime) + seconds(usage.ru_stime);
  }
  forEachChild([&](pid_t child) {
    clockid_t clock;
    timespec time = {};
    if (clock_getcpuclockid(child, &clock) == 0 &&
        clock_gettime(clock, &time) == 0)
      sum += double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
  });
  return sum;
}

HostLoad::Reading HostLoad::read() {
  Reading reading;
  std::ifstream stat("/proc/stat");
  std::string word;
  if (!(stat >> word) || word != "cpu")
    return reading;
  // user nice system idle iowait irq softirq steal
  double ticks = double(std::max(1L, sysconf(_SC_CLK_TCK)));
  double value = 0;
  for (int i = 0; i < 8 && stat >> value; ++i) {
    reading.total += value / ticks;
    bool isIdle = i == 3 || i == 4;
    if (!isIdle)
      reading.busy += value / ticks;
  }
  reading.own = ownSeconds();
  return reading;
}

HostLoad::HostLoad() : begin(read()) {}

std::string HostLoad::describe() const {
  Reading now = read();
  std::string text;
  char part[120];
  double total = now.total - begin.total;
  // Ticks are 10 ms: of less nothing can be said.
  if (total > 0.2) {
    double others = (now.busy - begin.busy) - (now.own - begin.own);
    snprintf(part, sizeof(part),
             "other programs took %.0f %% of %ld processors",
             100 * std::clamp(others / total, 0.0, 1.0),
             sysconf(_SC_NPROCESSORS_ONLN));
    text = part;
  }
  std::ifstream average("/proc/loadavg");
  double load = 0;
  if (average >> load) {
    snprintf(part, sizeof(part), "%sload average %.1f",
             text.empty() ? "" : ", ", load);
    text += part;
  }
  return text;
}
