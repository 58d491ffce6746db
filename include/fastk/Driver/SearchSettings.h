//===- SearchSettings.h - What a user says of a search ----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On the command line of fastk-opt or as options of the pass fastk-search: both
// fill in the same struct, by the same functions.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_DRIVER_SEARCHSETTINGS_H
#define FASTK_DRIVER_SEARCHSETTINGS_H

#include "fastk/Bank/Machine.h"
#include "fastk/Driver/SearchChoices.h"
#include "fastk/Evaluate/JobMaker.h"
#include "fastk/Propose/Registry.h"
#include "fastk/Target/DeviceDescription.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <vector>

namespace fastk {

/// A Ray cluster that evaluates.
struct RaySettings {
  /// As Ray names it.
  std::string address;
  /// The most GPUs; 0: all that there are.
  unsigned workers = 0;
  /// An answered spool whose verdicts are given; empty: none.
  std::string rehearsal;
  /// How many seconds without an answer end the run. Nodes may be made, and
  /// jobs of others be waited for.
  double wait = 1800;
};

struct SearchSettings {
  SearchScope scope = SearchScope::None;
  /// Also what workloads can be cut into, by what `fusion` forms.
  bool boundaries = false;
  Fusion fusion = Fusion::Greedy;
  /// As the user names them, see Registry.h. Empty: the catalog.
  std::vector<std::string> proposers;
  ProposerOptions proposerOptions;
  SearchOptions search;
  /// How candidates are compiled and judged: the threads, and whether what
  /// gives other bits for the same operands is refused. What compiles them and
  /// for which target is filled in when the search begins.
  JobMakerOptions jobs;
  /// A folder of jobs for fastk-worker, or a cassette's file, or a cluster;
  /// none of them: evaluations run here.
  std::string spool, replayFile;
  std::optional<RaySettings> ray;
  /// How many seconds without an answer of the spool end the run; 0: it does
  /// not wait.
  double spoolWait = 0;
  /// Folder of journals; empty: beside the bank.
  std::string journal;
  /// Files for the report and for a cassette; empty: none.
  std::string report, record;
  /// "host", or a GPU's with its architecture: "cuda:sm_90a".
  std::string target = "host";
  /// The GPU, where the target is one that is known.
  std::optional<DeviceDescription> device;
  /// Folder of fastk-opt, which compiles candidates, and of fastk-worker, which
  /// judges them.
  std::string tools;
};

/// Fills in target and device from "host", "cuda" (the GPU of this machine) or
/// "cuda:ARCH". What is not known of a GPU is said in \p warning. \p dashes is
/// what the option's name begins with, in messages.
llvm::Error parseTarget(llvm::StringRef text, SearchSettings &settings,
                        std::string &warning, llvm::StringRef dashes = "");

/// The machine whose winners count: this one with as many threads, or the GPU.
Machine machineOf(const SearchSettings &settings);

/// Fills in spool and how long it is waited for, or ray, or replayFile, from
/// "local", "spool:DIR", "spool:DIR?wait=SECONDS", "ray:ADDRESS?NAME=VALUE&..."
/// or "replay:FILE".
llvm::Error parseEvaluator(llvm::StringRef text, SearchSettings &settings,
                           llvm::StringRef dashes = "");

/// What cannot go together, and names of proposers that nobody knows; fills in
/// the default proposer.
llvm::Error checkSettings(SearchSettings &settings,
                          llvm::StringRef dashes = "");

/// The folder of fastk-opt and fastk-worker: that of this program if it is one
/// of fastk's, else the one beside the library that this code is in, else the
/// first of $PATH that has fastk-opt. Empty: none.
std::string findTools();

} // namespace fastk

#endif // FASTK_DRIVER_SEARCHSETTINGS_H
