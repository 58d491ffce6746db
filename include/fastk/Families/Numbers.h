//===- Numbers.h - Numbers that a program declares --------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program declares numbers to be varied by plain search:
//
//   #define TILE_M 128 // tune: 64, 128, 256
//
// or, in MLIR, as an attribute alias: #TILE_M = 128 : i64 // tune: 64, 128, 256
//
// and its plan may hold strings with expressions of the program's integer
// macros where numbers belong: "grid": ["ceildiv(4096, TILE_M)"]. Such a plan,
// the template, stays with the program, as comment lines at its end:
//
//   // fastk-plan: {"format":1,...}
//
// so that whoever has the program can change its numbers (docs/prompts.md).
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_FAMILIES_NUMBERS_H
#define FASTK_FAMILIES_NUMBERS_H

#include "fastk/Families/Expression.h"
#include "fastk/Protocol/LaunchPlan.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fastk::families {

using Names = std::map<std::string, int64_t>;

/// The value of an Expression. Nothing: \p problem says why, in a sentence that
/// quotes it.
std::optional<int64_t> evaluateExpression(llvm::StringRef text,
                                          const Names &names,
                                          std::string &problem);

/// An integer in decimal and nothing else; nothing: it is none.
std::optional<int64_t> readInteger(llvm::StringRef text);

struct TunedParameter {
  std::string name;
  int64_t value = 0;
  /// Ascending, `value` among them.
  std::vector<int64_t> values;
};

struct ProgramNumbers {
  std::vector<TunedParameter> tuned;
  /// All macros and integer constants of the program whose values are known.
  Names names;
};

/// What a program declares. Lines that are none are passed over, and those that
/// the preprocessor leaves out (`#if` and its like, where names decide it); a
/// name with two different values has none.
ProgramNumbers readNumbers(llvm::StringRef program);

class ProgramState;

/// The definitions of a program, to be evaluated for many values of parameters.
class ProgramDefinitions {
public:
  explicit ProgramDefinitions(llvm::StringRef program);
  ~ProgramDefinitions();
  ProgramDefinitions(const ProgramDefinitions &) = delete;
  /// Evaluates once, for all calls of evaluate(), what has nothing to do with
  /// these parameters.
  void fixAllBut(llvm::ArrayRef<TunedParameter> parameters);
  /// Leaves out the lines that no name in these expressions depends on.
  void keepFor(llvm::ArrayRef<llvm::StringRef> expressions);
  /// All names that have a value where the parameters have the given ones.
  Names evaluate(const Names &parameters) const;
  /// Those of fixAllBut(), which no other line changes.
  Names fixedNames() const;

  /// The places of names in what follows.
  NameTable &table();
  using Placed = std::pair<unsigned, int64_t>;
  /// The same as evaluate() and fixedNames().
  void evaluateInto(ProgramState &state,
                    llvm::ArrayRef<Placed> parameters) const;
  ProgramState fixedState() const;

private:
  struct Lines;
  std::unique_ptr<Lines> lines;
};

/// The program with another value of a tuned parameter.
std::string withValue(llvm::StringRef program, llvm::StringRef name,
                      int64_t value);

/// True when the text of a plan holds expressions.
bool hasExpressions(llvm::StringRef plan);

/// A program without and with its plan template.
std::string withoutTemplate(llvm::StringRef program);
std::string withTemplate(llvm::StringRef program, llvm::StringRef plan);
/// The plan template of a program; empty: none.
std::string templateOf(llvm::StringRef program);

/// A plan with its expressions evaluated. Where a launch's extent is no list,
/// it becomes one; without "format" it gets one. Nothing: \p problem says where
/// and why.
std::optional<worker::LaunchPlan>
makePlan(llvm::StringRef text, const Names &names, std::string &problem);
/// The same of a host program's plan: its bytes of workspace.
std::optional<int64_t> makeWorkspace(llvm::StringRef text, const Names &names,
                                     std::string &problem);

/// Parses JSON that may be anything: also what is nested too deeply is a
/// problem.
std::optional<llvm::json::Value> parseUntrusted(llvm::StringRef text,
                                                std::string &problem);

} // namespace fastk::families

#endif // FASTK_FAMILIES_NUMBERS_H
