//===- Options.h - Command line of fastk-run --------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_TOOLS_FASTK_RUN_OPTIONS_H
#define FASTK_TOOLS_FASTK_RUN_OPTIONS_H

#include "fastk/Transforms/PassChoices.h"
#include "llvm/Support/CommandLine.h"
#include <optional>
#include <string>

namespace fastk::options {

extern llvm::cl::opt<std::string> inputPath;
extern llvm::cl::list<std::string> inputFiles;
extern llvm::cl::opt<std::string> outputFolder;
extern llvm::cl::opt<bool> describe;
extern llvm::cl::opt<bool> check;
extern llvm::cl::opt<bool> runOracle;
extern llvm::cl::opt<bool> showTime;
extern llvm::cl::opt<std::string> targetName;
extern llvm::cl::opt<bool> useGraphs;
extern llvm::cl::list<std::string> banks;
extern llvm::cl::opt<std::string> precisionName;
extern llvm::cl::opt<std::string> winnersFrom;
extern llvm::cl::opt<bool> requireDeterministic;
extern llvm::cl::opt<Fusion> fusion;
extern llvm::cl::opt<std::string> entry;
extern llvm::cl::opt<uint64_t> seed;
extern llvm::cl::opt<double> inputsScale;
extern llvm::cl::opt<bool> showProfile;
extern llvm::cl::opt<unsigned> openSize;
extern llvm::cl::opt<double> seconds;

/// Parses the command line. Nothing where a value is wrong, which is told then.
std::optional<Precision> parseOptions(int argc, char **argv);

} // namespace fastk::options

#endif // FASTK_TOOLS_FASTK_RUN_OPTIONS_H
