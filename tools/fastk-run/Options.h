//===- Options.h - Command line of fastk-run --------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_TOOLS_FASTK_RUN_OPTIONS_H
#define FASTK_TOOLS_FASTK_RUN_OPTIONS_H

#include "fastk/Transforms/PassChoices.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fastk::options {

extern std::string inputPath;
extern std::vector<std::string> inputFiles;
extern std::string outputFolder;
extern bool describe;
extern bool check;
extern bool runOracle;
extern bool showTime;
extern std::string targetName;
extern bool targetIsGiven;
extern bool useGraphs;
extern std::vector<std::string> banks;
extern std::string winnersFrom;
extern bool requireDeterministic;
extern Fusion fusion;
extern std::string entry;
extern uint64_t seed;
/// Nothing: as weights and activations have it.
extern std::optional<double> inputsScale;
extern bool showProfile;
extern unsigned openSize;
extern double seconds;

/// Parses the command line. Nothing where a value is wrong, which is told then.
std::optional<Precision> parseOptions(int argc, char **argv);

} // namespace fastk::options

#endif // FASTK_TOOLS_FASTK_RUN_OPTIONS_H
