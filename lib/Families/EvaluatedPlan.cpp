//===- EvaluatedPlan.cpp - What a program is run with ---------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/EvaluatedPlan.h"
#include "fastk/Dialect/Fastk/PlanRegion.h"

using namespace llvm;
using namespace fastk;
using families::EvaluatedPlan;

/// Whether the workspace of a plan that can be evaluated is an expression.
static bool isExpression(StringRef plan) {
  std::string problem;
  std::optional<json::Value> value = families::parseUntrusted(plan, problem);
  const json::Object *object = value ? value->getAsObject() : nullptr;
  return object && object->getString("workspace_bytes");
}

std::optional<EvaluatedPlan> families::evaluatePlan(Language language,
                                                    StringRef text,
                                                    const Names &names,
                                                    std::string &problem) {
  EvaluatedPlan plan;
  if (hasLaunchPlan(language)) {
    plan.launches = makePlan(text, names, problem);
    if (!plan.launches)
      return std::nullopt;
    plan.hasExpressions = hasExpressions(text);
    return plan;
  }
  if (text.trim().empty())
    return plan;
  std::optional<int64_t> bytes = makeWorkspace(text, names, problem);
  if (!bytes)
    return std::nullopt;
  plan.workspaceBytes = *bytes;
  plan.hasExpressions = isExpression(text);
  return plan;
}
