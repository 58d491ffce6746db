//===- SearchTestUtils.h - A scripted world to search in --------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The logic of a search, not its measurements, is what these tests are about:
// here the time of a program is what its text says, and the clock moves only by
// evaluations. The real evaluator is tested with real programs elsewhere.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_UNITTESTS_SEARCH_SEARCHTESTUTILS_H
#define FASTK_UNITTESTS_SEARCH_SEARCHTESTUTILS_H

#include "../Bank/BankTestUtils.h"
#include "fastk/Analysis/Roofline.h"
#include "fastk/Analysis/WorkloadKind.h"
#include "fastk/Search/Search.h"
#include "fastk/Search/SearchReport.h"
#include "fastk/Target/TargetDescription.h"
#include <functional>
#include <set>

namespace fastk::test {

/// Evaluates "ok 250", "wrong", "crash", "promote-wrong 250" (passes at first),
/// "promote-slow 250" (fast at first), "none 250" (measured class none at the
/// promotion). The number is nanoseconds; the baseline takes 1000.
class ScriptedEvaluator : public Evaluator {
public:
  llvm::Expected<std::optional<worker::Verdict>>
  evaluate(const EvaluationRequest &request,
           const RequestContext &context) override {
    std::string job = (request.promote ? "promote " : "evaluate ") +
                      request.candidate.program;
    if (spool && !spool->answered.count(job)) {
      spool->written.insert(job);
      spool->firstOfBatch += request.firstOfBatch;
      return std::nullopt;
    }
    calls.push_back((request.promote ? "promote " : "") +
                    request.candidate.program);
    if (onCall)
      onCall(calls.size());
    if (onContext)
      onContext(context);
    now += secondsPerCall;
    worker::Verdict verdict;
    verdict.id = "job";
    auto [word, number] = llvm::StringRef(request.candidate.program).split(' ');
    double ns = std::strtod(number.str().c_str(), nullptr);
    if (word.consume_front("promote-")) {
      if (!request.promote)
        word = "ok";
      else if (word == "slow") {
        word = "ok";
        ns = 1000;
      }
    }
    verdict.precision = precision;
    verdict.timing.aaRatio = control;
    if (auto status =
            worker::parseStatus(std::string_view(word.data(), word.size())))
      verdict.status = *status;
    else
      return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                     "no worker answers");
    if (verdict.status != worker::Status::OK) {
      verdict.reason = "because it is " + word.str();
      return verdict;
    }
    verdict.timing.candidate = worker::Timing{ns, ns, ns, 20};
    verdict.timing.baseline = worker::Timing{1000, 1000, 1000, 20};
    double ratio = 1000 / ns;
    verdict.timing.speedupOverBaseline =
        worker::Ratio{ratio, ratio * 0.99, ratio * 1.01};
    if (request.incumbent) {
      llvm::StringRef other =
          llvm::StringRef(request.incumbent->program).split(' ').second;
      double against = std::strtod(other.str().c_str(), nullptr) / ns;
      verdict.timing.speedupOverIncumbent =
          worker::Ratio{against, against * 0.999, against * 1.001};
      incumbents.push_back(request.incumbent->program);
    }
    if (alter)
      alter(verdict, request);
    return verdict;
  }

  std::string pendingHint() const override { return spool ? "wait" : ""; }

  /// Jobs outlive the evaluator, as files do.
  struct Spool {
    std::set<std::string> written, answered;
    int firstOfBatch = 0;
    std::vector<std::string> unanswered() const {
      std::vector<std::string> jobs;
      for (const std::string &job : written)
        if (!answered.count(job))
          jobs.push_back(job);
      return jobs;
    }
  };
  /// Null: every request is answered at once.
  Spool *spool = nullptr;
  std::vector<std::string> calls, incumbents;
  std::function<void(size_t)> onCall;
  std::function<void(const RequestContext &)> onContext;
  /// What every verdict measures, and its control.
  worker::Precision precision = worker::Precision::IEEE;
  std::optional<worker::Ratio> control;
  /// The last word on verdicts of variants that are right.
  std::function<void(worker::Verdict &, const EvaluationRequest &)> alter;
  double now = 0, secondsPerCall = 1;
};

/// Idea `i` realised as program p has the text that `program(i, p)` gives; its
/// neighbours are p-1 and p+1. Stateless, as proposers must be.
class ScriptedProposer : public Proposer {
public:
  ScriptedProposer(int ideaCount, std::function<std::string(int, int)> program)
      : ideaCount(ideaCount), program(std::move(program)) {}

  llvm::StringRef name() const override { return "scripted"; }
  bool wantsAllTried() const override { return allTried; }

  Answer<std::vector<Idea>> proposeIdeas(const ProposalContext &context,
                                         int count) override {
    ++asked;
    lastParents = context.parents.size();
    std::vector<Idea> ideas;
    for (int i = 0; i < ideaCount && static_cast<int>(ideas.size()) < count;
         ++i) {
      std::string id = "scripted/" + std::to_string(i);
      bool tried = llvm::any_of(context.history, [&](const TriedVariant &each) {
        return each.variant.ideaId == id;
      });
      if (!tried)
        ideas.push_back({id, static_cast<IdeaCategory>(i % 6),
                         "idea " + std::to_string(i), "Do it."});
    }
    return ideas;
  }
  Answers<std::vector<Variant>> realise(const ProposalContext &context,
                                        llvm::ArrayRef<Idea> asked,
                                        int count) override {
    std::vector<std::optional<std::vector<Variant>>> answers;
    for (const Idea &idea : asked) {
      answers.emplace_back(std::in_place);
      for (int p = 0; p < count; ++p)
        answers.back()->push_back(make(numberOf(idea.id), 10 * p));
    }
    return answers;
  }
  llvm::Expected<std::vector<Variant>>
  neighbours(const ProposalContext &context, const Variant &variant,
             int count) override {
    std::vector<Variant> result;
    if (!sweeps)
      return result;
    int p = variant.parameters.at("p");
    for (int next : {p + 1, p - 1}) {
      Variant each = make(numberOf(variant.ideaId), next);
      bool tried =
          llvm::any_of(context.history, [&](const TriedVariant &other) {
            return other.variant.program == each.program;
          });
      if (!tried && static_cast<int>(result.size()) < count)
        result.push_back(each);
    }
    return result;
  }
  Answers<std::vector<Variant>>
  repair(const ProposalContext &context,
         llvm::ArrayRef<FailedVariant> failed) override {
    std::vector<std::optional<std::vector<Variant>>> answers;
    for (const FailedVariant &each : failed) {
      answers.emplace_back(std::in_place);
      if (!repairTo)
        continue;
      ++repairsAsked;
      Variant mended = each.tried.variant;
      mended.program = repairTo(mended.program);
      answers.back()->push_back(std::move(mended));
    }
    return answers;
  }

  Variant make(int idea, int p) {
    Variant variant;
    variant.ideaId = "scripted/" + std::to_string(idea);
    variant.program = program(idea, p);
    variant.parameters["p"] = p;
    return variant;
  }
  static int numberOf(llvm::StringRef id) {
    int number = 0;
    id.split('/').second.getAsInteger(10, number);
    return number;
  }

  int ideaCount;
  std::function<std::string(int, int)> program;
  std::function<std::string(std::string)> repairTo;
  bool sweeps = true, allTried = false;
  int asked = 0, repairsAsked = 0;
  size_t lastParents = 0;
};

inline std::string ok(double ns, const std::string &tag = "") {
  return "ok " + std::to_string(ns) + " " + tag;
}

/// A workload, an evaluator and a proposer, ready to search.
struct World {
  explicit World(int ideas, std::function<std::string(int, int)> program)
      : module(context.workload(8)), proposer(ideas, std::move(program)) {
    target.model = "test machine";
    features.name = "add";
  }

  SearchInput input(Journal *journal = nullptr) {
    proposers = {&proposer};
    SearchInput input{ProposalContext{TestContext::loweringOf(*module),
                                      features,
                                      roofline,
                                      target,
                                      Precision::ieee,
                                      2,
                                      0,
                                      floorSeconds,
                                      {},
                                      {}},
                      proposers,
                      evaluator,
                      journal,
                      progress,
                      seeds,
                      [this] { return evaluator.now; },
                      stopRequested,
                      provenance};
    input.workload.requireDeterministic = requireDeterministic;
    return input;
  }
  SearchResult search(const SearchOptions &options,
                      Journal *journal = nullptr) {
    SearchInput in = input(journal);
    auto result = runSearch(in, options);
    EXPECT_TRUE(static_cast<bool>(result));
    if (!result) {
      ADD_FAILURE() << llvm::toString(result.takeError());
      return SearchResult();
    }
    return std::move(*result);
  }
  std::unique_ptr<Journal> openJournal(const std::string &directory,
                                       const SearchOptions &options) {
    auto journal = Journal::open(directory, bindingOf(input(), options));
    if (!journal) {
      ADD_FAILURE() << llvm::toString(journal.takeError());
      return nullptr;
    }
    return std::move(*journal);
  }

  TestContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  WorkloadFeatures features;
  Roofline roofline;
  TargetDescription target;
  ScriptedEvaluator evaluator;
  ScriptedProposer proposer;
  std::vector<Proposer *> proposers;
  std::vector<SearchSeed> seeds;
  SearchProgress *progress = nullptr;
  std::function<bool()> stopRequested;
  Provenance provenance = {{"worker", std::string(64, 'a')},
                           {"oracle", std::string(64, 'b')}};
  double floorSeconds = 0;
  bool requireDeterministic = false;
};

/// A hill per idea: the best of idea i is at p = 3 + i, and idea 4 is best.
inline std::string hill(int idea, int p) {
  if (idea % 5 == 3)
    return "wrong " + std::to_string(idea) + " " + std::to_string(p);
  double distance = p - 3 - idea;
  return ok(300 + 40 * (idea - 4) * (idea - 4) + 3 * distance * distance,
            std::to_string(idea) + "/" + std::to_string(p));
}

/// What two searches must agree on to have come to the same end. Everything but
/// how much of it was read from the journal.
inline std::string summary(const World &world, const SearchResult &result) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << stringify(result.end) << " " << result.counts.evaluations << "\n";
  for (const TriedVariant &each : result.history)
    os << each.round << " " << each.variant.program << " " << each.status << " "
       << each.seconds << "\n";
  for (const TrajectoryRow &row : result.trajectory)
    os << row.round << " " << row.seconds << " " << row.ideaId << "\n";
  if (result.winner)
    os << "winner " << result.winner->variant.program << "\n";
  else
    os << "no winner: " << result.noWinnerReason << "\n";
  return text;
}

} // namespace fastk::test

#endif // FASTK_UNITTESTS_SEARCH_SEARCHTESTUTILS_H
