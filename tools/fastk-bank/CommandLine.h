//===- CommandLine.h - The options of fastk-bank ----------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_TOOLS_FASTK_BANK_COMMANDLINE_H
#define FASTK_TOOLS_FASTK_BANK_COMMANDLINE_H

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
  std::string exportTo;
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
  cl::SubCommand exports{"export",
                         "copy winners that hold into a bank of their own"};
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
      cl::sub(spread)};
  cl::opt<bool, true> json{"json",
                           cl::location(given.asJson),
                           cl::desc("Print JSON instead of text"),
                           cl::cat(category),
                           cl::sub(list),
                           cl::sub(show),
                           cl::sub(verify),
                           cl::sub(prune)};
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
      cl::sub(merge)};
  cl::opt<unsigned, true> threads{
      "num-threads",
      cl::location(given.numThreads),
      cl::value_desc("N"),
      cl::desc("Threads to measure with; all processors by default"),
      cl::cat(category),
      cl::sub(verify),
      cl::sub(merge)};
  cl::opt<bool, true> remove{"remove", cl::location(given.removeThem),
                             cl::desc("Remove what is listed"),
                             cl::cat(category), cl::sub(prune)};
  cl::opt<std::string, true> to{"to",
                                cl::location(given.exportTo),
                                cl::value_desc("DIR"),
                                cl::desc("Where the copies, or the family, go"),
                                cl::cat(category),
                                cl::sub(exports),
                                cl::sub(extract)};
};

} // namespace fastk::bank

#endif // FASTK_TOOLS_FASTK_BANK_COMMANDLINE_H
