//===- MissedAnswers.h - What failed in rounds that are over ----*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A prompt that failed while the search went on to another round cannot be
// asked again in its place: all that was asked, paid for and decided since
// rests on what was known then. So it is asked behind everything else, in the
// words that it had then, and what comes of it is tried there, on every run.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_SEARCH_PROPOSALS_MISSEDANSWERS_H
#define FASTK_LIB_SEARCH_PROPOSALS_MISSEDANSWERS_H

#include "SearchExchanges.h"
#include "State/Novelty.h"
#include "State/SearchState.h"
#include <optional>
#include <vector>

namespace fastk {

/// Ideas that a model was asked for in vain (`ideas` is empty then), or whose
/// programs it was, or the one that it was to mend.
struct MissedAnswer {
  Proposer *owner = nullptr;
  std::vector<Idea> ideas;
  int count = 0;
  std::optional<FailedVariant> failed = std::nullopt;
};

class MissedAnswers {
public:
  MissedAnswers(SearchState &search, SearchExchanges &exchanges)
      : search(search), exchanges(exchanges) {}

  /// Notes it if it is of a round that an earlier run left, or that is
  /// replayed.
  void note(MissedAnswer what, llvm::ArrayRef<TriedVariant> parents);
  bool empty() const { return missed.empty(); }
  /// Asks all of them, each with `context` as it was then. What of the answers
  /// is not in `seen`.
  llvm::Expected<std::vector<Planned>> askAgain(const ProposalContext &context,
                                                const SeenPrograms &seen);
  /// As answers of this round, for whoever reads the journal.
  llvm::Error record(llvm::ArrayRef<Planned> planned) const;

private:
  /// One with what was known then.
  struct Missed {
    MissedAnswer what;
    /// How many trials the history had.
    size_t triedBefore = 0;
    std::vector<TriedVariant> parents;
    int round = 0;
    double baselineSeconds = 0;
  };
  /// The programs for its ideas, which are asked for before where it has none.
  llvm::Expected<std::vector<Planned>> realise(MissedAnswer &missed,
                                               const ProposalContext &then);
  /// The mended program.
  llvm::Expected<std::vector<Planned>> repair(const MissedAnswer &missed,
                                              const ProposalContext &then);

  SearchState &search;
  SearchExchanges &exchanges;
  std::vector<Missed> missed;
};

} // namespace fastk

#endif // FASTK_LIB_SEARCH_PROPOSALS_MISSEDANSWERS_H
