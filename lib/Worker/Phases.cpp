//===- Phases.cpp - Where the seconds of an evaluation go -----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Phases.h"
#include "Clock.h"
#include <algorithm>

using namespace fastk::worker;

static thread_local PhaseLog *current = nullptr;

static size_t indexOf(std::vector<PhaseTime> &phases, const char *name) {
  auto at =
      std::find_if(phases.begin(), phases.end(),
                   [&](const PhaseTime &phase) { return phase.name == name; });
  if (at == phases.end())
    at = phases.insert(at, {name, 0, 0, false});
  return size_t(at - phases.begin());
}

PhaseLog::PhaseLog() : mark(clockNs()), outer(current) {
  phases.push_back({"other", 0, 1, false});
  open.push_back(0);
  current = this;
}

PhaseLog::~PhaseLog() { current = outer; }

/// What has passed belongs to the innermost phase.
void PhaseLog::spend() {
  uint64_t now = clockNs();
  phases[open.back()].seconds += double(now - mark) * 1e-9;
  mark = now;
}

std::vector<PhaseTime> PhaseLog::take() {
  spend();
  std::vector<PhaseTime> all = phases;
  all.insert(all.end(), beside.begin(), beside.end());
  return all;
}

Phase::Phase(const char *name) : log(current) {
  if (!log)
    return;
  log->spend();
  log->open.push_back(indexOf(log->phases, name));
  ++log->phases[log->open.back()].count;
}

Phase::~Phase() {
  if (!log)
    return;
  log->spend();
  log->open.pop_back();
}

void Phase::wasSpentOn(const char *name, double seconds) {
  if (!current)
    return;
  current->spend();
  size_t index = indexOf(current->phases, name);
  ++current->phases[index].count;
  current->phases[index].seconds += seconds;
  current->phases[current->open.back()].seconds -= seconds;
}

void Phase::wasSpentBeside(const char *name, double seconds) {
  if (!current)
    return;
  PhaseTime &phase = current->beside[indexOf(current->beside, name)];
  phase.isBeside = true;
  ++phase.count;
  phase.seconds += seconds;
}
