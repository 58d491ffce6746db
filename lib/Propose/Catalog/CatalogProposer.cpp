//===- CatalogProposer.cpp - The ideas of an expert -----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first round proposes the openings that fit the workload, each with
// parameters derived from the caches; later rounds propose refinements of the
// parents. An idea's id is "catalog/NAME", a refinement's
// "catalog/NAME/of/PARENT": the request alone says what it refines. Ideas for
// GPUs are in CudaCatalog.cpp.
//
//===----------------------------------------------------------------------===//

#include "CudaCatalog.h"
#include "Ideas.h"
#include "Schedules.h"
#include "fastk/Analysis/Roofline.h"
#include "fastk/Propose/Proposer.h"
#include "fastk/Target/TargetDescription.h"

#include "llvm/ADT/STLExtras.h"
#include <set>

using namespace fastk;
using namespace fastk::catalog;

namespace {

constexpr llvm::StringLiteral kPrefix = "catalog/";
constexpr llvm::StringLiteral kOf = "/of/";

const CatalogIdea *findIdea(llvm::StringRef name) {
  for (const CatalogIdea &idea : allIdeas())
    if (name == idea.name)
      return &idea;
  return nullptr;
}

/// "catalog/prefetch-panels/of/pack-panels" -> "prefetch-panels",
/// "pack-panels".
std::pair<llvm::StringRef, llvm::StringRef> splitId(llvm::StringRef id) {
  id.consume_front(kPrefix);
  return id.split(kOf);
}

class CatalogProposer : public Proposer {
public:
  llvm::StringRef name() const override { return "catalog"; }
  Languages languages(const TargetDescription &target) const override {
    if (target.target == "host")
      return {Language::schedule, Language::c};
    return {Language::schedule};
  }

  Answer<std::vector<Idea>> proposeIdeas(const ProposalContext &context,
                                         int count) override;
  Answers<std::vector<Variant>> realise(const ProposalContext &context,
                                        llvm::ArrayRef<Idea> ideas,
                                        int count) override;
  llvm::Expected<std::vector<Variant>>
  neighbours(const ProposalContext &context, const Variant &variant,
             int count) override;

private:
  llvm::Expected<std::vector<Variant>>
  realiseOne(const ProposalContext &context, const Idea &idea, int count);

  CudaCatalog cuda;

  static Machine machineOf(const ProposalContext &context) {
    Machine machine = catalog::machineOf(context.target);
    machine.threads = std::max(1, context.threads);
    return machine;
  }

  CKernel emit(const ProposalContext &context, const Parameters &parameters) {
    return emitCKernel(*LoweringOp(context.workload).getPatternBlock(),
                       machineOf(context), parameters, families);
  }

  /// Reads the families of stages, once.
  llvm::Error readFamilies() {
    if (areFamiliesRead)
      return llvm::Error::success();
    llvm::Expected<StageFamilies> shipped = StageFamilies::shipped();
    if (!shipped)
      return shipped.takeError();
    families = std::move(*shipped);
    areFamiliesRead = true;
    return llvm::Error::success();
  }
  StageFamilies families;
  bool areFamiliesRead = false;

  /// Whether a kernel has the parameter, of any of its stages.
  static bool hasParameter(const CKernel &kernel, llvm::StringRef name) {
    return llvm::any_of(kernel.parameters, [&](const auto &each) {
      return llvm::StringRef(each.first) == name ||
             (kernel.values.count(each.first) &&
              llvm::StringRef(each.first).rsplit('_').first == name);
    });
  }
  static bool applies(const CatalogIdea &idea, const CKernel &kernel) {
    if (idea.stage[0] && !llvm::is_contained(kernel.stages, idea.stage))
      return false;
    return !idea.parameter[0] || hasParameter(kernel, idea.parameter);
  }

  /// Programs that were tried or are proposed already, so that none is
  /// evaluated twice.
  struct Seen {
    explicit Seen(const ProposalContext &context) {
      for (const TriedVariant &tried : context.history)
        programs.insert(tried.variant.program);
    }
    bool add(const std::string &program) {
      return programs.insert(program).second;
    }
    std::set<std::string> programs;
  };

  static std::optional<Variant> variantOf(const CKernel &kernel,
                                          llvm::StringRef ideaId, Seen &seen) {
    if (kernel.source.empty() || !seen.add(kernel.source))
      return std::nullopt;
    Variant variant;
    variant.ideaId = ideaId.str();
    variant.language = Language::c;
    variant.program = kernel.source;
    variant.workspaceBytes = kernel.workspaceBytes;
    variant.parameters.insert(kernel.parameters.begin(),
                              kernel.parameters.end());
    return variant;
  }

  static const Variant *findParent(const ProposalContext &context,
                                   llvm::StringRef id) {
    for (llvm::ArrayRef<TriedVariant> list : {context.parents, context.history})
      for (const TriedVariant &tried : list)
        if (llvm::StringRef(tried.variant.ideaId).drop_front(kPrefix.size()) ==
                id &&
            tried.variant.language == Language::c)
          return &tried.variant;
    return nullptr;
  }
};

} // namespace

Answer<std::vector<Idea>>
CatalogProposer::proposeIdeas(const ProposalContext &context, int count) {
  std::vector<Idea> ideas;
  if (context.target.target != "host")
    return cuda.proposeIdeas(context, count);
  if (llvm::Error error = readFamilies())
    return error;
  std::set<std::string> tried;
  // Two refinements in either order are one: the first of them is proposed.
  std::set<std::string> firstPrograms;
  for (const TriedVariant &variant : context.history)
    tried.insert(variant.variant.ideaId);
  auto add = [&](const CatalogIdea &idea, llvm::StringRef parent) {
    std::string id = (kPrefix + idea.name).str();
    if (!parent.empty())
      id += (kOf + parent).str();
    if (int(ideas.size()) >= count || !tried.insert(id).second)
      return;
    // An idea without a realisation is not worth a place in the round.
    Idea proposal{id, idea.category, idea.title, idea.text};
    llvm::Expected<std::vector<Variant>> realised =
        realiseOne(context, proposal, 1);
    if (!realised) {
      llvm::consumeError(realised.takeError());
      return;
    }
    if (!realised->empty() &&
        firstPrograms.insert(realised->front().program).second)
      ideas.push_back(std::move(proposal));
  };
  CKernel plain = emit(context, {});
  if (plain.failure == kNoFamilies)
    return llvm::createStringError(plain.failure);
  bool memoryBound = context.roofline.bound(context.target) == Bound::Memory;
  // Openings first; when they are used up, refinements of the parents, the best
  // parent's first.
  for (bool matching : {true, false})
    for (const CatalogIdea &idea : allIdeas())
      if (idea.opening &&
          (idea.memoryBound == memoryBound || !idea.memoryBound) == matching) {
        if (idea.schedule || (!plain.source.empty() && applies(idea, plain)))
          add(idea, "");
      }
  for (const TriedVariant &parent : context.parents) {
    if (parent.variant.language != Language::c ||
        !llvm::StringRef(parent.variant.ideaId).starts_with(kPrefix))
      continue;
    llvm::StringRef parentId =
        llvm::StringRef(parent.variant.ideaId).drop_front(kPrefix.size());
    // Refinements of refinements, but not of the same idea again.
    CKernel kernel = emit(context, Parameters(parent.variant.parameters.begin(),
                                              parent.variant.parameters.end()));
    if (kernel.source.empty())
      continue;
    for (const CatalogIdea &idea : allIdeas()) {
      bool again = false;
      llvm::SmallVector<llvm::StringRef> chain;
      parentId.split(chain, kOf);
      for (llvm::StringRef link : chain)
        again |= link == idea.name;
      if (!idea.opening && !again && applies(idea, kernel))
        add(idea, parentId);
    }
  }
  return ideas;
}

Answers<std::vector<Variant>>
CatalogProposer::realise(const ProposalContext &context,
                         llvm::ArrayRef<Idea> ideas, int count) {
  std::vector<std::optional<std::vector<Variant>>> answers;
  for (const Idea &idea : ideas) {
    llvm::Expected<std::vector<Variant>> variants =
        realiseOne(context, idea, count);
    if (!variants)
      return variants.takeError();
    answers.push_back(std::move(*variants));
  }
  return answers;
}

llvm::Expected<std::vector<Variant>>
CatalogProposer::realiseOne(const ProposalContext &context, const Idea &idea,
                            int count) {
  if (context.target.target != "host")
    return cuda.realise(context, idea, count);
  if (llvm::Error error = readFamilies())
    return error;
  auto [name, parentId] = splitId(idea.id);
  const CatalogIdea *known = findIdea(name);
  if (!known)
    return llvm::createStringError(
        "the catalog has no idea '" + idea.id +
        "'; it realises only ideas that it proposed itself");
  std::vector<Variant> variants;
  Seen seen(context);
  if (known->schedule) {
    for (const Parameters &settings : known->settings) {
      if (int(variants.size()) >= count)
        break;
      ScheduleProgram schedule =
          emitSchedule(*LoweringOp(context.workload).getPatternBlock(),
                       machineOf(context), settings);
      if (schedule.text.empty() || !seen.add(schedule.text))
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
    seen.add(parent->program);
  }
  for (const Parameters &settings : known->settings) {
    if (int(variants.size()) >= count)
      break;
    Parameters parameters = base;
    for (auto &[key, value] : settings)
      parameters[key] = value;
    if (auto variant = variantOf(emit(context, parameters), idea.id, seen))
      variants.push_back(std::move(*variant));
  }
  return variants;
}

llvm::Expected<std::vector<Variant>>
CatalogProposer::neighbours(const ProposalContext &context,
                            const Variant &variant, int count) {
  if (context.target.target != "host")
    return cuda.neighbours(context, variant, count);
  if (llvm::Error error = readFamilies())
    return error;
  std::vector<Variant> result;
  if (!llvm::StringRef(variant.ideaId).starts_with(kPrefix) ||
      variant.language != Language::c)
    return result;
  Seen seen(context);
  seen.add(variant.program);
  Parameters base(variant.parameters.begin(), variant.parameters.end());
  const CKernel kernel = emit(context, base);
  // One step of each parameter, then the second step of each, ….
  for (size_t step = 0; step < 4; ++step)
    for (auto &[name, value] : base) {
      auto listed = kernel.values.find(name);
      if (listed == kernel.values.end())
        continue;
      std::vector<int64_t> values = neighboursInList(listed->second, value);
      if (step >= values.size())
        continue;
      if (int(result.size()) >= count)
        return result;
      Parameters parameters = base;
      parameters[name] = values[step];
      if (auto next =
              variantOf(emit(context, parameters), variant.ideaId, seen))
        result.push_back(std::move(*next));
    }
  return result;
}

std::unique_ptr<Proposer> fastk::createCatalogProposer() {
  return std::make_unique<CatalogProposer>();
}
