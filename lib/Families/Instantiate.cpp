//===- Instantiate.cpp - A family filled in for a workload ----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramState.h"
#include "fastk/Families/Family.h"
#include "fastk/Families/JoinedProgram.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <tuple>

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
  /// Those of the parameters, in their order.
  SmallVector<int64_t> values() const {
    SmallVector<int64_t> values;
    for (auto [parameter, place] : zip_equal(parameters, at))
      values.push_back(parameter.values[place]);
    return values;
  }

private:
  std::vector<TunedParameter> parameters;
  std::vector<size_t> at;
};

/// An expression of a family, read for the names of a program.
struct ReadExpression {
  StringRef text;
  std::optional<Expression> expression;
  std::string problem;

  ReadExpression(StringRef text, NameTable &table) : text(text) {
    expression = Expression::read(text, table, problem);
  }
  std::optional<int64_t> evaluate(const ProgramState &state,
                                  const NameTable &table,
                                  std::string *why) const {
    std::optional<int64_t> value =
        expression ? expression->evaluate(state.values()) : std::nullopt;
    if (!value && why)
      *why =
          quoted(text) +
          (expression ? expression->explain(state.values(), table) : problem);
    return value;
  }
};

/// Rules of a family.
class ReadRules {
public:
  ReadRules(ArrayRef<Family::Rule> rules, NameTable &table) : rules(rules) {
    for (const Family::Rule &rule : rules)
      expressions.emplace_back(rule.expression, table);
  }
  /// The first rule that does not hold, or, if all names are known, cannot be
  /// decided.
  std::optional<std::string> findBroken(const ProgramState &state,
                                        const NameTable &table,
                                        bool needsAll = true) const {
    for (auto [rule, expression] : zip_equal(rules, expressions)) {
      std::string problem;
      std::optional<int64_t> holds =
          expression.evaluate(state, table, needsAll ? &problem : nullptr);
      if (!holds && needsAll)
        return problem;
      if (holds && !*holds)
        return rule.because + " (" + rule.expression + ")";
    }
    return std::nullopt;
  }

private:
  ArrayRef<Family::Rule> rules;
  std::vector<ReadExpression> expressions;
};

/// The estimate of a family.
class ReadCost {
public:
  ReadCost(const Family &family, NameTable &table) {
    for (const Family::CostLine &line : family.cost)
      lines.emplace_back(table.placeOf(line.name),
                         ReadExpression(line.expression, table));
  }
  /// Its lines give names their values in `state`.
  std::optional<int64_t> evaluate(ProgramState &state, const NameTable &table,
                                  std::string &problem) const {
    std::optional<int64_t> value;
    for (const auto &[place, expression] : lines) {
      value = expression.evaluate(state, table, &problem);
      if (!value)
        return std::nullopt;
      state.set(place, *value);
    }
    return value;
  }

private:
  std::vector<std::pair<unsigned, ReadExpression>> lines;
};
} // namespace

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
      << core.text() << "\n";
  return header;
}

namespace {
/// A family's program behind the header of a workload.
class Filling {
public:
  Filling(const Family &family, const CoreInstance &core)
      : family(family), header(families::headerOf(core)),
        helpers(core.host ? machineText(*core.host).size() + core.helperBytes
                          : 0),
        program(header + family.program), definitions(program),
        numbers(readNumbers(program)),
        requirements(family.requirements, definitions.table()),
        legal(family.legal, definitions.table()),
        cost(family, definitions.table()) {
    definitions.fixAllBut(numbers.tuned);
    SmallVector<StringRef> asked;
    for (const auto *rules : {&family.requirements, &family.legal})
      for (const Family::Rule &rule : *rules)
        asked.push_back(rule.expression);
    for (const Family::CostLine &line : family.cost)
      asked.push_back(line.expression);
    definitions.keepFor(asked);
  }

  /// False: the family does not take the workload.
  bool begin(const CoreInstance &core, std::string &why) {
    std::string problem;
    std::optional<json::Value> plan = parseUntrusted(family.plan, problem);
    if (!plan) {
      why = "its plan is " + problem;
      return false;
    }
    nameBuffers(*plan, core);
    raw_string_ostream(planText) << *plan;
    ProgramState state;
    definitions.evaluateInto(state, {});
    auto broken = requirements.findBroken(state, definitions.table());
    if (broken)
      why = *broken;
    return !broken;
  }

  const std::vector<TunedParameter> &tuned() const { return numbers.tuned; }

  struct Ranked {
    /// The cost, and what is told of the values before it.
    int64_t rank = 0, cost = 0;
    Names values;
    bool operator<(const Ranked &other) const {
      return std::tie(rank, cost, values) <
             std::tie(other.rank, other.cost, other.values);
    }
  };
  /// Those combinations of values that the rules allow, the cheapest first, or
  /// by `rank`. Values of `others` are the same in all.
  std::vector<Ranked> rankAll(std::vector<TunedParameter> parameters,
                              const Names &others,
                              function_ref<int64_t(const Names &)> rank,
                              std::string &why) {
    std::vector<Ranked> ranked;
    NameTable &table = definitions.table();
    std::vector<ProgramDefinitions::Placed> placed;
    for (const TunedParameter &each : parameters)
      placed.emplace_back(table.placeOf(each.name), 0);
    for (const auto &[name, value] : others)
      placed.emplace_back(table.placeOf(name), value);
    Combinations combinations(std::move(parameters));
    size_t seen = 0;
    ProgramState known = definitions.fixedState(), state;
    do {
      for (auto [value, of] : zip_first(combinations.values(), placed))
        of.second = value;
      for (const auto &[place, value] : placed)
        known.set(place, value);
      // Most are forbidden by rules that need little to be known.
      if (auto broken = legal.findBroken(known, table, /*needsAll=*/false)) {
        why = *broken;
        continue;
      }
      definitions.evaluateInto(state, placed);
      if (auto broken = legal.findBroken(state, table)) {
        why = *broken;
        continue;
      }
      std::string problem;
      std::optional<int64_t> value = cost.evaluate(state, table, problem);
      if (!value) {
        why = "its cost: " + problem;
        return {};
      }
      Ranked each;
      for (const auto &[place, value] : placed)
        each.values[table.nameAt(place).str()] = value;
      each.cost = *value;
      each.rank = rank(each.values);
      ranked.push_back(std::move(each));
    } while (combinations.next() && ++seen < kMaxCombinations);
    // By their values where costs are equal.
    llvm::sort(ranked);
    return ranked;
  }

  Instance make(const Ranked &choice) const {
    Instance instance{program, planText, choice.cost, header.size(), helpers};
    for (const auto &[name, value] : choice.values)
      instance.program = withValue(instance.program, name, value);
    return instance;
  }

private:
  const Family &family;
  std::string header;
  size_t helpers;
  std::string program, planText;
  ProgramDefinitions definitions;
  ProgramNumbers numbers;
  ReadRules requirements, legal;
  ReadCost cost;
};
} // namespace

static int64_t isAlike(const Names &) { return 0; }

std::vector<Instance> families::instantiate(const Family &family,
                                            const CoreInstance &core,
                                            size_t count, std::string &why) {
  Filling filling(family, core);
  if (!filling.begin(core, why))
    return {};
  std::vector<TunedParameter> chosen;
  for (const TunedParameter &each : filling.tuned())
    if (is_contained(family.chosen, each.name))
      chosen.push_back(each);
  std::vector<Instance> result;
  std::vector<Filling::Ranked> ranked =
      filling.rankAll(std::move(chosen), {}, isAlike, why);
  for (const Filling::Ranked &each : ArrayRef(ranked).take_front(count))
    result.push_back(filling.make(each));
  return result;
}

/// The place of the listed value that is nearest to `value`.
static size_t placeOf(const TunedParameter &parameter, int64_t value) {
  auto nearest = min_element(parameter.values, [&](int64_t a, int64_t b) {
    return std::abs(a - value) < std::abs(b - value);
  });
  return nearest - parameter.values.begin();
}

/// How many steps of their lists values are away from wanted ones.
static int64_t distance(ArrayRef<TunedParameter> parameters,
                        const Names &wanted, const Names &values) {
  int64_t steps = 0;
  for (const TunedParameter &each : parameters)
    if (auto found = wanted.find(each.name); found != wanted.end())
      steps += std::abs(int64_t(placeOf(each, found->second)) -
                        int64_t(placeOf(each, values.at(each.name))));
  return steps;
}

std::optional<Instance> families::instantiateNear(const Family &family,
                                                  const CoreInstance &core,
                                                  const WantedNumbers &wanted,
                                                  std::string &why) {
  Filling filling(family, core);
  if (!filling.begin(core, why))
    return std::nullopt;
  Names values = wanted.others;
  for (const auto &[name, value] : wanted.first)
    values[name] = value;
  // What is wanted as it is; and, in case the rules forbid that, all values.
  std::vector<TunedParameter> asWanted, all;
  Names fixed;
  for (const TunedParameter &each : filling.tuned()) {
    bool isChosen = is_contained(family.chosen, each.name);
    if (isChosen)
      all.push_back(each);
    auto found = values.find(each.name);
    if (found == values.end()) {
      if (isChosen)
        asWanted.push_back(each);
      continue;
    }
    int64_t value = each.values[placeOf(each, found->second)];
    asWanted.push_back(each);
    asWanted.back().values = {value};
    if (!isChosen)
      fixed[each.name] = value;
  }
  std::vector<Filling::Ranked> ranked =
      filling.rankAll(std::move(asWanted), {}, isAlike, why);
  auto steps = [&](const Names &each) {
    // Lists are shorter than that.
    return distance(all, wanted.first, each) * 10000 +
           distance(all, wanted.others, each);
  };
  // Then without those numbers that the cost does not choose.
  for (const Names &kept : {fixed, Names()})
    if (ranked.empty() && !values.empty())
      ranked = filling.rankAll(all, kept, steps, why);
  if (ranked.empty())
    return std::nullopt;
  return filling.make(ranked.front());
}

std::vector<Instance> families::instantiate(const Family &family,
                                            ArrayRef<CoreInstance> cores,
                                            size_t count, std::string &why) {
  // What the first way to see it lacks is what is said.
  std::optional<std::string> reason;
  for (const CoreInstance &core : cores) {
    if (core.core != family.core)
      continue;
    std::string whyNot;
    std::vector<Instance> instances = instantiate(family, core, count, whyNot);
    if (!instances.empty())
      return instances;
    if (!reason)
      reason = whyNot;
  }
  why = reason.value_or("the workload is no " + family.core);
  return {};
}

/// Whether a family serves a workload, and as what.
static std::string explain(const families::Family &family,
                           ArrayRef<CoreInstance> cores) {
  std::string why;
  std::vector<Instance> instances = instantiate(family, cores, 1, why);
  if (instances.empty())
    return " does not serve it: " + why;
  std::string text = " serves it: --search --proposer=families";
  if (family.isForHost() && !families::canJoin(instances.front(), "_1", why))
    text += "; programs of several stages do without it: " + why;
  return text;
}

std::string families::explainFamilies(ArrayRef<Family> families,
                                      mlir::Block &pattern, StringRef target,
                                      const catalog::Machine &machine,
                                      StringRef precision) {
  SmallVector<const Family *> ofTarget;
  for (const Family &family : families)
    if (family.isFor(target))
      ofTarget.push_back(&family);
  if (ofTarget.empty())
    return "";
  std::string why;
  std::vector<CoreInstance> cores =
      findCores(pattern, target, why, machine, precision);
  if (cores.empty())
    return "no family: the workload is none of their cores: " + why + "\n";
  std::string text;
  for (const Family *family : ofTarget)
    text += "family " + family->name + explain(*family, cores) + "\n";
  return text;
}

bool families::isLegal(const Family &family, StringRef program) {
  ProgramDefinitions definitions(program);
  ReadRules legal(family.legal, definitions.table());
  ProgramState state;
  definitions.evaluateInto(state, {});
  return !legal.findBroken(state, definitions.table());
}
