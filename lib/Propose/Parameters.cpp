//===- Parameters.cpp - Variants of other numbers -------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Propose/Parameters.h"
#include "fastk/Dialect/Fastk/PlanRegion.h"
#include "fastk/Families/EvaluatedPlan.h"
#include "fastk/Families/Family.h"
#include "fastk/Target/TargetDescription.h"
#include "llvm/ADT/STLExtras.h"
#include <set>

using namespace llvm;
using namespace fastk;
using namespace fastk::families;

/// Steps from a value that are tried at most.
static constexpr int kMaxSteps = 32;

Variant fastk::makeVariant(Language language, StringRef program,
                           StringRef plan) {
  Variant variant;
  variant.language = language;
  variant.program = withoutTemplate(program);
  ProgramNumbers numbers = readNumbers(variant.program);
  for (const TunedParameter &parameter : numbers.tuned)
    variant.parameters[parameter.name] = parameter.value;
  std::optional<EvaluatedPlan> evaluated =
      evaluatePlan(language, plan, numbers.names, variant.problem);
  if (!evaluated)
    return variant;
  variant.plan = std::move(evaluated->launches);
  variant.workspaceBytes = evaluated->workspaceBytes;
  if (evaluated->hasExpressions)
    variant.program = withTemplate(variant.program, plan);
  return variant;
}

/// The variant with one number changed; nothing when it cannot be.
static std::optional<Variant> changed(const Variant &variant, StringRef name,
                                      int64_t value) {
  Variant next = variant;
  next.program = families::withValue(variant.program, name, value);
  next.parent = digestOf(variant);
  families::ProgramNumbers numbers = families::readNumbers(next.program);
  next.parameters.clear();
  for (const families::TunedParameter &parameter : numbers.tuned)
    next.parameters[parameter.name] = parameter.value;
  std::string plan = families::templateOf(next.program), problem;
  if (plan.empty())
    return next;
  std::optional<EvaluatedPlan> evaluated =
      evaluatePlan(next.language, plan, numbers.names, problem);
  if (!evaluated)
    return std::nullopt;
  next.plan = std::move(evaluated->launches);
  next.workspaceBytes = evaluated->workspaceBytes;
  return next;
}

std::vector<Variant> fastk::neighboursOf(const Variant &variant,
                                         ArrayRef<std::string> tried, int count,
                                         const PlanCheck *check) {
  std::vector<Variant> result;
  if (!variant.problem.empty())
    return result;
  ProgramNumbers numbers = readNumbers(variant.program);
  const std::optional<Family> family = familyIn(variant.program);
  std::set<std::string> seen(tried.begin(), tried.end());
  seen.insert(digestOf(variant));
  // One step of each number, then two, ...
  for (int step = 1; step < kMaxSteps; ++step)
    for (const TunedParameter &parameter : numbers.tuned) {
      int at = llvm::find(parameter.values, parameter.value) -
               parameter.values.begin();
      for (int to : {at - step, at + step}) {
        if (static_cast<int>(result.size()) >= count)
          return result;
        if (to < 0 || to >= static_cast<int>(parameter.values.size()))
          continue;
        std::optional<Variant> next =
            changed(variant, parameter.name, parameter.values[to]);
        if (!next || !seen.insert(digestOf(*next)).second)
          continue;
        if (family && !isLegal(*family, next->program))
          continue;
        if (check && next->plan &&
            !worker::verifyLaunchPlan(*next->plan, check->inputBytes,
                                      check->outputBytes, check->limits)
                 .empty())
          continue;
        result.push_back(std::move(*next));
      }
    }
  return result;
}

std::vector<Variant> fastk::neighboursOf(const ProposalContext &context,
                                         const Variant &variant, int count) {
  std::vector<std::string> tried;
  for (const TriedVariant &each : context.history)
    tried.push_back(digestOf(each.variant));
  LoweringOp workload = context.workload;
  mlir::FunctionType type = workload.getWorkloadType();
  std::optional<PlanCheck> check;
  if (std::optional<worker::PlanLimits> limits =
          planLimitsOf(context.target.target))
    check = {bufferBytes(type.getInputs()), bufferBytes(type.getResults()),
             *limits};
  return neighboursOf(variant, tried, count, check ? &*check : nullptr);
}
