//===- KnownIdeas.cpp - What a bank knows of similar workloads ------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Search/KnownIdeas.h"
#include "fastk/Search/Progress.h"
#include "fastk/Support/DurableFile.h"
#include "fastk/Support/Nesting.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include <cmath>
#include <fcntl.h>

using namespace llvm;
using namespace fastk;

/// Far above what a search writes; a bound for a stray file.
static constexpr size_t kFileLimit = size_t(64) << 20;

/// "host", "cuda".
static StringRef familyOf(StringRef target) { return target.split(':').first; }

static Idea wonIdea(const BankEntry &entry, const WinnerRecord &record) {
  Idea idea;
  idea.id = "bank/" + entry.header->key.substr(0, 8);
  idea.category = parseIdeaCategory(record.category).value_or(idea.category);
  idea.title = record.title;
  raw_string_ostream os(idea.text);
  os << record.text << " (Won on " << record.name << " " << record.shapes
     << ", " << entry.header->target << ": "
     << formatSeconds(record.medianNs * 1e-9) << ", "
     << format("%.2f", record.speedup)
     << " times the default lowering's speed, "
     << format("%.0f", 100 * record.floorNs / record.medianNs)
     << " % of the floor.)";
  return idea;
}

/// The ideas of a trajectory of which no realisation passed, by their last
/// failure.
static void addFailed(const BankEntry &entry, std::vector<Idea> &ideas,
                      size_t limit) {
  std::string path = entry.folder + "/trajectory.json";
  Expected<std::string> text =
      readRegularFile(AT_FDCWD, path, path, kFileLimit);
  if (!text) {
    consumeError(text.takeError());
    return;
  }
  Expected<json::Value> value = parseShallowJSON(*text);
  if (!value) {
    consumeError(value.takeError());
    return;
  }
  const json::Object *object = value->getAsObject();
  const json::Array *tried = object ? object->getArray("tried") : nullptr;
  if (!tried)
    return;
  StringSet<> passed;
  std::vector<std::pair<std::string, Idea>> failed;
  for (const json::Value &each : *tried) {
    const json::Object *variant = each.getAsObject();
    if (!variant)
      continue;
    auto field = [&](StringRef name) {
      return variant->getString(name).value_or("");
    };
    if (variant->getNumber("seconds").value_or(0) > 0) {
      passed.insert(field("idea"));
      continue;
    }
    if (field("title").empty())
      continue;
    Idea idea;
    idea.id = "bank/" + entry.header->key.substr(0, 8) + "/failed/" +
              std::to_string(failed.size());
    idea.category =
        parseIdeaCategory(field("category")).value_or(idea.category);
    idea.title = field("title").str();
    idea.text =
        ("(Failed on " + entry.header->name + " " + entry.header->shapes +
         ": " + field("status") + ": " + field("reason").take_front(200) + ")")
            .str();
    std::string of = field("idea").str();
    auto known = find_if(failed, [&](auto &one) { return one.first == of; });
    if (known != failed.end())
      known->second = std::move(idea);
    else
      failed.emplace_back(of, std::move(idea));
  }
  for (auto &[of, idea] : failed)
    if (ideas.size() < limit && !passed.contains(of))
      ideas.push_back(std::move(idea));
}

std::vector<Idea> fastk::knownIdeas(const BankStack &banks, LoweringOp workload,
                                    StringRef displayName, double floorSeconds,
                                    size_t limit) {
  std::vector<BankEntry> similar;
  for (const Bank &bank : banks.getBanks())
    for (BankEntry &entry : bank.listNamed(displayName))
      if (entry.header && entry.header->name == displayName &&
          entry.header->key != workload.getKey() &&
          familyOf(entry.header->target) == familyOf(workload.getTarget()))
        similar.push_back(std::move(entry));
  auto distance = [&](const BankEntry &entry) {
    double ratio = entry.header->floorNs * 1e-9 / floorSeconds;
    return ratio > 0 && std::isfinite(ratio) ? std::fabs(std::log(ratio))
                                             : HUGE_VAL;
  };
  llvm::sort(similar, [&](const BankEntry &a, const BankEntry &b) {
    return std::make_pair(distance(a), StringRef(a.folder)) <
           std::make_pair(distance(b), StringRef(b.folder));
  });
  std::vector<Idea> ideas;
  mlir::MLIRContext *context = workload.getContext();
  // What won everywhere before what failed anywhere.
  for (const BankEntry &entry : similar) {
    if (ideas.size() >= limit)
      break;
    Expected<std::unique_ptr<Winner>> winner =
        Bank::load(entry.folder, context);
    if (!winner) {
      consumeError(winner.takeError());
      continue;
    }
    ideas.push_back(wonIdea(entry, (*winner)->getRecord()));
  }
  for (const BankEntry &entry : similar)
    addFailed(entry, ideas, limit);
  return ideas;
}
