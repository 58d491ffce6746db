//===- Options.h - Command line of the compiler driver ----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_TOOLS_FASTK_OPT_OPTIONS_H
#define FASTK_TOOLS_FASTK_OPT_OPTIONS_H

#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "fastk/Propose/Registry.h"
#include "fastk/Search/Search.h"
#include "fastk/Target/DeviceDescription.h"
#include <optional>
#include <string>
#include <vector>

namespace fastk {

enum class EmitKind { MLIR, LLVM, Object, SharedLibrary };
enum class SearchScope { None, Misses, All };

/// The options of docs/commands.md, parsed and checked.
struct DriverOptions {
  /// The command line, for messages that name another.
  std::vector<std::string> arguments;
  std::string input = "-";
  std::string output = "-";
  /// Empty: the default banks.
  std::vector<std::string> banks;
  /// "host", or a GPU's with its architecture: "cuda:sm_90a".
  std::string target = "host";
  /// The GPU that is compiled for, where the target is one that is known.
  std::optional<DeviceDescription> device;
  Precision precision = Precision::ieee;
  std::string fusion = "greedy";
  /// --winners-from=any: also winners that another machine measured.
  bool winnersFromAny = false;
  /// Neither applied nor found: winners that give other bits at times.
  bool requireDeterministic = false;
  EmitKind emit = EmitKind::MLIR;
  /// File for the C header of what is emitted; empty for none.
  std::string emitHeader;
  SearchScope search = SearchScope::None;
  /// Also what workloads can be cut into.
  bool searchBoundaries = false;
  std::vector<std::string> proposers;
  ProposerOptions proposerOptions;
  SearchOptions searchOptions;
  /// --evaluator=spool:DIR; empty: local.
  std::string spool;
  /// --evaluator=replay:FILE; empty: not.
  std::string replay;
  /// Empty: beside the bank.
  std::string journal;
  std::string report;
  /// Cassette to be written; empty: none.
  std::string record;
  unsigned threads = 0;
  std::optional<unsigned> requireHits;
  bool explainMiss = false;
  /// Compile the one lowering of the input instead of a model: what evaluations
  /// run in a child process.
  std::optional<std::string> compileKernel;
};

/// Parses the command line, or prints what is wrong with it and the remedy and
/// returns nothing. May exit for --help and --version.
std::optional<DriverOptions> parseDriverOptions(int argc, char **argv);

} // namespace fastk

#endif // FASTK_TOOLS_FASTK_OPT_OPTIONS_H
