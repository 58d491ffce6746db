//===- Search.cpp - Finding a faster variant of a workload ----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Search/Search.h"
#include "Searcher.h"
#include "fastk/Analysis/WorkloadKind.h"
#include "fastk/Bank/Winner.h"
#include "fastk/Target/TargetDescription.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Config/llvm-config.h"

using namespace llvm;
using namespace fastk;

StringRef fastk::stringify(SearchEnd end) {
  switch (end) {
  case SearchEnd::Rounds:
    return "rounds";
  case SearchEnd::Budget:
    return "budget";
  case SearchEnd::Floor:
    return "floor";
  case SearchEnd::Stagnation:
    return "stagnation";
  case SearchEnd::Exhausted:
    return "exhausted";
  case SearchEnd::Unanswered:
    return "unanswered";
  case SearchEnd::Unfit:
    return "unfit";
  case SearchEnd::Unjudged:
    return "unjudged";
  case SearchEnd::Disagreement:
    return "disagreement";
  case SearchEnd::Pending:
    return "pending";
  case SearchEnd::Interrupted:
    return "interrupted";
  }
  llvm_unreachable("all ends are named above");
}

RequestContext SearchInput::context(StringRef who) const {
  RequestContext context;
  context.stopRequested = stopRequested;
  if (!progress)
    return context;
  context.whileWaiting = [shown = progress] { shown->tick(); };
  std::string prefix = who.empty() ? "" : who.str() + ": ";
  context.note = [shown = progress, prefix](const std::string &text) {
    shown->note(prefix + text);
  };
  return context;
}

Expected<SearchResult> fastk::runSearch(const SearchInput &input,
                                        const SearchOptions &options) {
  return Searcher(input, options).run();
}

JournalBinding::Values fastk::choicesOf(StringRef target, Precision precision,
                                        bool requireDeterministic,
                                        const TargetDescription &device,
                                        int threads,
                                        ArrayRef<Proposer *> proposers,
                                        const SearchOptions &options) {
  std::string names;
  for (Proposer *proposer : proposers)
    names += (names.empty() ? "" : ",") + proposer->name().str();
  JournalBinding::Values choices = {
      {"target", target.str()},
      {"precision", stringifyPrecision(precision).str()},
      {"machine", device.model},
      {"threads", std::to_string(threads)},
      {"proposer", names},
      {"strategy", options.strategy->name.str()},
      {"rounds", std::to_string(options.rounds)},
      {"ideas", std::to_string(options.ideas)},
      {"implementations", std::to_string(options.implementations)},
      {"parents", std::to_string(options.parents)},
      {"repairs", std::to_string(options.repairs)},
      {"seed", std::to_string(options.seed)},
  };
  // Not in the journals of earlier searches.
  if (requireDeterministic)
    choices.emplace_back("deterministic", "required");
  return choices;
}

JournalBinding fastk::bindingOf(const SearchInput &input,
                                const SearchOptions &options) {
  LoweringOp workload = input.workload.workload;
  JournalBinding binding;
  binding.search = {{"key", workload.getKey().str()}};
  llvm::append_range(
      binding.search,
      choicesOf(workload.getTarget(), input.workload.acceptedPrecision,
                input.workload.requireDeterministic, input.workload.target,
                input.workload.threads, input.proposers, options));
  if (input.recording)
    binding.search.emplace_back("evaluator", "replay");
  binding.madeBy = {{"fastk version", FASTK_VERSION},
                    {"MLIR version", LLVM_VERSION_STRING}};
  for (const ProvenancePart &part : input.provenance)
    (part.isUsed ? binding.madeBy : binding.unused)
        .emplace_back(part.name, part.content);
  binding.about.name = input.workload.features.name;
  binding.about.shapes = describeShapes(workload);
  binding.about.floorSeconds = input.workload.floorSeconds;
  raw_string_ostream os(binding.about.ir);
  workload->print(os, mlir::OpPrintingFlags().elideLargeElementsAttrs());
  return binding;
}
