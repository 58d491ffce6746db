//===- Instantiate.cpp - A family filled in for a workload ----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/Family.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace fastk;
using namespace fastk::families;

/// Combinations of values beyond which no more are looked at.
static constexpr size_t kMaxCombinations = 20000;

/// The plan with the workload's buffers in place of "A", "B", "OUT" and, where
/// arguments are listed, "operands".
static void nameBuffers(json::Value &value, const CoreInstance &core) {
  if (json::Object *object = value.getAsObject()) {
    for (auto &[name, field] : *object)
      if (name != "name" && name != "launch" && name != "when")
        nameBuffers(field, core);
    return;
  }
  if (json::Array *array = value.getAsArray()) {
    json::Array result;
    for (json::Value &entry : *array) {
      if (entry.getAsString() == StringRef("operands")) {
        for (unsigned i = 0; i < core.inputs; ++i)
          result.push_back("in" + std::to_string(i));
        continue;
      }
      nameBuffers(entry, core);
      result.push_back(std::move(entry));
    }
    *array = std::move(result);
    return;
  }
  if (std::optional<StringRef> text = value.getAsString()) {
    auto [buffer, offset] = text->split('+');
    auto found = core.buffers.find(buffer.trim().str());
    if (found != core.buffers.end())
      value = found->second + (offset.empty() ? "" : "+" + offset.str());
  }
}

namespace {
/// One after the other all combinations of values.
class Combinations {
public:
  Combinations(std::vector<TunedParameter> parameters)
      : parameters(std::move(parameters)), at(this->parameters.size(), 0) {}

  bool next() {
    for (size_t i = 0; i < at.size(); ++i) {
      if (++at[i] < parameters[i].values.size())
        return true;
      at[i] = 0;
    }
    return false;
  }
  Names values() const {
    Names names;
    for (auto [parameter, place] : zip_equal(parameters, at))
      names[parameter.name] = parameter.values[place];
    return names;
  }

private:
  std::vector<TunedParameter> parameters;
  std::vector<size_t> at;
};
} // namespace

/// The first rule that does not hold, or cannot be decided.
static std::optional<std::string> findBroken(ArrayRef<Family::Rule> rules,
                                             const Names &names) {
  for (const Family::Rule &rule : rules) {
    std::string problem;
    std::optional<int64_t> holds =
        evaluateExpression(rule.expression, names, problem);
    if (!holds)
      return problem;
    if (!*holds)
      return rule.because + " (" + rule.expression + ")";
  }
  return std::nullopt;
}

static std::optional<int64_t> costOf(const Family &family, Names names,
                                     std::string &problem) {
  std::optional<int64_t> value;
  for (const Family::CostLine &line : family.cost) {
    value = evaluateExpression(line.expression, names, problem);
    if (!value)
      return std::nullopt;
    names[line.name] = *value;
  }
  return value;
}

/// What a C program knows of its machine, and what expressions call.
static std::string machineText(const catalog::Machine &machine) {
  std::string header;
  raw_string_ostream(header)
      << "#define THREADS " << machine.threads << "\n#define VECTOR_BYTES "
      << machine.vectorBytes << "\n#define LANES " << machine.lanes()
      << "\n#define L1_BYTES " << machine.l1Bytes << "\n#define L2_BYTES "
      << machine.l2Bytes << "\n#define L3_BYTES " << machine.l3Bytes
      << "\n#define min(a, b) ((a) < (b) ? (a) : (b))"
         "\n#define max(a, b) ((a) > (b) ? (a) : (b))"
         "\n#define ceildiv(a, b) (((a) + (b) - 1) / (b))\n";
  return header;
}

std::string families::headerOf(const CoreInstance &core) {
  if (core.host)
    return machineText(*core.host) + core.header + "\n";
  std::string header;
  raw_string_ostream(header)
      << "#define MULTIPROCESSORS " << core.multiprocessors
      << "\n#define SHARED_LIMIT " << core.sharedBytes
      << "\n#define ACCEPTS_TF32 " << core.acceptsTF32
      << "\n#define ACCEPTS_HALF " << core.acceptsHalf << "\n"
      << core.header << "\n";
  return header;
}

std::vector<Instance> families::instantiate(const Family &family,
                                            const CoreInstance &core,
                                            size_t count, std::string &why) {
  const std::string header = headerOf(core);
  std::string program = header + family.program;
  std::string problem;
  std::optional<json::Value> plan = parseUntrusted(family.plan, problem);
  if (!plan) {
    why = "its plan is " + problem;
    return {};
  }
  nameBuffers(*plan, core);
  std::string planText;
  raw_string_ostream(planText) << *plan;

  ProgramDefinitions definitions(program);
  if (auto broken = findBroken(family.requirements, definitions.evaluate({}))) {
    why = *broken;
    return {};
  }
  std::vector<TunedParameter> chosen;
  for (const TunedParameter &each : readNumbers(program).tuned)
    if (is_contained(family.chosen, each.name))
      chosen.push_back(each);
  std::vector<std::pair<int64_t, Names>> ranked;
  Combinations combinations(std::move(chosen));
  size_t seen = 0;
  do {
    Names values = combinations.values();
    Names names = definitions.evaluate(values);
    if (auto broken = findBroken(family.legal, names)) {
      why = *broken;
      continue;
    }
    std::optional<int64_t> cost = costOf(family, std::move(names), problem);
    if (!cost) {
      why = "its cost: " + problem;
      return {};
    }
    ranked.emplace_back(*cost, std::move(values));
  } while (combinations.next() && ++seen < kMaxCombinations);
  // By their values where costs are equal.
  llvm::sort(ranked);
  std::vector<Instance> result;
  for (const auto &[cost, values] : ArrayRef(ranked).take_front(count)) {
    Instance instance{program, planText, cost, header.size()};
    for (const auto &[name, value] : values)
      instance.program = withValue(instance.program, name, value);
    result.push_back(std::move(instance));
  }
  return result;
}

std::vector<Instance> families::instantiate(const Family &family,
                                            ArrayRef<CoreInstance> cores,
                                            size_t count, std::string &why) {
  auto core = find_if(cores, [&](const CoreInstance &each) {
    return each.core == family.core;
  });
  if (core == cores.end()) {
    why = "the workload is no " + family.core;
    return {};
  }
  return instantiate(family, *core, count, why);
}

std::string families::explainFamilies(ArrayRef<Family> families,
                                      mlir::Block &pattern, StringRef target,
                                      const catalog::Machine &machine) {
  SmallVector<const Family *> ofTarget;
  for (const Family &family : families)
    if (family.isFor(target))
      ofTarget.push_back(&family);
  if (ofTarget.empty())
    return "";
  std::string why;
  std::vector<CoreInstance> cores = findCores(pattern, target, why, machine);
  if (cores.empty())
    return "no family: the workload is none of their cores: " + why + "\n";
  std::string text;
  for (const Family *family : ofTarget)
    text += "family " + family->name +
            (instantiate(*family, cores, 1, why).empty()
                 ? " does not serve it: " + why
                 : " serves it: --search --proposer=families") +
            "\n";
  return text;
}

bool families::isLegal(const Family &family, StringRef program) {
  return !findBroken(family.legal, ProgramDefinitions(program).evaluate({}));
}
