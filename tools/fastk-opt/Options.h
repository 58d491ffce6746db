//===- Options.h - Command line of the compiler driver ----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_TOOLS_FASTK_OPT_OPTIONS_H
#define FASTK_TOOLS_FASTK_OPT_OPTIONS_H

#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "fastk/Driver/AdmitFamily.h"
#include "fastk/Driver/Emit.h"
#include "fastk/Driver/SearchSettings.h"
#include "fastk/Driver/WriteScaffold.h"
#include <optional>
#include <string>
#include <vector>

namespace fastk {

/// The options of docs/commands.md, parsed and checked.
struct DriverOptions {
  /// The command line, for messages that name another.
  std::vector<std::string> arguments;
  std::string input = "-";
  /// Empty: the default banks.
  std::vector<std::string> banks;
  /// Send what a search found to the remote banks among them.
  bool pushes = false;
  /// Of a search, and what a compile has of it too: the target, the fusion, the
  /// threads and whether winners must be deterministic.
  SearchSettings search;
  Precision precision = Precision::ieee;
  /// Of workloads that are convolutions, where it is another one.
  std::optional<Precision> convolutions;
  WinnersFrom winnersFrom = WinnersFrom::Here;
  /// Where there is no winner, unproved instances of families.
  bool fromFamilies = false;
  /// Whether tensors between convolutions have their channels last.
  bool channelsLast = false;
  EmitOptions emit;
  std::optional<unsigned> requireHits;
  bool explainMiss = false;
  /// Where to say what became of each workload; empty: nowhere.
  std::string listWorkloads;
  /// Where numbers for Prometheus are written; empty: nowhere.
  std::string metrics;
  /// What a search does is said for programs, as JSON: in this file, or on
  /// stderr where it is empty.
  bool logsJSON = false;
  std::string log;
  /// Admit a family instead of compiling a model; seed and precision are the
  /// search's and the model's.
  std::optional<AdmitOptions> admit;
  /// Write a folder for a kernel author instead of a compiled model.
  std::optional<ScaffoldOptions> scaffold;
  /// Compile the one lowering of the input instead of a model: what evaluations
  /// run in a child process.
  std::optional<std::string> compileKernel;
};

/// Parses the command line, or prints what is wrong with it and the remedy and
/// returns nothing. May exit for --help and --version.
std::optional<DriverOptions> parseDriverOptions(int argc, char **argv);

} // namespace fastk

#endif // FASTK_TOOLS_FASTK_OPT_OPTIONS_H
