//===- FamilyProposer.cpp - Instances of families -------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An idea is a family and a place in the order of its instances, which begins
// with those that it expects to be fastest: so a first round tries the families
// side by side, and the numeric sweep goes on from the best.
//
//===----------------------------------------------------------------------===//

#include "fastk/Dialect/Fastk/PlanRegion.h"
#include "fastk/Families/Family.h"
#include "fastk/Propose/Cores.h"
#include "fastk/Propose/Parameters.h"
#include "fastk/Propose/Proposer.h"
#include "fastk/Support/ShippedFolder.h"
#include "fastk/Target/TargetDescription.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace fastk;
using families::Family;
using families::Instance;

/// Ideas of one family for one workload.
static constexpr size_t kIdeasOfFamily = 8;

namespace {
class FamilyProposer : public Proposer {
public:
  FamilyProposer(std::string name, std::vector<Family> families)
      : shownName(std::move(name)), families(std::move(families)) {}

  StringRef name() const override { return shownName; }
  Languages languages(const TargetDescription &target) const override {
    return {target.target == "host" ? Language::c : Language::cuda};
  }
  bool wantsAllTried() const override { return true; }

  Answer<std::vector<Idea>> proposeIdeas(const ProposalContext &context,
                                         int count) override {
    std::vector<Idea> ideas;
    std::vector<families::CoreInstance> cores = coresOf(context);
    if (cores.empty())
      return ideas;
    std::vector<size_t> instances;
    for (const Family &family : families) {
      std::string why;
      instances.push_back(
          family.isFor(context.target.target)
              ? families::instantiate(family, cores, kIdeasOfFamily, why).size()
              : 0);
    }
    // Side by side: the first choices of all before the second ones.
    for (size_t place = 1; place <= kIdeasOfFamily; ++place)
      for (auto [family, most] : zip_equal(families, instances)) {
        Idea idea = ideaOf(family, place);
        bool isTried = any_of(context.history, [&](const TriedVariant &each) {
          return each.variant.ideaId == idea.id;
        });
        if (static_cast<int>(ideas.size()) < count && !isTried && place <= most)
          ideas.push_back(std::move(idea));
      }
    return ideas;
  }

  Answers<std::vector<Variant>> realise(const ProposalContext &context,
                                        ArrayRef<Idea> ideas,
                                        int count) override {
    std::vector<families::CoreInstance> cores = coresOf(context);
    std::vector<std::optional<std::vector<Variant>>> answers(
        ideas.size(), std::vector<Variant>());
    for (const Family &family : families) {
      bool isAsked = any_of(
          ideas, [&](const Idea &idea) { return placeOf(family, idea.id); });
      if (cores.empty() || !isAsked)
        continue;
      std::string why;
      std::vector<Instance> ranked =
          families::instantiate(family, cores, kIdeasOfFamily * count, why);
      for (auto [idea, variants] : zip_equal(ideas, answers))
        if (std::optional<size_t> place = placeOf(family, idea.id))
          for (const Instance &instance : instancesAt(ranked, *place, count)) {
            variants->push_back(makeVariant(
                family.language(), families::withFamily(instance, family),
                instance.plan));
            variants->back().ideaId = idea.id;
          }
    }
    return answers;
  }

  Expected<std::vector<Variant>> neighbours(const ProposalContext &context,
                                            const Variant &variant,
                                            int count) override {
    return neighboursOf(context, variant, count);
  }

private:
  static Idea ideaOf(const Family &family, size_t place) {
    Idea idea;
    idea.id = "families/" + family.name + "-" + std::to_string(place);
    idea.category =
        parseIdeaCategory(family.category).value_or(IdeaCategory::Compute);
    idea.title = family.title;
    if (place > 1)
      idea.title += ", choices " + std::to_string(place);
    idea.text = family.text;
    return idea;
  }

  /// Which idea of the family has that name, from 1; nothing: none.
  static std::optional<size_t> placeOf(const Family &family, StringRef id) {
    size_t place = 0;
    if (!id.consume_front("families/" + family.name + "-") ||
        id.getAsInteger(10, place) || place < 1 || place > kIdeasOfFamily)
      return std::nullopt;
    return place;
  }

  /// Those of the idea at `place`, of `count` for each idea.
  static ArrayRef<Instance> instancesAt(ArrayRef<Instance> ranked, size_t place,
                                        size_t count) {
    size_t first = std::min((place - 1) * count, ranked.size());
    return ranked.slice(first, std::min(count, ranked.size() - first));
  }

  std::string shownName;
  std::vector<Family> families;
};
} // namespace

Expected<std::unique_ptr<Proposer>>
fastk::createFamilyProposer(StringRef directory) {
  std::string folder = directory.empty()
                           ? shippedFolder("families").value_or("families")
                           : directory.str();
  Expected<std::vector<Family>> families = families::readFamilies(folder);
  if (!families)
    return families.takeError();
  return std::make_unique<FamilyProposer>(
      directory.empty() ? "families" : "families:" + directory.str(),
      std::move(*families));
}
