//===- PromptLanguage.h - Languages that programs are asked for -*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All that prompts say and replies hold because of the language of a program.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_PROPOSE_LLM_PROMPTLANGUAGE_H
#define FASTK_LIB_PROPOSE_LLM_PROMPTLANGUAGE_H

#include "fastk/Propose/LLM/PromptTemplates.h"
#include "fastk/Propose/Proposer.h"
#include "fastk/Propose/Writing.h"

namespace fastk::llm {

struct PromptLanguage {
  Language language;
  /// "a C program".
  llvm::StringLiteral program;
  /// Of its fenced blocks.
  llvm::StringLiteral tag;
  /// Templates: what a program is, what one can be, and how it is given.
  llvm::StringLiteral contract, ideas, reply;
  /// Templates of the parts behind the contract; empty: it has none.
  llvm::StringLiteral plan, example, prelude;
  /// What is in every program, and how that is called where it is missing.
  llvm::StringLiteral entry, entryName;
  /// What is in every plan; empty: there is no plan. Whether a program has to
  /// have one is hasLaunchPlan().
  llvm::StringLiteral planField;
  /// The blocks of a reply.
  llvm::StringLiteral wanted;
  /// What is asked for.
  llvm::StringLiteral task;
  /// Whether the IR is shown as the function that the compiler makes of it.
  bool showsFunction;
};

const PromptLanguage &promptLanguageOf(Language language);

/// What programs are written in.
const PromptLanguage &promptLanguageOf(Writing writing,
                                       const TargetDescription &target);

/// What the compiler says itself of programs in MLIR: the lists of what they
/// may use, and the numbers of its own kernels, as templates name them.
PromptTemplates::Values compilerRules();

/// For a schedule for a GPU: the kernels that the compiler makes of the
/// workload without one, and the numbers that it chose. Empty: not known.
std::string describeKernels(LoweringOp workload);

} // namespace fastk::llm

#endif // FASTK_LIB_PROPOSE_LLM_PROMPTLANGUAGE_H
