//===- SearchLog.cpp - What a model's searches say ------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SearchLog.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace fastk;

/// Whoever looks at a log wants to see that the search is alive.
static constexpr std::chrono::minutes kWaitPause{1};

EventLog::Fields fastk::eventOf(StringRef workload, StringRef key) {
  return {{"workload", workload.str()}, {"key", key.str()}};
}

namespace {
/// Shows on `shown`, and tells of what lasts.
class LoggedProgress : public SearchProgress {
public:
  LoggedProgress(std::unique_ptr<SearchProgress> shown, StringRef title,
                 const EventLog &log, EventLog::Fields fields)
      : shown(std::move(shown)), title(title), log(log),
        common(std::move(fields)) {}

  void note(StringRef text) override {
    shown->note(text);
    log.say("note", title + ": " + text.str(), common);
  }
  void preparing(StringRef what) override { shown->preparing(what); }
  void tick() override { shown->tick(); }
  void asking(StringRef model, size_t prompts,
              const ModelCosts &costs) override {
    shown->asking(model, prompts, costs);
  }
  void evaluating(const SearchStanding &standing) override {
    shown->evaluating(standing);
  }
  void evaluated(const SearchStanding &standing, StringRef status,
                 StringRef reason) override {
    shown->evaluated(standing, status, reason);
  }
  void roundEnded(const SearchStanding &standing) override;
  void ended() override { shown->ended(); }

private:
  std::unique_ptr<SearchProgress> shown;
  std::string title;
  const EventLog &log;
  EventLog::Fields common;
};
} // namespace

void LoggedProgress::roundEnded(const SearchStanding &standing) {
  shown->roundEnded(standing);
  EventLog::Fields fields = common;
  fields.emplace_back("round", standing.round.str());
  fields.emplace_back("evaluations", int64_t(standing.evaluations));
  fields.emplace_back("seconds",
                      standing.earlierSeconds + standing.elapsedSeconds);
  std::string text = formatv("{0}: round {1}, {2} evaluations, ", title,
                             standing.round, standing.evaluations)
                         .str();
  if (standing.bestSeconds > 0) {
    fields.emplace_back("best", standing.bestTitle.str());
    fields.emplace_back("best_seconds", standing.bestSeconds);
    fields.emplace_back("speedup", standing.bestSpeedup);
    text += formatv("best {0:f2}x default lowering: {1}", standing.bestSpeedup,
                    standing.bestTitle)
                .str();
  } else {
    text += "nothing passed yet";
  }
  log.say("round", text, fields);
}

std::unique_ptr<SearchProgress> fastk::showProgress(const SearchRun &run,
                                                    StringRef title,
                                                    EventLog::Fields fields) {
  std::unique_ptr<SearchProgress> shown =
      createStreamProgress(run.said(), run.said().is_displayed(), title);
  if (!run.options.log)
    return shown;
  return std::make_unique<LoggedProgress>(std::move(shown), title,
                                          *run.options.log, std::move(fields));
}

void fastk::sayStored(const SearchRequest &request, StringRef key,
                      const WriteResult &written) {
  bool isKept = written.outcome == WriteOutcome::KeptExisting;
  std::string text =
      (isKept ? "kept the winner in " : "stored in ") + written.folder;
  *request.said << text << "\n";
  request.tell("stored", text,
               {{"key", key.str()},
                {"folder", written.folder},
                {"outcome", isKept ? "kept" : "stored"}});
}

bool WaitLog::isDue() const {
  return run.options.log &&
         (!said || std::chrono::steady_clock::now() - *said >= kWaitPause);
}

void WaitLog::say(size_t workloads, size_t evaluations, size_t prompts) {
  said = std::chrono::steady_clock::now();
  std::string hint = run.evaluator.pendingHint();
  run.options.tell(
      "waits",
      formatv("search: waiting for {0} evaluations and {1} prompts of {2} "
              "workloads; evaluations are made by {3}",
              evaluations, prompts, workloads, hint)
          .str(),
      {{"workloads", int64_t(workloads)},
       {"evaluations", int64_t(evaluations)},
       {"prompts", int64_t(prompts)},
       {"for", hint}});
}
