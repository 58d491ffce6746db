//===- Progress.cpp - What a search shows while it runs -------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Search/Progress.h"
#include "fastk/Search/Search.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"
#include <chrono>

using namespace llvm;
using namespace fastk;

SearchProgress::~SearchProgress() = default;

std::string fastk::formatCosts(const ModelCosts &costs) {
  std::string text;
  if (costs.exchanges == 0)
    return text;
  raw_string_ostream os(text);
  os << costs.exchanges << (costs.exchanges == 1 ? " prompt, " : " prompts, ")
     << (costs.isEstimated ? "about " : "")
     << format("%.1fk", costs.inputTokens * 1e-3) << " tokens in, "
     << format("%.1fk", costs.outputTokens * 1e-3) << " out";
  if (costs.unpriced < costs.exchanges)
    os << format(", %.2f USD", costs.usd)
       << (costs.unpriced > 0 ? " and what has no known price" : "");
  return text;
}

namespace {

class StreamProgress : public SearchProgress {
public:
  StreamProgress(raw_ostream &os, bool isTerminal, StringRef workload,
                 std::function<double()> clock)
      : os(os), isTerminal(isTerminal), workload(workload),
        clock(std::move(clock)) {}

  void note(StringRef text) override {
    clearLine();
    os << workload << ": " << text << "\n";
    os.flush();
  }
  void preparing(StringRef what) override {
    show(what.str(), workload + ": " + what.str(), "", /*elapsed=*/0);
  }
  void asking(StringRef model, size_t prompts,
              const ModelCosts &costs) override {
    std::string text = workload + ": asking " + model.str() + " " +
                       std::to_string(prompts) +
                       (prompts == 1 ? " prompt" : " prompts");
    std::string spent = formatCosts(costs);
    // Each time is one of its own.
    show(text + " " + std::to_string(++asked), text,
         spent.empty() ? "" : ", spent so far: " + spent, /*elapsed=*/0);
  }
  void evaluating(const SearchStanding &standing) override {
    // Short, for a terminal's width: the line of the round tells the rest.
    std::string after;
    raw_string_ostream out(after);
    if (standing.bestSpeedup > 0)
      out << ", best " << format("%.2fx", standing.bestSpeedup)
          << " default lowering";
    out << ", trying: " << standing.title;
    // Of a round its line in the end tells more.
    std::string topic = standing.round.str();
    if (!isNumber(standing.round))
      topic += " " + standing.title.str();
    show(std::move(topic), workload + ": " + whereOf(standing), after,
         standing.elapsedSeconds);
  }
  void tick() override {
    // Once a second: what is being timed must not be disturbed.
    if (lineIsOpen && clock() - drawnAt >= 1)
      draw();
    sayIfLong();
  }
  void evaluated(const SearchStanding &standing, StringRef status,
                 StringRef reason) override {}
  void roundEnded(const SearchStanding &standing) override {
    clearLine();
    topic.clear();
    std::string best = bestOf(standing);
    os << workload << ": " << whereOf(standing) << ", "
       << format("%.0f s", standing.elapsedSeconds);
    if (standing.earlierSeconds > 0)
      os << format(" after %.0f s in earlier runs", standing.earlierSeconds);
    os << ", " << (best.empty() ? "nothing passed yet" : best);
    if (!best.empty())
      os << ": " << standing.bestTitle;
    if (standing.models && standing.models->exchanges > 0)
      os << "; " << formatCosts(*standing.models);
    os << "\n";
    os.flush();
  }
  void ended() override {
    clearLine();
    topic.clear();
    os.flush();
  }

private:
  static constexpr size_t kWidth = 100;
  /// Without a terminal nothing is said of what takes less.
  static constexpr double kSilentSeconds = 2;

  void clearLine() {
    if (!lineIsOpen)
      return;
    os << "\r\x1b[K";
    lineIsOpen = false;
  }
  /// The status line: `before`, the seconds, `after`. Without a terminal a line
  /// of its own, once for all that is of one topic, when that takes long.
  void show(std::string of, std::string before, std::string after,
            double elapsed) {
    lineStart = std::move(before);
    lineEnd = std::move(after);
    shownSeconds = elapsed;
    shownAt = clock();
    if (topic != of)
      topicSince = shownAt;
    topic = std::move(of);
    if (isTerminal)
      draw();
    else
      sayIfLong();
  }
  void sayIfLong() {
    if (isTerminal || topic.empty() || clock() - topicSince < kSilentSeconds ||
        !said.insert(topic).second)
      return;
    os << lineStart << lineEnd << "\n";
    os.flush();
  }
  void draw() {
    clearLine();
    drawnAt = clock();
    std::string line = lineStart;
    raw_string_ostream(line)
        << format(", %.0f s", shownSeconds + drawnAt - shownAt) << lineEnd;
    // A line that wraps cannot be taken back.
    os << StringRef(line).take_front(kWidth);
    os.flush();
    lineIsOpen = true;
  }

  /// Rounds have numbers; "sweep" and "second measurement" have none.
  static bool isNumber(StringRef round) {
    int number;
    return !round.getAsInteger(10, number);
  }
  /// "round 1/5, 6/7 evaluations".
  static std::string whereOf(const SearchStanding &standing) {
    std::string text;
    raw_string_ostream out(text);
    if (isNumber(standing.round))
      out << "round " << standing.round << "/" << standing.rounds;
    else
      out << standing.round;
    out << ", " << standing.evaluations;
    if (standing.evaluationBudget > 0)
      out << "/" << standing.evaluationBudget;
    bool one = standing.evaluationBudget == 0 && standing.evaluations == 1;
    out << (one ? " evaluation" : " evaluations");
    return text;
  }
  /// "best 25.4 us, 1.07x default lowering, 0.4 % of floor".
  static std::string bestOf(const SearchStanding &standing) {
    std::string text;
    if (!(standing.bestSeconds > 0))
      return text;
    raw_string_ostream out(text);
    out << "best " << formatSeconds(standing.bestSeconds) << ", "
        << format("%.2fx", standing.bestSpeedup) << " default lowering";
    if (standing.floorSeconds > 0) {
      double percent = 100 * standing.floorSeconds / standing.bestSeconds;
      out << ", " << format(percent < 10 ? "%.1f" : "%.0f", percent)
          << " % of floor";
    }
    return text;
  }

  raw_ostream &os;
  bool isTerminal;
  std::string workload;
  std::function<double()> clock;
  bool lineIsOpen = false;
  std::string lineStart, lineEnd;
  /// The seconds that the line began with, and when it did.
  double shownSeconds = 0, shownAt = 0, drawnAt = 0;
  /// What the line is of, since when, and of what a line was said; empty: of
  /// nothing that still runs.
  std::string topic;
  double topicSince = 0;
  StringSet<> said;
  int asked = 0;
};

} // namespace

std::unique_ptr<SearchProgress>
fastk::createStreamProgress(raw_ostream &os, bool isTerminal,
                            StringRef workload, std::function<double()> clock) {
  if (!clock)
    clock = [] {
      return std::chrono::duration<double>(
                 std::chrono::steady_clock::now().time_since_epoch())
          .count();
    };
  return std::make_unique<StreamProgress>(os, isTerminal, workload,
                                          std::move(clock));
}
