//===- GpuNeighbours.cpp - Who else is on the GPU -------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GpuNeighbours.h"
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <unistd.h>

using namespace fastk::worker;

/// The parent of a process, 0 for the first ones; -1 where there is no such
/// process.
static pid_t parentOf(pid_t process) {
  std::ifstream stat("/proc/" + std::to_string(process) + "/stat");
  std::string line;
  if (!std::getline(stat, line))
    return -1;
  // A name may have blanks and brackets; what follows the last has not.
  size_t end = line.rfind(')');
  char state = 0;
  int parent = 0;
  if (end == std::string::npos ||
      sscanf(line.c_str() + end + 1, " %c %d", &state, &parent) != 2)
    return -1;
  return parent;
}

/// Whether `descendant` was started by `ancestor`, or by one that it started.
static bool isDescendant(pid_t descendant, pid_t ancestor) {
  constexpr int deepest = 64;
  for (int i = 0; i < deepest && descendant > 0; ++i) {
    if (descendant == ancestor)
      return true;
    descendant = parentOf(descendant);
  }
  return false;
}

std::vector<pid_t>
fastk::worker::strangersAmong(const std::vector<pid_t> &processes) {
  pid_t self = getpid();
  std::vector<pid_t> strangers;
  if (std::find(processes.begin(), processes.end(), self) == processes.end())
    return strangers;
  for (pid_t process : processes)
    if (parentOf(process) >= 0 && !isDescendant(process, self) &&
        !isDescendant(self, process))
      strangers.push_back(process);
  return strangers;
}

std::string fastk::worker::describeProcess(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/comm");
  std::string name;
  std::getline(file, name);
  // A process chooses its own name.
  for (char &c : name)
    if (static_cast<unsigned char>(c) < 32 ||
        static_cast<unsigned char>(c) > 126)
      c = '?';
  return (name.empty() ? "a process" : name) + " (process " +
         std::to_string(process) + ")";
}
