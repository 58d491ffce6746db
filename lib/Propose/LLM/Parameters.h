//===- Parameters.h - Numbers that a program declares -----------*- C++ -*-===//
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
// and its plan may hold strings with expressions of the program's integer
// macros where numbers belong: "grid": ["ceildiv(4096, TILE_M)"]. Such a plan,
// the template, stays with the program, as comment lines at its end:
//
//   // fastk-plan: {"format":1,...}
//
// so that whoever has the program can change its numbers (docs/prompts.md).
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_PROPOSE_LLM_PARAMETERS_H
#define FASTK_LIB_PROPOSE_LLM_PARAMETERS_H

#include "fastk/Propose/Proposer.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace fastk::llm {

using Names = std::map<std::string, int64_t>;

/// The value of an expression: integers, names, + - * / %, parentheses,
/// ceildiv(a, b), min(a, ...), max(a, ...). Division rounds towards zero.
/// Nothing: \p problem says why, in a sentence that quotes the expression.
std::optional<int64_t> evaluateExpression(llvm::StringRef text,
                                          const Names &names,
                                          std::string &problem);

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

/// What a program declares. Lines that are none are passed over; a name with
/// two different values has none.
ProgramNumbers readNumbers(llvm::StringRef program);

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

/// A variant from a program, its plan's text (empty: none) and nothing else.
/// Its `problem` is set where it cannot be made.
Variant makeVariant(Language language, llvm::StringRef program,
                    llvm::StringRef plan);

/// Up to `count` variants that differ from \p variant in one tuned parameter,
/// the nearest values first, without those in \p tried (digests) and without
/// those whose plan cannot be made or breaks \p limits (null: not checked).
struct PlanCheck {
  std::vector<int64_t> inputBytes, outputBytes;
  worker::PlanLimits limits;
};
std::vector<Variant> neighboursOf(const Variant &variant,
                                  llvm::ArrayRef<std::string> tried, int count,
                                  const PlanCheck *check);

/// Parses JSON that may be anything: also what is nested too deeply is a
/// problem.
std::optional<llvm::json::Value> parseUntrusted(llvm::StringRef text,
                                                std::string &problem);

} // namespace fastk::llm

#endif // FASTK_LIB_PROPOSE_LLM_PARAMETERS_H
