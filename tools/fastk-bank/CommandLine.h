//===- CommandLine.h - The options of fastk-bank ----------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_TOOLS_FASTK_BANK_COMMANDLINE_H
#define FASTK_TOOLS_FASTK_BANK_COMMANDLINE_H

#include "Export.h"
#include "llvm/Support/CommandLine.h"
#include <string>
#include <vector>

namespace fastk::bank {

namespace cl = llvm::cl;

/// What was asked for.
struct Options {
  std::vector<std::string> directories;
  bool asJson = false;
  std::string keyPrefix, onlyTarget;
  bool remeasureAll = false, byRecord = false, requireDeterministic = false;
  unsigned numThreads = 0;
  bool removeThem = false;
  bool judgesAll = false;
  /// Of sync: families, not winners; and those that are there may go.
  bool syncsFamilies = false, replaces = false;
  /// Of an export, and where a family goes.
  ExportOptions exports;
  ShowOptions shown;
};

/// Made when they are parsed: tools of one program have options of one name
/// (tools/Tools.h).
struct CommandLine {
  explicit CommandLine(Options &given) : given(given) {}

  Options &given;
  cl::OptionCategory category{"Options"};
  cl::SubCommand list{"list", "one line per winner: what, how fast, how"};
  cl::SubCommand show{"show", "everything known of each winner, or of --key"};
  cl::SubCommand verify{"verify",
                        "read every winner in full and name the stale ones"};
  cl::SubCommand merge{"merge",
                       "put the winners of other banks into the first one: "
                       "the faster of two stays"};
  cl::SubCommand prune{"prune", "list what no compile uses, or --remove it"};
  cl::SubCommand spread{"spread",
                        "move winners to where a bank of very many has them"};
  cl::SubCommand sync{
      "sync", "bring the winners of one bank into another, where one of "
              "them is a URL"};
  cl::SubCommand judge{
      "judge",
      "measure the winners of remote banks that compiles here wanted, so that "
      "they are used"};
  cl::SubCommand exports{
      "export",
      "write winners that hold as another bank, or for nvcc, PyTorch, "
      "KernelBench, FlashInfer-Bench"};
  cl::SubCommand families{
      "families",
      "one line per family: what it is, and whether it is admitted"};
  cl::SubCommand extract{
      "extract-family",
      "write the family of which a winner is an instance, or a program's file, "
      "as a folder"};

  cl::list<std::string, std::vector<std::string>> folders{
      cl::Positional,       cl::location(given.directories),
      cl::desc("[DIR...]"), cl::cat(category),
      cl::sub(list),        cl::sub(show),
      cl::sub(verify),      cl::sub(merge),
      cl::sub(prune),       cl::sub(exports),
      cl::sub(families),    cl::sub(extract),
      cl::sub(spread),      cl::sub(sync),
      cl::sub(judge)};
  cl::opt<bool, true> json{"json",
                           cl::location(given.asJson),
                           cl::desc("Print JSON instead of text"),
                           cl::cat(category),
                           cl::sub(list),
                           cl::sub(show),
                           cl::sub(verify),
                           cl::sub(judge),
                           cl::sub(prune)};
  cl::opt<bool, true> all{"all", cl::location(given.judgesAll),
                          cl::desc("Judge all winners that are asked for, not "
                                   "only those that were wanted here"),
                          cl::cat(category), cl::sub(judge)};
  cl::opt<std::string, true> key{
      "key",
      cl::location(given.keyPrefix),
      cl::value_desc("HEX"),
      cl::desc("Only winners whose key begins with these digits"),
      cl::cat(category),
      cl::sub(list),
      cl::sub(show),
      cl::sub(verify),
      cl::sub(merge),
      cl::sub(sync),
      cl::sub(judge),
      cl::sub(exports)};
  cl::opt<std::string, true> target{
      "target",
      cl::location(given.onlyTarget),
      cl::value_desc("TARGET"),
      cl::desc("Only winners for this target: host, cuda:sm_90a"),
      cl::cat(category),
      cl::sub(list),
      cl::sub(show),
      cl::sub(verify),
      cl::sub(merge),
      cl::sub(sync),
      cl::sub(judge),
      cl::sub(exports)};
  cl::opt<bool, true> remeasure{
      "remeasure", cl::location(given.remeasureAll),
      cl::desc("Also validate and time each winner on this machine again"),
      cl::cat(category), cl::sub(verify)};
  cl::opt<bool, true> record{
      "by-record", cl::location(given.byRecord),
      cl::desc("Compare recorded times instead of measuring again: the smaller "
               "median of one machine stays, other machines stand beside it"),
      cl::cat(category), cl::sub(merge)};
  cl::opt<bool, true> deterministic{
      "require-deterministic",
      cl::location(given.requireDeterministic),
      cl::desc("Refuse winners that give other bits for the same operands; "
               "with --by-record those whose record does not say that they do "
               "not"),
      cl::cat(category),
      cl::sub(verify),
      cl::sub(sync),
      cl::sub(judge),
      cl::sub(merge)};
  cl::opt<unsigned, true> threads{
      "num-threads",
      cl::location(given.numThreads),
      cl::value_desc("N"),
      cl::desc("Threads to measure with; all processors by default"),
      cl::cat(category),
      cl::sub(verify),
      cl::sub(sync),
      cl::sub(judge),
      cl::sub(merge)};
  cl::opt<bool, true> syncsFamilies{
      "families", cl::location(given.syncsFamilies),
      cl::desc(
          "Families, not winners: a folder as families/ to a URL, or back"),
      cl::cat(category), cl::sub(sync)};
  cl::opt<bool, true> replaces{
      "replace", cl::location(given.replaces),
      cl::desc("With --families: put them in the place of others of their "
               "names"),
      cl::cat(category), cl::sub(sync)};
  cl::opt<bool, true> remove{"remove", cl::location(given.removeThem),
                             cl::desc("Remove what is listed"),
                             cl::cat(category), cl::sub(prune)};
  cl::opt<std::string, true> to{"to",
                                cl::location(given.exports.to),
                                cl::value_desc("DIR"),
                                cl::desc("Where the copies, or the family, go"),
                                cl::cat(category),
                                cl::sub(exports),
                                cl::sub(extract)};
  cl::opt<bool, true> ptx{"ptx", cl::location(given.shown.ptx),
                          cl::desc("Also print the PTX of winners for GPUs"),
                          cl::cat(category), cl::sub(show)};
  cl::opt<bool, true> sass{
      "sass", cl::location(given.shown.sass),
      cl::desc("Also print their machine code, by nvdisasm or cuobjdump"),
      cl::cat(category), cl::sub(show)};
  cl::opt<bool, true> resources{
      "resources", cl::location(given.shown.resources),
      cl::desc("Also print what ptxas says that each of their kernels needs "
               "(registers, spills, shared memory), and how many blocks that "
               "lets on a multiprocessor"),
      cl::cat(category), cl::sub(show)};
  cl::opt<ExportFormat, true> format{
      "format",
      cl::location(given.exports.format),
      cl::desc("What is written (docs/export.md); default bank"),
      cl::values(
          clEnumValN(ExportFormat::Bank, "bank", "copies, as another bank"),
          clEnumValN(ExportFormat::Cu, "cu",
                     "one file for nvcc: kernels, launcher, a program to "
                     "profile"),
          clEnumValN(ExportFormat::Torch, "torch",
                     "a Python package for PyTorch that compiles itself"),
          clEnumValN(ExportFormat::KernelBench, "kernelbench",
                     "a ModelNew for the problem --reference"),
          clEnumValN(ExportFormat::FlashInfer, "flashinfer",
                     "a Solution for the Definition --definition")),
      cl::cat(category),
      cl::sub(exports)};
  cl::opt<std::string, true> reference{
      "reference",
      cl::location(given.exports.reference),
      cl::value_desc("FILE.py"),
      cl::desc("The KernelBench problem whose Model the winner replaces"),
      cl::cat(category),
      cl::sub(exports)};
  cl::opt<std::string, true> definition{
      "definition",
      cl::location(given.exports.definition),
      cl::value_desc("FILE.json"),
      cl::desc("The Definition of FlashInfer-Bench that the winner solves"),
      cl::cat(category),
      cl::sub(exports)};
  cl::list<std::string, std::vector<std::string>> axes{
      "axis",
      cl::location(given.exports.axes),
      cl::value_desc("NAME=SIZE"),
      cl::desc("The size of an open axis of the Definition; repeatable"),
      cl::cat(category),
      cl::sub(exports)};
  cl::opt<std::string, true> imported{
      "imported",
      cl::location(given.exports.imported),
      cl::value_desc("DIR"),
      cl::desc("The model's import, made before by python3 -m "
               "fastk.kernelbench.reference or fastk.flashinfer; else it is "
               "imported now, which needs PyTorch"),
      cl::cat(category),
      cl::sub(exports)};
  cl::opt<Precision, true> precision{
      "precision",
      cl::location(given.exports.precision),
      cl::desc("The loosest error class for a model; default ieee"),
      cl::values(clEnumValN(Precision::ieee, "ieee", "that of f32"),
                 clEnumValN(Precision::tf32, "tf32", "that of TF32"),
                 clEnumValN(Precision::half, "half", "that of f16")),
      cl::cat(category),
      cl::sub(exports)};
};

} // namespace fastk::bank

#endif // FASTK_TOOLS_FASTK_BANK_COMMANDLINE_H
