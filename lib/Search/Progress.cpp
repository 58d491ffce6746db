//===- Progress.cpp - What a search shows while it runs -------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Search/Progress.h"
#include "llvm/Support/Format.h"

using namespace llvm;
using namespace fastk;

SearchProgress::~SearchProgress() = default;

std::string fastk::formatSeconds(double seconds) {
  if (!(seconds > 0))
    return "-";
  const char *units[] = {"ns", "us", "ms", "s"};
  double value = seconds * 1e9;
  int unit = 0;
  while (value >= 999.5 && unit < 3) {
    value /= 1000;
    ++unit;
  }
  std::string text;
  raw_string_ostream os(text);
  os << format(value < 9.995   ? "%.2f"
               : value < 99.95 ? "%.1f"
                               : "%.0f",
               value)
     << " " << units[unit];
  return text;
}

namespace {

class StreamProgress : public SearchProgress {
public:
  StreamProgress(raw_ostream &os, bool isTerminal, StringRef workload)
      : os(os), isTerminal(isTerminal), workload(workload) {}

  void note(StringRef text) override {
    clearLine();
    os << workload << ": " << text << "\n";
    os.flush();
  }
  void evaluating(const SearchStanding &standing) override {
    if (!isTerminal)
      return;
    clearLine();
    std::string line;
    raw_string_ostream text(line);
    describe(standing, text);
    text << " | " << standing.title;
    // A line that wraps cannot be taken back.
    os << StringRef(line).take_front(kWidth);
    os.flush();
    lineIsOpen = true;
  }
  void evaluated(const SearchStanding &standing, StringRef status,
                 StringRef reason) override {}
  void roundEnded(const SearchStanding &standing) override {
    clearLine();
    describe(standing, os);
    os << "\n";
    os.flush();
  }
  void ended() override { clearLine(); }

private:
  static constexpr size_t kWidth = 100;

  void clearLine() {
    if (!lineIsOpen)
      return;
    os << "\r\x1b[K";
    lineIsOpen = false;
  }
  void describe(const SearchStanding &standing, raw_ostream &out) {
    out << workload << ": ";
    int number;
    if (!standing.round.getAsInteger(10, number))
      out << "round " << standing.round << "/" << standing.rounds;
    else
      out << standing.round;
    out << ", " << standing.evaluations;
    if (standing.evaluationBudget > 0)
      out << "/" << standing.evaluationBudget;
    out << " evaluations, " << format("%.0f s", standing.elapsedSeconds);
    if (standing.bestSeconds > 0) {
      out << ", best " << formatSeconds(standing.bestSeconds) << ", "
          << format("%.2fx", standing.bestSpeedup) << " default lowering";
      if (standing.floorSeconds > 0)
        out << ", "
            << format("%.0f %% of floor",
                      100 * standing.floorSeconds / standing.bestSeconds);
      out << ": " << standing.bestTitle;
    }
  }

  raw_ostream &os;
  bool isTerminal;
  std::string workload;
  bool lineIsOpen = false;
};

} // namespace

std::unique_ptr<SearchProgress>
fastk::createStreamProgress(raw_ostream &os, bool isTerminal,
                            StringRef workload) {
  return std::make_unique<StreamProgress>(os, isTerminal, workload);
}
