//===- RecordedSearch.h - What a search was told ----------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All that one search got from outside: its journal has it, and a cassette
// keeps it for others.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_PROPOSE_LLM_RECORDEDSEARCH_H
#define FASTK_PROPOSE_LLM_RECORDEDSEARCH_H

#include "fastk/LLM/LanguageModel.h"
#include "fastk/Propose/Proposer.h"
#include "fastk/Protocol/Verdict.h"
#include "fastk/Target/TargetDescription.h"
#include <string>
#include <utility>
#include <vector>

namespace fastk {

/// A variant that a search begins with: a winner of the bank.
struct SearchSeed {
  Idea idea;
  Variant variant;
};

struct RecordedExchange {
  /// digestOf() the prompt.
  std::string digest;
  /// LanguageModel::name() of who was asked.
  std::string model;
  /// Seconds of searching until the reply was there.
  double elapsed = 0;
  /// Without its limit, which decides nothing.
  Prompt prompt;
  Reply reply;

  /// What journals call it.
  std::string name() const { return digest + " " + model; }
};

struct RecordedVerdict {
  /// "evaluate/DIGEST", "promote/DIGEST", with digestOf() the variant.
  std::string name;
  /// Seconds of searching until the verdict was there.
  double elapsed = 0;
  worker::Verdict verdict;
};

struct RecordedSearch {
  /// Its key, and its name for people.
  std::string workload, name;
  /// The journal's: what the search was of, how it was made, who judged.
  std::vector<std::pair<std::string, std::string>> binding;
  /// False when the search was pending or interrupted: it would have asked
  /// more.
  bool isComplete = true;
  /// Its evaluator answered later, so it asked for many variants at once.
  bool answersLater = false;
  /// The device as the search knew it: floors and prompts rest on it.
  TargetDescription device;
  /// The CPU that judged, as winners name it; empty for a GPU.
  std::string cpu;
  /// What the banks gave it to begin with, and knew of similar workloads.
  std::vector<SearchSeed> seeds;
  std::vector<Idea> known;
  std::vector<RecordedExchange> exchanges;
  std::vector<RecordedVerdict> verdicts;
};

} // namespace fastk

#endif // FASTK_PROPOSE_LLM_RECORDEDSEARCH_H
