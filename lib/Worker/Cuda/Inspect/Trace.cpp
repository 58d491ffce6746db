//===- Trace.cpp - Three clocks that must tell one story ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Trace.h"
#include "Timing/Statistics.h"
#include <algorithm>
#include <cstdio>
#include <map>

using namespace fastk::worker;

double fastk::worker::spanNs(const TracedCall &call) {
  uint64_t first = ~uint64_t(0), last = 0;
  for (const Activity &activity : call.activities) {
    first = std::min(first, activity.start);
    last = std::max(last, activity.end);
  }
  return last > first ? double(last - first) : 0;
}

double fastk::worker::busyNs(const TracedCall &call) {
  std::vector<std::pair<uint64_t, uint64_t>> intervals;
  for (const Activity &activity : call.activities)
    intervals.push_back({activity.start, activity.end});
  std::sort(intervals.begin(), intervals.end());
  uint64_t busy = 0, until = 0;
  for (auto [start, end] : intervals) {
    busy += end > until ? end - std::max(start, until) : 0;
    until = std::max(until, end);
  }
  return double(busy);
}

static double median(const std::vector<TracedCall> &calls,
                     double (*of)(const TracedCall &)) {
  std::vector<double> values;
  for (const TracedCall &call : calls)
    values.push_back(of(call));
  return values.empty() ? 0 : quantile(values, 0.5);
}

/// "kernel a 2 times, ..."
static std::string listOf(const std::map<std::string, int64_t> &counts) {
  std::string text;
  for (const auto &[name, count] : counts) {
    if (text.size() > 200)
      return text + ", ...";
    text += (text.empty() ? "" : ", ") + name.substr(0, 60) + " " +
            std::to_string(count) + " times";
  }
  return text.empty() ? "nothing" : text;
}

/// What the plan launches, and nothing else, has to be what ran.
static std::string checkLaunches(const LaunchPlan &plan,
                                 const TracedCall &call) {
  std::map<std::string, int64_t> planned, seen;
  size_t memsets = 0, seenMemsets = 0;
  for (const Workspace &workspace : plan.workspaces)
    memsets += workspace.zero;
  for (const PlanStep &step : plan.steps)
    if (const auto *launch = std::get_if<Launch>(&step))
      ++planned[launch->kernel];
    else
      ++memsets;
  for (const Activity &activity : call.activities)
    if (activity.isKernel)
      ++seen[activity.name];
    else
      ++seenMemsets;
  if (planned != seen)
    return " ran other kernels than its plan launches: CUPTI saw " +
           listOf(seen) + ", the plan has " + listOf(planned);
  if (seenMemsets > memsets)
    return " ran " + std::to_string(seenMemsets) + " memsets, its plan has " +
           std::to_string(memsets);
  return "";
}

std::string fastk::worker::distrustTrace(const TracedProgram &program,
                                         const TracedProgram &trusted,
                                         double handshakeNs) {
  for (const TracedCall &call : program.calls)
    if (std::string why = checkLaunches(program.plan, call); !why.empty())
      return why;
  char text[240];
  auto gap = [](const TracedCall &call) { return call.eventNs - spanNs(call); };
  auto hostGap = [](const TracedCall &call) {
    return call.hostNs - call.eventNs;
  };
  // Clocks of one device tick together within a percent; a step of one is a
  // microsecond at most.
  constexpr double stepNs = 2e3;
  double span = median(program.calls, spanNs);
  double ours = median(program.calls, gap), theirs = median(trusted.calls, gap);
  if (ours < -(stepNs + 0.02 * span)) {
    snprintf(text, sizeof(text),
             " was at work for %.4g us by CUPTI, its events show %.4g us less",
             span * 1e-3, -ours * 1e-3);
    return text;
  }
  double allowed =
      3 * std::max(theirs, 0.0) + 2 * handshakeNs + 20e3 + 0.05 * span;
  if (ours > allowed) {
    snprintf(text, sizeof(text),
             "'s events show %.4g us more than CUPTI saw it at work (%.4g us "
             "allowed)",
             ours * 1e-3, allowed * 1e-3);
    return text;
  }
  ours = median(program.calls, hostGap),
  theirs = median(trusted.calls, hostGap);
  allowed = 3 * std::max(theirs, 0.0) + 10 * handshakeNs + 200e3;
  if (ours > allowed) {
    snprintf(text, sizeof(text),
             " kept the device busy for %.4g us after its last event while "
             "CUPTI watched (%.4g us allowed)",
             ours * 1e-3, allowed * 1e-3);
    return text;
  }
  // What was reported may not be much less than what CUPTI sees; the clocks of
  // the GPU may be lower here, then they are for the trusted program, too.
  double busy = median(program.calls, busyNs);
  double slower =
      trusted.timedNs > 0
          ? std::max(1.0, median(trusted.calls, busyNs) / trusted.timedNs)
          : 1.0;
  if (busy > 1.5 * slower * program.timedNs + handshakeNs + 5 * stepNs) {
    snprintf(text, sizeof(text),
             " takes %.4g us by CUPTI, %.4g us when it was timed", busy * 1e-3,
             program.timedNs * 1e-3);
    return text;
  }
  return "";
}
