//===- FamilyTask.h - Families that language models write -------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where a workload has a core, a language model is asked for a program for all
// workloads of that core. What the search evaluates is the instance that the
// family itself expects to be fastest here.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_PROPOSE_LLM_FAMILYTASK_H
#define FASTK_LIB_PROPOSE_LLM_FAMILYTASK_H

#include "ReadReply.h"
#include "fastk/Families/Family.h"
#include <memory>

namespace fastk::llm {

struct FamilyTask {
  /// The workload as its first core.
  families::CoreInstance core;
  /// "sm_90a".
  std::string arch;
  /// What the header has, for whoever writes a program.
  std::string interface;
  /// Those that there are: of the same core, else all of the target.
  std::vector<const families::Family *> known;

  /// "F1", ...: how prompts name them.
  std::vector<std::string> labels() const;
};

/// Null: the workload has no core, or the target no families. \p known must
/// outlive it.
std::unique_ptr<FamilyTask>
familyTaskOf(const ProposalContext &context,
             llvm::ArrayRef<families::Family> known);

/// What an idea says of the family that it builds on, and back; null: none.
std::string parentOf(const families::Family &family);
const families::Family *findParent(const FamilyTask &task,
                                   llvm::StringRef parent);

/// A family's three texts as a variant of the workload. Its `problem` is set
/// where they are no family, or none that serves the workload.
Variant makeFamilyVariant(const FamilyTask &task, const Idea &idea,
                          const ProgramReply &reply);

/// What of an instance is the family's own, as whoever wrote it did: program
/// and plan; the rules without what an idea says. Empty: it is none.
struct FamilyTexts {
  std::string program, plan, rules;
};
FamilyTexts textsOf(const families::Family &family);

} // namespace fastk::llm

#endif // FASTK_LIB_PROPOSE_LLM_FAMILYTASK_H
