//===- RecordSearches.h - A run's journals as one cassette ------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_DRIVER_RECORDSEARCHES_H
#define FASTK_LIB_DRIVER_RECORDSEARCHES_H

#include "fastk/Propose/LLM/Cassette.h"
#include "fastk/Search/Journal.h"

namespace fastk {

/// What of a run goes into its cassette.
struct RunRecord {
  struct Search {
    /// Key of the workload, and its name for people.
    std::string workload, name;
    /// Folder of the journal; it need not be there.
    std::string journal;
    bool isComplete = false;
  };
  std::vector<Search> searches;
  std::string target;
  /// What language models were asked to write, where all were asked for the
  /// same; see Cassette.
  std::string writes;
  /// Of journals that do not say it.
  TargetDescription device;
  /// The evaluator's; see RecordedSearch.
  bool answersLater = false;
  /// What all these searches are bound to: a journal of other choices is left
  /// out.
  JournalBinding::Values choices;
  /// What was replayed; null where answers were new.
  const Cassette *replayed = nullptr;
};

/// Reads the journals. Says on `notes` which ones are left out, and why.
llvm::Expected<Cassette> recordSearches(const RunRecord &run,
                                        llvm::raw_ostream &notes);

/// "rounds was 5 and is now 3, ..." for the choices that `recorded` made
/// differently; empty where there are none.
std::string differentChoices(
    const std::vector<std::pair<std::string, std::string>> &recorded,
    const JournalBinding::Values &choices);

} // namespace fastk

#endif // FASTK_LIB_DRIVER_RECORDSEARCHES_H
