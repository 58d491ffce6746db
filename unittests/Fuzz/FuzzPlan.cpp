//===- FuzzPlan.cpp - Launch plans from anywhere --------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FuzzTargets.h"
#include "fastk/Protocol/LaunchPlan.h"

using namespace fastk::fuzz;
using namespace fastk::worker;

static void fuzzPlanOf(std::string_view data, PlanOf whose) {
  std::string error;
  std::optional<LaunchPlan> plan = parseLaunchPlan(data, error, whose);
  if (!plan) {
    if (error.empty())
      fail("a refused plan has a reason");
    return;
  }
  for (const std::string &problem : verifyLaunchPlan(
           *plan, {int64_t(1) << 40, 4096, 4}, {1 << 20, 4096}, {}, whose))
    if (problem.empty())
      fail("a broken rule has a sentence");
  std::string text = toJSON(*plan);
  std::optional<LaunchPlan> again = parseLaunchPlan(text, error, whose);
  if (!again)
    fail("a plan that was written can be read", error + "\n" + text);
  if (std::string twice = toJSON(*again); twice != text)
    fail("a plan is the same after a round trip", text + "\n" + twice);
}

void fastk::fuzz::fuzzPlan(std::string_view data) {
  fuzzPlanOf(data, PlanOf::Program);
  fuzzPlanOf(data, PlanOf::Model);
}
