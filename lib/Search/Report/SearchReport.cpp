//===- SearchReport.cpp - What a search found -----------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Search/SearchReport.h"
#include "fastk/Analysis/WorkloadKind.h"
#include "fastk/Propose/Proposer.h"
#include "fastk/Support/OutputPlace.h"
#include "fastk/Support/Sha256.h"
#include "fastk/Target/TargetDescription.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/Format.h"

using namespace llvm;
using namespace fastk;

static std::string percentOf(double part, double whole) {
  if (!(part > 0) || !(whole > 0))
    return "-";
  std::string text;
  raw_string_ostream(text) << format("%.1f", 100 * part / whole);
  return text;
}

static std::string join(const std::map<std::string, int64_t> &parameters) {
  std::string text;
  for (auto &[name, value] : parameters)
    text += (text.empty() ? "" : " ") + name + "=" + std::to_string(value);
  return text;
}

/// "1 evaluation", "2 evaluations".
static std::string counted(int64_t count, StringRef what) {
  return (Twine(count) + " " + what + (count == 1 ? "" : "s")).str();
}

//===----------------------------------------------------------------------===//
// For people
//===----------------------------------------------------------------------===//

static constexpr StringLiteral kPassed = "ok", kSlow = "slow";

/// How slow the variants were that were dropped for it: " (0.31x the default
/// lowering)". Empty where nobody knows.
static std::string howSlow(const SearchResult &result) {
  double best = 0;
  int count = 0;
  for (const TriedVariant &each : result.history) {
    if (each.status != kSlow || !(each.seconds > 0))
      continue;
    ++count;
    // Where it was timed beside the best so far alone, another evaluation has
    // the default lowering's time.
    double baseline = each.baselineSeconds > 0 ? each.baselineSeconds
                                               : result.baselineSeconds;
    best = std::max(best, baseline / each.seconds);
  }
  if (!(best > 0))
    return "";
  std::string text;
  raw_string_ostream(text) << (count > 1 ? " (at best " : " (")
                           << format("%.2fx the default lowering)", best);
  return text;
}

/// Why variants failed: all where nothing passed, else those that a person
/// wrote, who wants to mend them.
static void printFailures(const SearchResult &result, raw_ostream &os) {
  constexpr size_t kShown = 5;
  bool somePassed = any_of(result.history, [](const TriedVariant &each) {
    return each.status == kPassed;
  });
  SmallVector<const TriedVariant *> failures;
  for (const TriedVariant &each : result.history)
    if (!somePassed || (each.status != kPassed && each.status != kSlow &&
                        StringRef(each.variant.ideaId).starts_with("files/")))
      failures.push_back(&each);
  for (const TriedVariant *each : ArrayRef(failures).take_front(kShown))
    os << "    " << each->variant.ideaId << ": " << each->status << ": "
       << each->reason << "\n";
  if (failures.size() > kShown)
    os << "    and " << failures.size() - kShown
       << " more: --report has them all\n";
}

/// What language models said where nothing came of it.
static void printModelFailures(const SearchResult &result, raw_ostream &os) {
  if (result.modelFailures.empty())
    return;
  size_t count = result.modelFailures.size();
  os << "  " << count << " of " << counted(result.models.exchanges, "prompt")
     << (count == 1 ? " has" : " have") << " no usable reply:\n";
  // One thing said of many prompts is said once.
  std::map<std::string, int> said;
  for (const FailedExchange &each : result.modelFailures)
    ++said[each.model + ": " + each.problem];
  constexpr size_t kShown = 5;
  size_t shown = 0;
  for (const auto &[text, times] : said) {
    if (++shown > kShown) {
      os << "    and " << said.size() - kShown
         << " more: --report has them all\n";
      break;
    }
    os << "    " << text;
    if (times > 1)
      os << " (" << times << " times)";
    os << "\n";
  }
}

void fastk::printTrajectory(const SearchResult &result, StringRef title,
                            raw_ostream &os) {
  os << title << "\n";
  std::vector<std::vector<std::string>> rows = {
      {"round", "time", "% of baseline", "% of floor", "precision", "idea"}};
  for (const TrajectoryRow &row : result.trajectory) {
    bool passed = row.seconds > 0;
    std::string idea = row.title;
    if (!row.parameters.empty())
      idea += " (" + join(row.parameters) + ")";
    if (!passed)
      idea = row.round == "0"
                 ? "default lowering, not measured"
                 : "nothing passed of " + std::to_string(row.evaluations) +
                       " evaluated";
    rows.push_back({row.round, formatSeconds(row.seconds),
                    percentOf(row.baselineSeconds, row.seconds),
                    percentOf(result.floorSeconds, row.seconds),
                    passed ? std::string(worker::toString(row.precision)) : "-",
                    idea});
  }
  std::vector<size_t> widths(rows.front().size());
  for (const auto &row : rows)
    for (auto [i, cell] : enumerate(row))
      widths[i] = std::max(widths[i], cell.size());
  for (const auto &row : rows) {
    os << "  ";
    for (auto [i, cell] : enumerate(row)) {
      bool isNumber = i >= 1 && i <= 3;
      bool isLast = i + 1 == row.size();
      if (isNumber)
        os.indent(widths[i] - cell.size());
      os << cell;
      if (!isNumber && !isLast)
        os.indent(widths[i] - cell.size());
      if (!isLast)
        os << "  ";
    }
    os << "\n";
  }
  const SearchCounts &counts = result.counts;
  os << "  baseline: the default lowering, timed beside each variant: rows "
        "compare by %, not by time\n"
        "  floor: the time that no kernel can beat on this machine\n";
  os << "  " << counted(counts.evaluations, "evaluation");
  if (counts.replayed > 0)
    os << " (" << counts.replayed << " from the journal)";
  for (auto &[status, count] : counts.statuses) {
    os << ", " << count << " " << status;
    if (status == kSlow)
      os << howSlow(result);
  }
  if (counts.promotions > 0)
    os << ", " << counted(counts.promotions, "second measurement");
  if (std::string models = formatCosts(result.models); !models.empty())
    os << ", " << models;
  if (counts.duplicates > 0)
    os << ", " << counted(counts.duplicates, "duplicate") << " skipped";
  os << ", " << format("%.0f s", result.answeredSeconds);
  if (result.earlierSeconds > 0)
    os << format(", %.0f s of them in earlier runs", result.earlierSeconds);
  os << "; ended by " << stringify(result.end);
  if (!result.detail.empty())
    os << ": " << result.detail;
  os << "\n";
  printModelFailures(result, os);
  if (!result.winner) {
    // Never slower than the default lowering, and said when it is no faster.
    bool wasEvaluated = any_of(result.history, [](const TriedVariant &each) {
      return each.verdict != nullptr;
    });
    bool isJudged = wasEvaluated && result.end != SearchEnd::Interrupted &&
                    result.end != SearchEnd::Unfit &&
                    result.end != SearchEnd::Unjudged &&
                    result.end != SearchEnd::Unanswered &&
                    result.end != SearchEnd::Disagreement && !result.unproven;
    StringRef staying =
        result.bankHasWinner ? "the bank's winner" : "the default lowering";
    os << "  ";
    if (result.unproven)
      os << "no winner yet, " << staying << " stays meanwhile: ";
    else if (isJudged && !result.bankHasWinner)
      os << "could not beat " << staying << ", which stays: ";
    else
      os << "no winner, " << staying << " stays: ";
    os << result.noWinnerReason
       << (result.unproven && !result.isReplay
               ? "; the same command goes on with it, with more minutes "
                 "where these are spent"
               : "")
       << "\n";
    printFailures(result, os);
    return;
  }
  const worker::TimingReport &timing = result.winner->verdict.timing;
  os << "  winner: " << formatSeconds(timing.candidate->medianNs * 1e-9) << ", "
     << format("%.2fx (%.2f to %.2f)", timing.speedupOverBaseline->median,
               timing.speedupOverBaseline->low,
               timing.speedupOverBaseline->high)
     << " the default lowering, measured a second time on fresh data\n";
  printFailures(result, os);
}

//===----------------------------------------------------------------------===//
// For programs
//===----------------------------------------------------------------------===//

static json::Array trajectoryArray(const SearchResult &result) {
  json::Array rows;
  for (const TrajectoryRow &row : result.trajectory) {
    json::Object parameters;
    for (auto &[name, value] : row.parameters)
      parameters[json::fixUTF8(name)] = value;
    rows.push_back(json::Object{
        {"round", row.round},
        {"seconds", row.seconds},
        {"baseline_seconds", row.baselineSeconds},
        {"precision", std::string(worker::toString(row.precision))},
        {"idea", json::fixUTF8(row.ideaId)},
        {"title", json::fixUTF8(row.title)},
        {"category", row.category},
        {"parameters", std::move(parameters)},
        {"evaluations", row.evaluations}});
  }
  return rows;
}

static json::Array triedArray(const SearchResult &result) {
  json::Array tried;
  for (const TriedVariant &each : result.history) {
    json::Object parameters;
    for (auto &[name, value] : each.variant.parameters)
      parameters[json::fixUTF8(name)] = value;
    tried.push_back(
        json::Object{{"round", each.round},
                     {"idea", json::fixUTF8(each.variant.ideaId)},
                     {"title", json::fixUTF8(each.idea.title)},
                     {"category", stringify(each.idea.category)},
                     {"language", stringifyLanguage(each.variant.language)},
                     {"program", sha256(each.variant.program)},
                     {"parameters", std::move(parameters)},
                     {"status", each.status},
                     {"reason", json::fixUTF8(each.reason)},
                     {"parent", each.variant.parent},
                     {"seconds", each.seconds},
                     {"baseline_seconds", each.baselineSeconds}});
  }
  return tried;
}

static json::Array failuresArray(const SearchResult &result) {
  json::Array failures;
  for (const FailedExchange &each : result.modelFailures)
    failures.push_back(json::Object{{"prompt", json::fixUTF8(each.prompt)},
                                    {"model", json::fixUTF8(each.model)},
                                    {"status", stringify(each.status)},
                                    {"failure", stringify(each.failure)},
                                    {"problem", json::fixUTF8(each.problem)}});
  return failures;
}

static json::Object costs(const SearchResult &result) {
  json::Object statuses;
  for (auto &[status, count] : result.counts.statuses)
    statuses[status] = count;
  const ModelCosts &said = result.models;
  json::Object models{{"exchanges", said.exchanges},
                      {"input_tokens", said.inputTokens},
                      {"cached_tokens", said.cachedTokens},
                      {"output_tokens", said.outputTokens},
                      {"reasoning_tokens", said.reasoningTokens},
                      {"seconds", said.seconds},
                      {"usd", said.usd},
                      {"unpriced", said.unpriced},
                      {"estimated", said.isEstimated}};
  return json::Object{{"evaluations", result.counts.evaluations},
                      {"replayed", result.counts.replayed},
                      {"promotions", result.counts.promotions},
                      {"repairs", result.counts.repairs},
                      {"duplicates", result.counts.duplicates},
                      {"ideas", result.counts.ideas},
                      {"variants", result.counts.variants},
                      {"statuses", std::move(statuses)},
                      {"seconds", result.answeredSeconds},
                      {"models", std::move(models)}};
}

static std::string sharedNames(ArrayRef<Proposer *> proposers) {
  std::string names;
  for (Proposer *proposer : proposers)
    names += (names.empty() ? "" : ",") + sharedProposerName(proposer->name());
  return names;
}

static json::Object optionsObject(const SearchInput &input,
                                  const SearchOptions &options) {
  json::Object object;
  JournalBinding binding = bindingOf(input, options);
  for (const JournalBinding::Values *values :
       {&binding.search, &binding.madeBy, &binding.unused})
    for (const auto &[name, value] : *values)
      object[name] = json::fixUTF8(value);
  object["budget_evaluations"] = options.budget.evaluations;
  object["budget_minutes"] = options.budget.minutes;
  object["budget_tokens"] = options.budget.tokens;
  object["budget_usd"] = options.budget.usd;
  return object;
}

static std::string render(json::Object object) {
  std::string text;
  raw_string_ostream os(text);
  json::OStream(os, /*IndentSize=*/2).value(std::move(object));
  os << "\n";
  return text;
}

std::string fastk::trajectoryJson(const SearchInput &input,
                                  const SearchOptions &options,
                                  const SearchResult &result) {
  // It goes where the bank goes.
  json::Object search = optionsObject(input, options);
  search["proposer"] = json::fixUTF8(sharedNames(input.proposers));
  return render(json::Object{{"format", 1},
                             {"search", std::move(search)},
                             {"floor_seconds", result.floorSeconds},
                             {"baseline_seconds", result.baselineSeconds},
                             {"trajectory", trajectoryArray(result)},
                             {"tried", triedArray(result)},
                             {"costs", costs(result)},
                             {"end", stringify(result.end)}});
}

json::Object fastk::reportJson(const SearchInput &input,
                               const SearchOptions &options,
                               const SearchResult &result) {
  LoweringOp workload = input.workload.workload;
  json::Object object{{"name", json::fixUTF8(input.workload.features.name)},
                      {"key", workload.getKey()},
                      {"shapes", describeShapes(workload)},
                      {"target", workload.getTarget()},
                      {"search", optionsObject(input, options)},
                      {"floor_seconds", result.floorSeconds},
                      {"baseline_seconds", result.baselineSeconds},
                      {"trajectory", trajectoryArray(result)},
                      {"verdicts", triedArray(result)},
                      {"model_failures", failuresArray(result)},
                      {"costs", costs(result)},
                      {"end", stringify(result.end)},
                      {"end_detail", json::fixUTF8(result.detail)}};
  if (!result.winner) {
    object["winner"] = nullptr;
    object["no_winner_reason"] = json::fixUTF8(result.noWinnerReason);
    if (result.unproven)
      object["unproven"] =
          json::Object{{"title", json::fixUTF8(result.unproven->title)},
                       {"speedup", result.unproven->speedup},
                       {"why", json::fixUTF8(result.unproven->why)}};
    return object;
  }
  const FoundWinner &winner = *result.winner;
  json::Object found{{"idea", json::fixUTF8(winner.idea.id)},
                     {"title", json::fixUTF8(winner.idea.title)},
                     {"category", stringify(winner.idea.category)},
                     {"text", json::fixUTF8(winner.idea.text)},
                     {"language", stringifyLanguage(winner.variant.language)},
                     {"program", sha256(winner.variant.program)},
                     {"precision", stringifyPrecision(winner.precision)}};
  // The worker's own words, whole.
  if (Expected<json::Value> verdict =
          json::parse(worker::toJSON(winner.verdict)))
    found["verdict"] = std::move(*verdict);
  else
    consumeError(verdict.takeError());
  object["winner"] = std::move(found);
  return object;
}

Error fastk::writeReport(StringRef path, json::Array workloads) {
  return writeOutput(path,
                     render(json::Object{{"format", 1},
                                         {"fastk_version", FASTK_VERSION},
                                         {"workloads", std::move(workloads)}}));
}

//===----------------------------------------------------------------------===//
// For the bank
//===----------------------------------------------------------------------===//

WinnerRecord fastk::winnerRecord(const SearchInput &input,
                                 const SearchOptions &options,
                                 const SearchResult &result) {
  const FoundWinner &winner = *result.winner;
  const worker::TimingReport &timing = winner.verdict.timing;
  WinnerRecord record;
  record.name = input.workload.features.name;
  record.shapes = describeShapes(input.workload.workload);
  record.ideaId = winner.idea.id;
  record.category = stringify(winner.idea.category).str();
  record.title = winner.idea.title;
  record.text = winner.idea.text;
  record.machine = input.workload.target.model;
  // Of a GPU the model says it all.
  if (input.workload.target.target == "host") {
    record.cpu = input.recording ? input.recording->cpu : hostCpu();
    record.threads = timing.threads;
  }
  record.medianNs = timing.candidate->medianNs;
  record.p10Ns = timing.candidate->p10Ns;
  record.p90Ns = timing.candidate->p90Ns;
  record.samples = timing.candidate->samples;
  if (timing.baseline)
    record.baselineNs = timing.baseline->medianNs;
  record.speedup = timing.speedupOverBaseline->median;
  record.speedupLow = timing.speedupOverBaseline->low;
  record.speedupHigh = timing.speedupOverBaseline->high;
  record.floorNs = result.floorSeconds * 1e9;
  for (const worker::TrialError &error : winner.verdict.errors) {
    double &worst = record.errors[error.distribution];
    worst = std::max(worst, error.maxNormalized);
    record.worstShare = std::max(record.worstShare, error.share.value_or(0));
  }
  record.bitwiseDeterministic = winner.verdict.audit.bitwiseDeterministic;
  record.parameters = winner.variant.parameters;
  record.mlirVersion = LLVM_VERSION_STRING;
  record.fastkVersion = FASTK_VERSION;
  record.seed = static_cast<int64_t>(options.seed);
  record.evaluations = result.counts.evaluations;
  record.tokens = result.models.inputTokens + result.models.outputTokens;
  record.usd = result.models.usd;
  if (record.tokens > 0) {
    std::vector<Proposer *> asked;
    copy_if(input.proposers, std::back_inserter(asked),
            [](Proposer *each) { return each->prefersBatching(); });
    record.models = sharedNames(asked);
  }
  return record;
}

mlir::OwningOpRef<mlir::ModuleOp>
fastk::winnerModule(const SearchInput &input, const SearchOptions &options,
                    const SearchResult &result) {
  const FoundWinner &winner = *result.winner;
  LoweringOp workload = input.workload.workload;
  return buildWinner(workload, winner.variant.language, winner.variant.program,
                     winner.variant.workspaceBytes, workload.getTarget(),
                     winner.precision, winnerRecord(input, options, result),
                     winner.variant.plan ? &*winner.variant.plan : nullptr);
}
