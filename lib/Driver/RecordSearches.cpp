//===- RecordSearches.cpp - A run's journals as one cassette --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RecordSearches.h"
#include "fastk/Bank/Machine.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace fastk;

using Binding = JournalBinding::Values;

static const std::string *valueOf(const Binding &binding, StringRef name) {
  auto found =
      find_if(binding, [&](const auto &pair) { return pair.first == name; });
  return found == binding.end() ? nullptr : &found->second;
}

std::string fastk::differentChoices(const Binding &recorded,
                                    const Binding &choices) {
  std::string text;
  for (const auto &[name, now] : choices)
    if (const std::string *was = valueOf(recorded, name); was && *was != now)
      text += (text.empty() ? "" : ", ") + name + " was " + *was +
              " and is now " + now;
  return text;
}

/// A replay's journal is bound to its cassette; what it records are the
/// verdicts of those who made that.
static Binding bindingOfReplay(const Binding &recorded,
                               const Binding &choices) {
  Binding binding = recorded;
  for (auto &[name, value] : binding)
    if (const std::string *now = valueOf(choices, name))
      value = *now;
  return binding;
}

Expected<Cassette> fastk::recordSearches(const RunRecord &run,
                                         raw_ostream &notes) {
  Cassette cassette;
  cassette.fastkVersion = FASTK_VERSION;
  cassette.target = run.target;
  cassette.writes = run.writes;
  for (const RunRecord::Search &each : run.searches) {
    auto recorded = Journal::recordedIn(each.journal);
    if (!recorded)
      return recorded.takeError();
    // It was not its turn.
    if (!*recorded)
      continue;
    RecordedSearch &search = **recorded;
    // The journal of a search that has ended may be an older one.
    if (std::string differences = differentChoices(search.binding, run.choices);
        !differences.empty()) {
      notes << each.name << ": not recorded, for " << each.journal
            << " is of another search: " << differences << "\n";
      continue;
    }
    search.workload = each.workload;
    search.name = each.name;
    search.isComplete = each.isComplete;
    search.answersLater = run.answersLater;
    if (search.device.model.empty())
      search.device = run.device;
    search.cpu = run.target == "host" ? hostCpu() : "";
    if (const RecordedSearch *replayed =
            run.replayed ? run.replayed->find(each.workload) : nullptr) {
      search.answersLater = replayed->answersLater;
      search.cpu = replayed->cpu;
      search.binding = bindingOfReplay(replayed->binding, run.choices);
    }
    cassette.searches.push_back(std::move(search));
  }
  return std::move(cassette);
}
