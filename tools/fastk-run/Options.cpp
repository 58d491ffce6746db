//===- Options.cpp - Command line of fastk-run ----------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"
#include "RunModel.h"
#include "fastk/Dialect/Fastk/PlanRegion.h"
#include <cmath>

using namespace fastk;
using namespace fastk::options;
namespace cl = llvm::cl;

static cl::OptionCategory category("fastk-run options");
cl::opt<std::string> options::inputPath(cl::Positional, cl::cat(category),
                                        cl::desc("model.mlir, model.so or "
                                                 "model.plan"),
                                        cl::Required);
cl::list<std::string> options::inputFiles(
    "inputs", cl::cat(category), cl::CommaSeparated,
    cl::desc("arguments as .npy files, in order and separated by "
             "commas; the others are generated"),
    cl::value_desc("a.npy,b.npy"));
cl::opt<std::string> options::outputFolder(
    "outputs", cl::cat(category),
    cl::desc("write the results to DIR/out0.npy, out1.npy, ..."),
    cl::value_desc("DIR"));
cl::opt<bool> options::describe(
    "describe", cl::cat(category),
    cl::desc("tell what is in a plan file, without running it: functions, "
             "launches, code, constants"));
cl::opt<bool> options::check(
    "check", cl::cat(category),
    cl::desc("compare with the oracle, the model computed in f64"));
cl::opt<bool> options::runOracle(
    "oracle", cl::cat(category),
    cl::desc("run the oracle instead: the model computed in f64, with results "
             "in f64"));
cl::opt<bool> options::showTime("time", cl::cat(category),
                                cl::desc("time the model beside its default "
                                         "lowering, interleaved"));
cl::opt<std::string> options::targetName("target", cl::cat(category),
                                         cl::init("host"),
                                         cl::desc("host, or cuda: the GPU of "
                                                  "this machine"));
cl::opt<bool> options::useGraphs(
    "graph", cl::cat(category),
    cl::desc("for cuda: capture the model into a CUDA graph, and run "
             "that"));
cl::list<std::string> options::banks(
    "bank", cl::cat(category), cl::value_desc("DIR"),
    cl::desc("banks of winners, first wins (default: see fastk-opt)"));
cl::opt<std::string>
    options::precisionName("precision", cl::cat(category), cl::init("ieee"),
                           cl::desc("loosest error class accepted: ieee "
                                    "(default), tf32 or half"));
cl::opt<std::string> options::winnersFrom(
    "winners-from", cl::cat(category), cl::init("here"),
    cl::desc("where winners were measured: here (default) or any"));
cl::opt<bool> options::requireDeterministic(
    "require-deterministic", cl::cat(category),
    cl::desc("only winners that are known to give the same bits each time"));
cl::opt<Fusion> options::fusion(
    "fusion", cl::cat(category), cl::init(Fusion::Greedy),
    cl::desc("how workloads are formed: op, greedy (default) or whole"));
cl::opt<std::string>
    options::entry("entry", cl::cat(category),
                   cl::desc("function to run (default: the only one)"));
cl::opt<uint64_t>
    options::seed("seed", cl::cat(category), cl::init(1),
                  cl::desc("seed of the generated inputs (default 1)"));
cl::opt<double> options::inputsScale(
    "inputs-scale", cl::cat(category), cl::value_desc("S"),
    cl::desc("standard deviation of the generated floats (default 1; of "
             "tensors of two dimensions or more 1/sqrt(last size), as weights "
             "have)"));
cl::opt<bool> options::showProfile(
    "profile", cl::cat(category),
    cl::desc("for the host: which workloads take how much of its "
             "time"));
cl::opt<unsigned> options::openSize(
    "open-size", cl::cat(category), cl::init(8),
    cl::desc("size of the dimensions that the model leaves open, in "
             "inputs that are generated (default 8)"));
cl::opt<double> options::seconds(
    "seconds", cl::cat(category), cl::init(2.0),
    cl::desc("how long --time and --profile measure, in seconds "
             "(default 2)"));

/// Says what is wrong. Nothing.
static std::nullopt_t reject(llvm::Error error) {
  fail(std::move(error));
  return std::nullopt;
}

std::optional<Precision> options::parseOptions(int argc, char **argv) {
  cl::HideUnrelatedOptions(category);
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
  if (inputsScale.getNumOccurrences() &&
      (!std::isfinite(inputsScale) || inputsScale <= 0))
    return reject(llvm::createStringError(
        "--inputs-scale wants a number above 0: the standard deviation of the "
        "generated floats"));
  auto precision = parseChoice<Precision>(precisionName);
  if (!precision)
    return reject(precision.takeError());
  return *precision;
}
