//===- WritePrompts.h - From a request to prompts ---------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The templates say it, this fills in what is known of workload, device and
// search. What is long is cut so that a prompt stays within about 12k tokens.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_PROPOSE_LLM_WRITEPROMPTS_H
#define FASTK_LIB_PROPOSE_LLM_WRITEPROMPTS_H

#include "FamilyTask.h"
#include "PromptLanguage.h"
#include "fastk/Propose/LLM/LLMProposer.h"
#include "fastk/Target/DeviceDescription.h"

namespace fastk::llm {

/// The tried variant of that digest; null: none.
const TriedVariant *findTried(const ProposalContext &context,
                              llvm::StringRef digest);

/// A block that text of any kind cannot end.
std::string fenced(llvm::StringRef tag, llvm::StringRef text);
std::string bullets(llvm::ArrayRef<std::string> lines);

/// The numbers that the judge goes by, for templates.
PromptTemplates::Values contractNumbers();

class PromptWriter {
public:
  /// \p task, where families are to be written; null: programs for this
  /// workload alone.
  PromptWriter(const PromptTemplates &templates, const ProposalContext &context,
               const LLMProposerOptions &options,
               const FamilyTask *task = nullptr);

  Prompt ideas(int count) const;
  /// After a reply that could not be read.
  Prompt ideasAgain(const Prompt &first, llvm::StringRef problem,
                    llvm::StringRef reply) const;
  /// Sample 1 to `samples`.
  Prompt variant(const Idea &idea, int sample, int samples) const;
  Prompt repair(const FailedVariant &failed) const;

  /// "P1", ...: how the ideas prompt names the parents. Families have labels of
  /// their own.
  std::vector<std::string> labels() const;

private:
  PromptTemplates::Values common() const;
  bool isCuda() const { return context.target.target != "host"; }
  std::string contract(llvm::StringRef name) const;
  std::string part(llvm::StringRef name) const;
  std::string nameOf(llvm::StringRef rest) const;
  std::string device() const;
  std::string workload() const;
  std::string standing() const;
  std::string history() const;
  std::string known() const;
  std::string parents() const;
  std::string showProgram(const TriedVariant &tried, size_t most) const;
  std::string showKnownFamilies() const;
  /// What the idea builds on.
  std::string showParent(const Idea &idea) const;
  std::string showFailed(const TriedVariant &tried) const;

  const PromptTemplates &templates;
  const ProposalContext &context;
  const LLMProposerOptions &options;
  const FamilyTask *task;
  const PromptLanguage &language;
  std::optional<DeviceDescription> gpu;
};

} // namespace fastk::llm

#endif // FASTK_LIB_PROPOSE_LLM_WRITEPROMPTS_H
