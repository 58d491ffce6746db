//===- WritePrompts.cpp - From a request to prompts -----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WritePrompts.h"
#include "Facts.h"
#include "ReadReply.h"
#include "WorkloadText.h"
#include "fastk/Analysis/WorkloadKind.h"
#include "fastk/Propose/Parameters.h"
#include "fastk/Protocol/Contract.h"
#include "fastk/System/AvailableMemory.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace llvm;
using namespace fastk;

/// Bytes that the long parts of a prompt may take.
static constexpr size_t kMaxPatternBytes = 8000, kMaxLoopBytes = 8000,
                        kMaxReasonBytes = 6000, kMaxUnreadableBytes = 12000;
/// Of what is known of other workloads.
static constexpr size_t kMaxKnown = 10, kMaxKnownBytes = 600;
/// Lines of the history: the first ones and the last ones.
static constexpr size_t kFirstIdeas = 20, kLastIdeas = 40;

const TriedVariant *llm::findTried(const ProposalContext &context,
                                   StringRef digest) {
  if (digest.empty())
    return nullptr;
  for (ArrayRef<TriedVariant> list : {context.parents, context.history})
    for (const TriedVariant &tried : list)
      if (digestOf(tried.variant) == digest)
        return &tried;
  return nullptr;
}

llm::PromptWriter::PromptWriter(const PromptTemplates &templates,
                                const ProposalContext &context,
                                const LLMProposerOptions &options,
                                const FamilyTask *task)
    : templates(templates), context(context), options(options), task(task),
      language(promptLanguageOf(options.writing, context.target)) {
  StringRef arch = context.target.target;
  if (arch.consume_front("cuda:"))
    gpu = describeDevice(arch.str());
}

std::string llm::PromptWriter::nameOf(StringRef rest) const {
  LoweringOp workload = context.workload;
  std::string name = workload.getKey().take_front(8).str();
  if (options.idPrefix != "llm")
    name += "-" + options.idPrefix;
  name += formatv("-round-{0}-{1}", context.round, rest).str();
  for (char &c : name)
    if (!isAlnum(c) && c != '-' && c != '.' && c != '_')
      c = '-';
  return name;
}

std::vector<std::string> llm::PromptWriter::labels() const {
  std::vector<std::string> labels;
  for (size_t i = 0; i < context.parents.size(); ++i)
    labels.push_back("P" + std::to_string(i + 1));
  return labels;
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

/// As memories inside of chips are told: "60 MiB", "32 KiB".
static std::string binary(int64_t bytes) {
  return bytes >= (1 << 20) ? formatv("{0} MiB", bytes >> 20).str()
                            : formatv("{0} KiB", bytes >> 10).str();
}

static std::string tera(double rate) {
  return formatv("{0:f1}", rate / 1e12).str();
}

static std::string showOperations(double flops) {
  return flops >= 1e9 ? formatv("{0:f2} GFLOP", flops / 1e9).str()
                      : formatv("{0:f3} MFLOP", flops / 1e6).str();
}

std::string llm::PromptWriter::device() const {
  const TargetDescription &target = context.target;
  std::string text;
  if (isCuda()) {
    text = target.model.empty() ? "GPU" : target.model;
    text += ", " + target.target.substr(target.target.find(':') + 1);
    if (gpu)
      text += formatv(
          ": {0} multiprocessors, L2 {1}; each multiprocessor: {2} KiB shared "
          "memory ({3} KiB a block with opt-in), {4} registers, {5} threads, "
          "{6} blocks",
          gpu->multiprocessors, binary(gpu->l2Bytes),
          gpu->sharedBytesPerMultiprocessor >> 10,
          gpu->sharedBytesPerBlockOptIn >> 10, gpu->registersPerMultiprocessor,
          gpu->threadsPerMultiprocessor, gpu->blocksPerMultiprocessor);
    text += formatv(".\nPeaks: memory {0} TB/s; TFLOP/s dense: f32 {1} without "
                    "tensor cores, tf32 {2}, f16 and bf16 {3}",
                    formatv("{0:f2}", target.memoryBytesPerSecond / 1e12).str(),
                    tera(target.f32OpsPerSecond), tera(target.tf32OpsPerSecond),
                    tera(target.f16OpsPerSecond));
    text += ".\n\n" + templates.text("device-cuda").str();
  } else {
    text = formatv(
        "{0}: {1} threads on {2} cores, {3}-byte vectors{4}; caches: "
        "L1 {5} and L2 {6} a core, L3 {7} in all.\nMemory {8} "
        "GB/s; f32 {9} GFLOP/s, all threads together.{10}\n\n",
        target.model.empty() ? "CPU" : target.model, context.threads,
        target.cores, target.vectorBytes, target.hasFma ? " with FMA" : "",
        binary(target.l1Bytes), binary(target.l2Bytes), binary(target.l3Bytes),
        formatv("{0:f1}", target.memoryBytesPerSecond / 1e9).str(),
        formatv("{0:f0}", target.f32OpsPerSecond / 1e9).str(),
        target.instructionSets.empty()
            ? ""
            : "\nInstruction sets beyond the baseline's: " +
                  target.instructionSets + ".");
    text += templates.text("device-host");
  }
  return text;
}

std::string llm::PromptWriter::workload() const {
  std::string loops = describeLoops(context.workload);
  if (loops.size() > kMaxLoopBytes)
    loops =
        StringRef(loops).take_front(kMaxLoopBytes).rsplit('\n').first.str() +
        "\n... (cut: see the IR)\n";
  std::string kernels = language.showsFunction
                            ? describeKernels(context.workload)
                            : std::string();
  return describeKind(context.features) + "\n\nBuffers:\n" +
         describeBuffers(context.workload, context.features) +
         "\nWhat is computed, as loops (names t1, t2, ... are tensors that "
         "need "
         "not exist in memory; how it is computed is free):\n\n```text\n" +
         loops + "```\n\n" +
         (language.showsFunction
              ? "The same as MLIR, which is what counts, and to this function "
                "a schedule is applied:\n\n```mlir\n" +
                    printFunction(context.workload, kMaxPatternBytes)
              : "The same as MLIR, which is what counts:\n\n```mlir\n" +
                    printPattern(context.workload, kMaxPatternBytes)) +
         "```\n" +
         (kernels.empty() ? ""
                          : "\nWithout a schedule the compiler makes these "
                            "kernels of it, with these numbers:\n\n" +
                                kernels) +
         (task ? "\nThe header that the compiler writes for it:\n\n" +
                     fenced("cuda", families::headerOf(task->core))
               : "");
}

/// Whether `a` is faster, as the search ranks: against the default lowering in
/// the same evaluation, since evaluations on another day may all be slower.
static bool isFaster(const TriedVariant &a, const TriedVariant &b) {
  if (a.baselineSeconds > 0 && b.baselineSeconds > 0)
    return a.baselineSeconds / a.seconds > b.baselineSeconds / b.seconds;
  return a.seconds < b.seconds;
}

std::string llm::PromptWriter::standing() const {
  const Roofline &roofline = context.roofline;
  const TargetDescription &target = context.target;
  RooflinePrecision precision = toRoofline(context.acceptedPrecision);
  double memory = roofline.memorySeconds(target, roofline.timedCaches(target));
  double compute = roofline.computeSeconds(target, precision);
  std::string text = formatv(
      "- Compulsory memory traffic: {0} read, {1} written, {2} at the peak of "
      "memory. Operations: {3}, {4} at the peak of what this precision "
      "class allows. So it is bound by {5}; {6:f1} operations a byte.\n",
      showBytes(double(roofline.readBytes)),
      showBytes(double(roofline.writtenBytes)), showSeconds(memory),
      showOperations(roofline.ops.flops()), showSeconds(compute),
      memory >= compute ? "memory" : "arithmetic", roofline.intensity());
  if (context.floorSeconds > 0)
    text += "- Floor, the time that no kernel can beat: " +
            showSeconds(context.floorSeconds) +
            ". The search ends at 95 % of its speed.\n";
  if (context.baselineSeconds > 0) {
    text += "- Default lowering (the compiler's own kernels), the baseline: " +
            showSeconds(context.baselineSeconds);
    if (context.floorSeconds > 0)
      text += formatv(", {0:f1} times the floor",
                      context.baselineSeconds / context.floorSeconds);
    text += ".\n";
  } else {
    text += "- The default lowering (the compiler's own kernels) is the "
            "baseline; it has not been timed yet.\n";
  }
  const TriedVariant *best = nullptr;
  for (const TriedVariant &tried : context.history)
    if (tried.status == "ok" && tried.seconds > 0 &&
        (!best || isFaster(tried, *best)))
      best = &tried;
  if (best) {
    text += "- Best so far: " + showSeconds(best->seconds);
    if (context.floorSeconds > 0)
      text += formatv(", {0:f2} times the floor",
                      best->seconds / context.floorSeconds);
    text += ", by the idea \"" + cleanLine(best->idea.title, 100) + "\".\n";
  }
  return text;
}

namespace {
/// All that was tried of one idea.
struct IdeaOutcome {
  const Idea *idea = nullptr;
  std::string id;
  int round = 0, programs = 0;
  const TriedVariant *best = nullptr;
  /// Of the last one that failed.
  std::string failure;
};
} // namespace

std::string llm::PromptWriter::history() const {
  std::vector<IdeaOutcome> outcomes;
  for (const TriedVariant &tried : context.history) {
    auto found = llvm::find_if(outcomes, [&](const IdeaOutcome &each) {
      return each.id == tried.variant.ideaId;
    });
    if (found == outcomes.end()) {
      IdeaOutcome outcome;
      outcome.idea = &tried.idea;
      outcome.id = tried.variant.ideaId;
      outcome.round = tried.round;
      outcomes.push_back(std::move(outcome));
      found = std::prev(outcomes.end());
    }
    ++found->programs;
    if (tried.seconds > 0 && (tried.status == "ok" || tried.status == "slow")) {
      if (!found->best || isFaster(tried, *found->best))
        found->best = &tried;
    } else if (tried.status != "ok") {
      found->failure = tried.status + ": " + cleanLine(tried.reason, 110);
    }
  }
  if (outcomes.empty())
    return "Nothing yet.\n";
  std::string text = "Idea [category], round: the fastest of its programs that "
                     "were right, or why none was.\n\n";
  size_t count = outcomes.size();
  for (auto [index, each] : llvm::enumerate(outcomes)) {
    if (count > kFirstIdeas + kLastIdeas && index >= kFirstIdeas &&
        index < count - kLastIdeas) {
      if (index == kFirstIdeas)
        text += formatv("- ({0} more)\n", count - kFirstIdeas - kLastIdeas);
      continue;
    }
    text += formatv(
        "- {0} [{1}], round {2}: ",
        cleanLine(each.idea->title.empty() ? each.id : each.idea->title, 90),
        stringify(each.idea->category), each.round);
    if (each.best) {
      text += showSeconds(each.best->seconds);
      if (each.best->baselineSeconds > 0)
        text += formatv(" ({0:f2}x the baseline's speed)",
                        each.best->baselineSeconds / each.best->seconds);
    } else {
      text += "failed, " +
              (each.failure.empty() ? std::string("no program") : each.failure);
    }
    if (each.programs > 1)
      text += formatv(", {0} programs", each.programs);
    text += "\n";
  }
  return text;
}

std::string llm::PromptWriter::known() const {
  if (context.known.empty())
    return "";
  std::string text = "# What is known of similar workloads\n\n";
  for (const Idea &idea : context.known.take_front(kMaxKnown))
    text +=
        formatv("- {0} [{1}]: {2}\n", cleanLine(idea.title, 100),
                stringify(idea.category), cleanLine(idea.text, kMaxKnownBytes));
  return text;
}

/// The nearest power of two, as "2^-21".
static std::string power(double value) {
  return formatv("2^{0}", std::lround(std::log2(value))).str();
}

PromptTemplates::Values llm::contractNumbers() {
  namespace contract = worker::contract;
  constexpr double u = 0x1p-24, u64 = 0x1p-53;
  double ieee = contract::ieeeRoundoffs * u;
  return {
      {"ieee", power(ieee)},
      {"ieee_f64", power(contract::ieeeRoundoffs * u64)},
      {"ieee_product", power(contract::productCondition * ieee)},
      {"tf32", power(contract::tf32Operands)},
      {"tf32_product",
       power(contract::productCondition * (ieee + contract::tf32Operands))},
      {"half", formatv("{0:f2}", contract::half).str()},
      {"product_k", formatv("{0:f0}", contract::productCondition).str()},
      {"row_length", std::to_string(contract::rowLength)},
      {"row_share", formatv("{0:f1}", contract::rowShare).str()},
  };
}

/// What a program is, and what one can be: the texts of the language, with what
/// the compiler itself says of it.
std::string llm::PromptWriter::contract(StringRef name) const {
  PromptTemplates::Values values = compilerRules();
  if (name == "contract-schedule")
    values["target"] =
        templates.user(isCuda() ? "schedule-cuda" : "schedule-host", values);
  return templates.user(name, values);
}

/// A part of which a language may have none.
std::string llm::PromptWriter::part(StringRef name) const {
  return name.empty() ? "" : templates.text(name).str();
}

PromptTemplates::Values llm::PromptWriter::common() const {
  StringRef precision = stringifyPrecision(context.acceptedPrecision);
  StringRef repetition =
      context.requireDeterministic ? "repetition-required" : "repetition-free";
  std::string told = contract(language.contract);
  std::string wanted = templates.text(language.ideas).str();
  StringRef reply = language.reply;
  if (task) {
    PromptTemplates::Values core = {{"core", task->core.core},
                                    {"interface", task->interface}};
    told += "\n" + templates.user("contract-family", core);
    wanted = templates.user("ideas-family", core) + "\n" + wanted;
    reply = "reply-family";
  }
  return {
      {"language", wanted},
      {"contract", told},
      {"plan", part(language.plan)},
      {"example", part(language.example)},
      {"prelude", part(language.prelude)},
      {"rules", templates.user("rules", {{"repetition",
                                          templates.text(repetition).str()}})},
      {"failures", templates.text("failures").str()},
      {"reply_format", templates.text(reply).str()},
      {"device", device()},
      {"workload", workload()},
      {"precision",
       templates.user(("precision-" + precision).str(), contractNumbers())},
      {"standing", standing()},
  };
}

//===----------------------------------------------------------------------===//
// Prompts
//===----------------------------------------------------------------------===//

/// Of the reply, in the subset that providers enforce: everything is required,
/// nothing else is allowed.
static std::string ideasSchema(ArrayRef<std::string> labels) {
  auto text = [] { return json::Object{{"type", "string"}}; };
  json::Array categories, parents{"none"};
  for (IdeaCategory category :
       {IdeaCategory::MemoryAccess, IdeaCategory::Latency,
        IdeaCategory::Precision, IdeaCategory::Compute,
        IdeaCategory::Parallelism, IdeaCategory::ControlFlow})
    categories.push_back(stringify(category));
  for (const std::string &label : labels)
    parents.push_back(label);
  json::Object idea{
      {"type", "object"},
      {"properties",
       json::Object{{"title", text()},
                    {"category", json::Object{{"type", "string"},
                                              {"enum", std::move(categories)}}},
                    {"text", text()},
                    {"parent", json::Object{{"type", "string"},
                                            {"enum", std::move(parents)}}},
                    {"expected_gain", text()}}},
      {"required",
       json::Array{"title", "category", "text", "parent", "expected_gain"}},
      {"additionalProperties", false}};
  json::Object schema{
      {"type", "object"},
      {"properties",
       json::Object{{"ideas", json::Object{{"type", "array"},
                                           {"items", std::move(idea)}}}}},
      {"required", json::Array{"ideas"}},
      {"additionalProperties", false}};
  return formatv("{0}", json::Value(std::move(schema))).str();
}

Prompt llm::PromptWriter::ideas(int count) const {
  PromptTemplates::Values values = common();
  values["parents"] = parents();
  values["history"] = history();
  values["known"] = known();
  values["round"] = std::to_string(context.round);
  values["count"] = std::to_string(count);
  Prompt prompt;
  prompt.templates = templates.digest();
  prompt.kind = PromptKind::Ideas;
  prompt.name = nameOf("ideas");
  prompt.system = templates.system("ideas", values);
  prompt.user = templates.user("ideas", values);
  std::vector<std::string> parents = labels();
  if (task)
    append_range(parents, task->labels());
  prompt.schema = ideasSchema(parents);
  prompt.maxOutputTokens = options.ideaTokens;
  return prompt;
}

Prompt llm::PromptWriter::ideasAgain(const Prompt &first, StringRef problem,
                                     StringRef reply) const {
  Prompt prompt = first;
  prompt.name += "-again";
  prompt.user = templates.user(
      "ideas-again", {{"prompt", first.user},
                      {"problem", problem.str()},
                      {"reply", fenced("text", cleanText(reply, 2000))}});
  return prompt;
}

/// How an idea is told to who realises it.
static std::string showIdea(const Idea &idea) {
  return (llm::cleanLine(idea.title, 200) + " [" + stringify(idea.category) +
          "]\n\n" + idea.text + "\n")
      .str();
}

Prompt llm::PromptWriter::variant(const Idea &idea, int sample,
                                  int samples) const {
  PromptTemplates::Values values = common();
  values["idea"] = showIdea(idea);
  values["parent"] = showParent(idea);
  values["task"] = task ? "Write the family: its program, plan and rules.\n"
                        : language.task.str() + "\n";
  if (samples > 1)
    values["task"] +=
        "\n" + templates.user("sample", {{"sample", std::to_string(sample)},
                                         {"samples", std::to_string(samples)}});
  Prompt prompt;
  prompt.templates = templates.digest();
  prompt.kind = PromptKind::Variant;
  StringRef slug = StringRef(idea.id).rsplit('/').second;
  slug.consume_front(std::to_string(context.round) + "-");
  prompt.name = nameOf(formatv("{0}-sample-{1}",
                               slug.empty() ? StringRef(idea.id) : slug, sample)
                           .str());
  prompt.system = templates.system("variant", values);
  prompt.user = templates.user("variant", values);
  prompt.sample = sample - 1;
  prompt.maxOutputTokens = options.programTokens;
  return prompt;
}

Prompt llm::PromptWriter::repair(const FailedVariant &failed) const {
  const TriedVariant &tried = failed.tried;
  PromptTemplates::Values values = common();
  values["idea"] = showIdea(failed.idea);
  bool isUnreadable = !tried.variant.problem.empty();
  values["program"] =
      isUnreadable
          ? "The reply that was to hold it could not be used. It was:\n\n" +
                fenced("text",
                       cleanText(tried.variant.program, kMaxUnreadableBytes))
          : showFailed(tried);
  std::string reason = isUnreadable && tried.reason.empty()
                           ? tried.variant.problem
                           : tried.reason;
  std::string text =
      "Outcome: `" + (isUnreadable ? std::string("unreadable") : tried.status) +
      "`.\n\n" + fenced("text", cleanText(reason, kMaxReasonBytes));
  if (tried.verdict) {
    std::vector<std::string> errors = errorsOf(*tried.verdict, 6);
    if (!errors.empty() && tried.status == "wrong")
      text += "\nErrors by kind of inputs, worst first:\n\n" + bullets(errors);
    if (tried.verdict->gpu && !tried.verdict->gpu->warnings.empty()) {
      std::vector<std::string> warnings;
      for (const std::string &each :
           ArrayRef(tried.verdict->gpu->warnings).take_front(4))
        warnings.push_back(cleanLine(each, 300));
      text += "\nThe compiler warned:\n\n" + bullets(warnings);
    }
  }
  values["diagnostic"] = text;
  values["attempt"] =
      failed.attempt > 0
          ? formatv(" (attempt {0}: it was mended before and still fails, so "
                    "look for another cause)",
                    failed.attempt + 1)
                .str()
          : "";
  Prompt prompt;
  prompt.templates = templates.digest();
  prompt.kind = PromptKind::Repair;
  prompt.name = nameOf("repair-" +
                       StringRef(digestOf(tried.variant)).take_front(12).str());
  prompt.system = templates.system("repair", values);
  prompt.user = templates.user("repair", values);
  prompt.maxOutputTokens = options.programTokens;
  return prompt;
}
