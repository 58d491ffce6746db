//===- PreparedSearch.cpp - A search that is about to begin ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PreparedSearch.h"
#include "fastk/Search/KnownIdeas.h"
#include "fastk/Search/Remeasure.h"

using namespace mlir;
using namespace fastk;

/// The known winner as what the search begins with.
static std::vector<SearchSeed> seedsFrom(const Winner *winner) {
  if (!winner)
    return {};
  WinnerRecord record = winner->getRecord();
  SearchSeed seed;
  seed.variant = variantOf(*winner);
  seed.idea.id = seed.variant.ideaId;
  seed.idea.category =
      parseIdeaCategory(record.category).value_or(IdeaCategory::MemoryAccess);
  seed.idea.title = record.title;
  seed.idea.text = record.text;
  return {seed};
}

PreparedSearch::PreparedSearch(const SearchRun &run, const SearchTarget &target)
    : run(run), target(target), scratch(ModuleOp::create(run.loc)) {
  OpBuilder builder(run.loc.getContext());
  builder.setInsertionPointToEnd(scratch->getBody());
  FailureOr<LoweringOp> built =
      buildDefaultLowering(builder, *target.form, run.filter().target);
  if (failed(built))
    return;
  workload = *built;
  features = analyzeWorkload(workload.getPattern());
  roofline = computeRoofline(workload.getPattern());
  if (run.options.replay)
    recording = run.options.replay->find(target.form->key);
  device = recording ? recording->device : run.device;
  seeds = seedsFrom(target.known);
}

double PreparedSearch::floorSeconds() const {
  return roofline.floorSeconds(
      device, roofline.timedCaches(device),
      toRoofline(run.filterFor(target.form->key).loosest));
}

llvm::Error PreparedSearch::makeInput(Evaluator &evaluator) {
  input.emplace(
      SearchInput{ProposalContext{workload,
                                  features,
                                  roofline,
                                  device,
                                  run.filterFor(target.form->key).loosest,
                                  static_cast<int>(device.threads),
                                  0,
                                  floorSeconds(),
                                  {},
                                  {}},
                  run.proposers, evaluator,
                  /*journal=*/nullptr, progress.get(), seeds,
                  /*clock=*/nullptr, run.options.stopRequested});
  input->workload.requireDeterministic = run.filter().requireDeterministic;
  if (progress)
    progress->preparing("compiling the default lowering and the oracle");
  llvm::Expected<Provenance> provenance =
      run.evaluator.provenance(workload, input->context());
  if (progress)
    progress->ended();
  if (!provenance)
    return provenance.takeError();
  input->provenance = std::move(*provenance);
  input->recording = recording;
  if (target.known && !target.isOfStranger)
    input->recordedGain = recordedGain(*target.known, device);
  input->bankHasWinner = target.known && !target.isUnjudged;
  constexpr size_t kKnownIdeas = 6;
  if (llvm::any_of(run.proposers,
                   [](Proposer *each) { return each->prefersBatching(); }))
    known = knownIdeas(run.banks, workload, features.name,
                       input->workload.floorSeconds, kKnownIdeas);
  input->known = known;
  return llvm::Error::success();
}

llvm::Expected<bool> PreparedSearch::openJournal(const JournalBinding &binding,
                                                 std::string &holder) {
  bool isInUse = false;
  if (llvm::Error error = llvm::handleErrors(
          Journal::open(target.journal, binding).moveInto(journal),
          [&](const InUseError &other) {
            isInUse = true;
            holder = other.getHolder();
          }))
    return std::move(error);
  if (isInUse)
    return false;
  input->journal = journal.get();
  if (!journal->note().empty() && progress)
    progress->note(journal->note());
  if (llvm::Error error = journal->recallDevice(device))
    return std::move(error);
  input->workload.floorSeconds = floorSeconds();
  return true;
}
