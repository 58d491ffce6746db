//===- Options.cpp - Command line of fastk-run ----------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"
#include "RunModel.h"
#include "fastk/Dialect/Fastk/PlanRegion.h"
#include "llvm/Support/CommandLine.h"
#include <cmath>

using namespace fastk;
using namespace fastk::options;
namespace cl = llvm::cl;

std::string options::inputPath;
std::vector<std::string> options::inputFiles;
std::string options::outputFolder;
bool options::describe = false;
bool options::check = false;
bool options::runOracle = false;
bool options::showTime = false;
std::string options::targetName = "host";
bool options::targetIsGiven = false;
bool options::useGraphs = false;
std::vector<std::string> options::banks;
std::string options::winnersFrom = "here";
bool options::requireDeterministic = false;
Fusion options::fusion = Fusion::Greedy;
std::string options::entry;
uint64_t options::seed = 1;
std::optional<double> options::inputsScale;
bool options::showProfile = false;
unsigned options::openSize = 8;
double options::seconds = 2.0;

namespace {
/// Made when they are parsed: tools of one program have options of one name
/// (tools/Tools.h).
struct CommandLine {
  using Strings = cl::list<std::string, std::vector<std::string>>;

  cl::OptionCategory category{"fastk-run options"};
  cl::opt<std::string, true> input{
      cl::Positional, cl::location(inputPath), cl::cat(category),
      cl::desc("model.mlir, model.so or model.plan"), cl::Required};
  Strings files{"inputs",
                cl::location(inputFiles),
                cl::cat(category),
                cl::CommaSeparated,
                cl::desc("arguments as .npy files, in order and separated by "
                         "commas; the others are generated"),
                cl::value_desc("a.npy,b.npy")};
  cl::opt<std::string, true> outputs{
      "outputs", cl::location(outputFolder), cl::cat(category),
      cl::desc("write the results to DIR/out0.npy, out1.npy, ..."),
      cl::value_desc("DIR")};
  cl::opt<bool, true> describe{
      "describe", cl::location(options::describe), cl::cat(category),
      cl::desc("tell what is in a plan file, without running it: functions, "
               "launches, code, constants")};
  cl::opt<bool, true> check{
      "check", cl::location(options::check), cl::cat(category),
      cl::desc("compare with the oracle, the model computed in f64")};
  cl::opt<bool, true> oracle{
      "oracle", cl::location(runOracle), cl::cat(category),
      cl::desc("run the oracle instead: the model computed in f64, with "
               "results in f64")};
  cl::opt<bool, true> time{
      "time", cl::location(showTime), cl::cat(category),
      cl::desc("time the model beside its default lowering, interleaved")};
  cl::opt<std::string, true> target{
      "target", cl::location(targetName), cl::cat(category),
      cl::desc("host, or cuda: the GPU of this machine")};
  cl::opt<bool, true> graph{
      "graph", cl::location(useGraphs), cl::cat(category),
      cl::desc("for cuda: capture the model into a CUDA graph, and run that")};
  Strings bank{
      "bank", cl::location(banks), cl::cat(category), cl::value_desc("DIR|URL"),
      cl::desc("banks of winners, first wins (default: see fastk-opt)")};
  cl::opt<std::string> precision{
      "precision", cl::cat(category), cl::init("ieee"),
      cl::desc("loosest error class accepted: ieee (default), tf32 or half")};
  cl::opt<std::string, true> from{
      "winners-from", cl::location(winnersFrom), cl::cat(category),
      cl::desc("where winners were measured: here (default) or any")};
  cl::opt<bool, true> deterministic{
      "require-deterministic", cl::location(requireDeterministic),
      cl::cat(category),
      cl::desc("only winners that are known to give the same bits each time")};
  cl::opt<Fusion, true> fusion{
      "fusion", cl::location(options::fusion), cl::cat(category),
      cl::desc("how workloads are formed: op, greedy (default) or whole")};
  cl::opt<std::string, true> entry{
      "entry", cl::location(options::entry), cl::cat(category),
      cl::desc("function to run, which alone is compiled (default: the only "
               "one)")};
  cl::opt<uint64_t, true> seed{
      "seed", cl::location(options::seed), cl::cat(category),
      cl::desc("seed of the generated inputs (default 1)")};
  cl::opt<double> scale{
      "inputs-scale", cl::cat(category), cl::value_desc("S"),
      cl::desc("standard deviation of the generated floats (default 1; of "
               "tensors of two dimensions or more 1/sqrt(last size), as "
               "weights have)")};
  cl::opt<bool, true> profile{
      "profile", cl::location(showProfile), cl::cat(category),
      cl::desc("for the host: which workloads take how much of its time")};
  cl::opt<unsigned, true> openSize{
      "open-size", cl::location(options::openSize), cl::cat(category),
      cl::desc("size of the dimensions that the model leaves open, in "
               "inputs that are generated (default 8)")};
  cl::opt<double, true> seconds{
      "seconds", cl::location(options::seconds), cl::cat(category),
      cl::desc("how long --time and --profile measure, in seconds "
               "(default 2)")};
};
} // namespace

/// Says what is wrong. Nothing.
static std::nullopt_t reject(llvm::Error error) {
  fail(std::move(error));
  return std::nullopt;
}

std::optional<Precision> options::parseOptions(int argc, char **argv) {
  CommandLine line;
  cl::HideUnrelatedOptions(line.category);
  cl::ParseCommandLineOptions(
      argc, argv,
      "Compile a model with the winners of the bank, run it, check and time "
      "it.\n\n"
      "  fastk-run model.mlir --check --time\n"
      "  fastk-run model.so --inputs a.npy,b.npy --outputs results\n"
      "  fastk-run model.plan --describe\n\n"
      "Inputs that are not given are generated: floats from N(0, 1), those of "
      "tensors of\ntwo dimensions or more divided by sqrt(last size); in "
      "[0.5, 1.5] what has to be\npositive; indices in range, other integers 0 "
      "or 1. A branch of the model that such\nvalues never take is neither run "
      "nor checked: scale them with --inputs-scale, or\ngive values of your "
      "own "
      "with --inputs.\n\n"
      "Exit codes: 0 done, 1 the input or the options are wrong, 2 --check "
      "found a wrong result.\n");
  targetIsGiven = line.target.getNumOccurrences() != 0;
  if (targetName != "host" && targetName != "cuda" && !planLimitsOf(targetName))
    return reject(llvm::createStringError("unknown target '" + targetName +
                                          "': choose host or cuda"));
  auto from = parseChoice<WinnersFrom>(winnersFrom, "--");
  if (!from)
    return reject(from.takeError());
  if (!(seconds > 0))
    return reject(llvm::createStringError(
        "--seconds wants a number above 0: how long --time and --profile "
        "measure"));
  if (line.scale.getNumOccurrences())
    inputsScale = line.scale;
  if (inputsScale && (!std::isfinite(*inputsScale) || *inputsScale <= 0))
    return reject(llvm::createStringError(
        "--inputs-scale wants a number above 0: the standard deviation of the "
        "generated floats"));
  auto precision = parseChoice<Precision>(line.precision);
  if (!precision)
    return reject(precision.takeError());
  return *precision;
}
