//===- CudaCatalog.cpp - The catalog's part for GPUs ----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compiler is asked which kernels it would make of the workload, and how it
// decided; ideas of those kinds of kernels begin there. Its answer also tells
// which numbers break a rule of the target, so that none of them is evaluated,
// and which make the same kernels as others. Ideas for the kernels that do most
// of the work come first, those that fit what the workload is bound by before
// others of the same kind.
//
//===----------------------------------------------------------------------===//

#include "CudaCatalog.h"
#include "CudaSchedules.h"
#include "fastk/Analysis/Roofline.h"
#include "fastk/Target/TargetDescription.h"
#include "mlir/IR/Diagnostics.h"
#include <set>

using namespace fastk;
using namespace fastk::catalog;

static constexpr llvm::StringLiteral kPrefix = "catalog/";
static constexpr llvm::StringLiteral kOf = "/of/";
/// Kind of the ideas that are schedules of loops.
static constexpr llvm::StringLiteral kLoops = "loops";

/// Kinds of kernels, those that do most of the work first.
static constexpr llvm::StringLiteral kKinds[] = {
    "tensor-core tiles", "scalar tiles",  "rows",   "reduction",
    "vectors",           "shared points", "points", "turn"};

static const CudaIdea *findIdea(llvm::StringRef name) {
  for (const CudaIdea &idea : allCudaIdeas())
    if (name == idea.name)
      return &idea;
  return nullptr;
}

std::string catalog::choiceSchedule(const Parameters &choices) {
  std::string text =
      "// The compiler's own kernels, told how.\n"
      "module attributes {transform.with_named_sequence} {\n"
      "  transform.named_sequence @__fastk_schedule(%func: !transform.any_op "
      "{transform.readonly}) {\n";
  for (auto &[name, value] : choices) {
    text += "    %" + name + " = transform.param.constant " +
            std::to_string(value) + " : i64 -> !transform.param<i64>\n";
    text += "    transform.annotate %func \"" + kChoicePrefix.str() + name +
            "\" = %" + name + " : !transform.any_op, !transform.param<i64>\n";
  }
  return text + "    transform.yield\n  }\n}\n";
}

/// What kernels are, as one text.
static std::string spell(const std::vector<KernelDescription> &kernels) {
  std::string text;
  for (const KernelDescription &kernel : kernels) {
    text += kernel.kind + ":";
    for (auto &[name, value] : kernel.choices)
      text += " " + name + "=" + std::to_string(value);
    text += "\n";
  }
  return text;
}

/// What a kernel of that kind was decided with; null where there is none. The
/// empty kind is any.
static const KernelDescription *
findKind(const std::vector<KernelDescription> &kernels, llvm::StringRef kind) {
  for (const KernelDescription &kernel : kernels)
    if (kind.empty() || kernel.kind == kind)
      return &kernel;
  return nullptr;
}

/// Whether a variant only sets choices, so that ideas can build on it.
static bool setsChoices(const Variant &variant) {
  return variant.language == Language::schedule &&
         llvm::StringRef(variant.ideaId).starts_with(kPrefix) &&
         !variant.parameters.empty() &&
         llvm::all_of(variant.parameters, [](const auto &parameter) {
           return findKernelChoice(parameter.first) != nullptr;
         });
}

/// Programs and kernels that were tried, or are proposed already.
struct CudaCatalog::Seen {
  std::set<std::string> programs, kernels;
};

const std::vector<KernelDescription> *
CudaCatalog::describe(const ProposalContext &context,
                      const Parameters &choices) {
  LoweringOp workload = context.workload;
  auto [entry, isNew] =
      known.insert({{workload.getKey().str() + context.target.target, choices},
                    std::nullopt});
  if (isNew)
    if (std::optional<CudaTarget> target =
            CudaTarget::parse(context.target.target)) {
      // Refusals are answers, not news.
      mlir::ScopedDiagnosticHandler quiet(
          workload.getContext(),
          [](mlir::Diagnostic &) { return mlir::success(); });
      mlir::FailureOr<Kernels> kernels =
          planDeviceKernels(workload, *target, choices);
      if (mlir::succeeded(kernels))
        entry->second = std::move(*kernels);
    }
  return entry->second ? &*entry->second : nullptr;
}

std::optional<Variant> CudaCatalog::variantOf(const ProposalContext &context,
                                              const Parameters &choices,
                                              llvm::StringRef ideaId,
                                              Seen &seen) {
  const Kernels *kernels = describe(context, choices);
  if (!kernels || !seen.kernels.insert(spell(*kernels)).second)
    return std::nullopt;
  Variant variant =
      catalog::variantOf({choiceSchedule(choices), choices}, ideaId);
  if (!seen.programs.insert(variant.program).second)
    return std::nullopt;
  return variant;
}

static const Variant *findParent(const ProposalContext &context,
                                 llvm::StringRef id) {
  for (llvm::ArrayRef<TriedVariant> list : {context.parents, context.history})
    for (const TriedVariant &tried : list)
      if (llvm::StringRef(tried.variant.ideaId).drop_front(kPrefix.size()) ==
              id &&
          setsChoices(tried.variant))
        return &tried.variant;
  return nullptr;
}

std::vector<Idea> CudaCatalog::proposeIdeas(const ProposalContext &context,
                                            int count) {
  std::vector<Idea> ideas;
  const Kernels *plain = describe(context, {});
  if (!plain)
    return ideas;
  std::set<std::string> tried, firsts;
  for (const TriedVariant &variant : context.history)
    tried.insert(variant.variant.ideaId);
  auto add = [&](const CudaIdea &idea, llvm::StringRef parent) {
    std::string id = (kPrefix + idea.name).str();
    if (!parent.empty())
      id += (kOf + parent).str();
    if (int(ideas.size()) >= count || !tried.insert(id).second)
      return;
    // An idea without a realisation is not worth a place in the round.
    Idea proposal{id, idea.category, idea.title, idea.text};
    llvm::Expected<std::vector<Variant>> realised =
        realise(context, proposal, 1);
    if (!realised) {
      llvm::consumeError(realised.takeError());
      return;
    }
    if (realised->empty())
      return;
    // Two ideas may lead to the same kernels: the first one has them.
    const Variant &first = realised->front();
    const Kernels *kernels =
        setsChoices(first)
            ? describe(context, Parameters(first.parameters.begin(),
                                           first.parameters.end()))
            : nullptr;
    if (firsts.insert(kernels ? spell(*kernels) : first.program).second)
      ideas.push_back(std::move(proposal));
  };
  bool memoryBound = context.roofline.bound(context.target) == Bound::Memory;
  auto fitsBound = [&](const CudaIdea &idea) {
    return memoryBound ? idea.category == IdeaCategory::MemoryAccess ||
                             idea.category == IdeaCategory::Latency
                       : idea.category == IdeaCategory::Compute ||
                             idea.category == IdeaCategory::Parallelism;
  };
  // Best fitting first: by kind of kernel, then by what binds the workload.
  std::vector<const CudaIdea *> order;
  auto addKind = [&](llvm::StringRef kind) {
    for (bool fitting : {true, false})
      for (const CudaIdea &idea : allCudaIdeas())
        if (kind == idea.kind && fitsBound(idea) == fitting)
          order.push_back(&idea);
  };
  for (llvm::StringRef kind : kKinds)
    if (findKind(*plain, kind)) {
      addKind(kind);
      // Behind the ideas for the first kind: it is one of many kernels or all.
      if (order.size() && llvm::none_of(order, [](const CudaIdea *idea) {
            return !idea->kind[0];
          }))
        addKind("");
    }
  addKind(kLoops);
  // What refines the best so far, then what has not been tried on its own.
  auto refine = [&](const TriedVariant &parent, bool openings) {
    if (!setsChoices(parent.variant))
      return;
    llvm::StringRef parentId =
        llvm::StringRef(parent.variant.ideaId).drop_front(kPrefix.size());
    llvm::SmallVector<llvm::StringRef> chain;
    parentId.split(chain, kOf);
    for (const CudaIdea *idea : order)
      if (idea->kind != kLoops && idea->opening == openings &&
          !llvm::is_contained(chain, idea->name))
        add(*idea, parentId);
  };
  // Half of a round is for the best parent, as long as there is something new.
  if (!context.parents.empty()) {
    int all = count;
    count = (count + 1) / 2;
    refine(context.parents.front(), /*openings=*/false);
    refine(context.parents.front(), /*openings=*/true);
    count = all;
  }
  for (const CudaIdea *idea : order)
    if (idea->opening)
      add(*idea, "");
  for (const TriedVariant &parent : context.parents) {
    refine(parent, /*openings=*/false);
    refine(parent, /*openings=*/true);
  }
  return ideas;
}

CudaCatalog::Seen CudaCatalog::seenIn(const ProposalContext &context) {
  Seen seen;
  if (const Kernels *plain = describe(context, {}))
    seen.kernels.insert(spell(*plain));
  for (const TriedVariant &tried : context.history) {
    seen.programs.insert(tried.variant.program);
    if (setsChoices(tried.variant))
      if (const Kernels *kernels =
              describe(context, Parameters(tried.variant.parameters.begin(),
                                           tried.variant.parameters.end())))
        seen.kernels.insert(spell(*kernels));
  }
  return seen;
}

llvm::Expected<std::vector<Variant>>
CudaCatalog::realise(const ProposalContext &context, const Idea &idea,
                     int count) {
  llvm::StringRef id = idea.id;
  id.consume_front(kPrefix);
  auto [name, parentId] = id.split(kOf);
  const CudaIdea *known = findIdea(name);
  if (!known || !llvm::StringRef(idea.id).starts_with(kPrefix))
    return llvm::createStringError(
        "the catalog has no idea '" + idea.id +
        "'; it realises only ideas that it proposed itself");
  std::vector<Variant> variants;
  Seen seen = seenIn(context);
  if (known->kind == kLoops) {
    for (const Parameters &settings : known->settings({})) {
      if (int(variants.size()) >= count)
        break;
      ScheduleProgram schedule = emitCudaSchedule(
          *LoweringOp(context.workload).getPatternBlock(), settings);
      if (schedule.text.empty() || !seen.programs.insert(schedule.text).second)
        continue;
      variants.push_back(catalog::variantOf(std::move(schedule), idea.id));
    }
    return variants;
  }
  Parameters base;
  if (!parentId.empty()) {
    const Variant *parent = findParent(context, parentId);
    if (!parent)
      return variants;
    base.insert(parent->parameters.begin(), parent->parameters.end());
  }
  const Kernels *kernels = describe(context, base);
  const KernelDescription *kernel =
      kernels ? findKind(*kernels, known->kind) : nullptr;
  if (!kernel)
    return variants;
  Parameters decided(kernel->choices.begin(), kernel->choices.end());
  for (const Parameters &settings : known->settings(decided)) {
    if (int(variants.size()) >= count)
      break;
    Parameters choices = base;
    for (auto &[key, value] : settings)
      choices[key] = value;
    if (auto variant = variantOf(context, choices, idea.id, seen))
      variants.push_back(std::move(*variant));
  }
  return variants;
}

std::vector<Variant> CudaCatalog::neighbours(const ProposalContext &context,
                                             const Variant &variant,
                                             int count) {
  std::vector<Variant> result;
  if (!setsChoices(variant))
    return result;
  Parameters base(variant.parameters.begin(), variant.parameters.end());
  const Kernels *kernels = describe(context, base);
  if (!kernels)
    return result;
  Seen seen = seenIn(context);
  seen.kernels.insert(spell(*kernels));
  // What the idea has set, then what the model has decided for the kernels that
  // matter most.
  std::vector<std::pair<std::string, int64_t>> numbers(base.begin(),
                                                       base.end());
  for (llvm::StringRef kind : kKinds)
    if (const KernelDescription *kernel = findKind(*kernels, kind)) {
      for (auto &[name, value] : kernel->choices)
        if (!base.count(name))
          numbers.push_back({name, value});
      break;
    }
  // One step of each number, then the second step of each, ….
  for (size_t step = 0; step < 4; ++step)
    for (auto &[name, value] : numbers) {
      std::vector<int64_t> values = neighbouringChoices(name, value);
      if (step >= values.size())
        continue;
      if (int(result.size()) >= count)
        return result;
      Parameters choices = base;
      choices[name] = values[step];
      // Threads of a row and of its block move together where they are one.
      if (name == "row_threads" && base.count("row_block") &&
          base.at("row_block") == value)
        choices["row_block"] = std::max<int64_t>(32, values[step]);
      if (auto next = variantOf(context, choices, variant.ideaId, seen))
        result.push_back(std::move(*next));
    }
  return result;
}
