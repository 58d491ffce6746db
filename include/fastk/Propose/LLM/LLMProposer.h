//===- LLMProposer.h - Ideas and programs of a language model ---*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A proposer that writes prompts and reads replies. It asks by way of the
// request's exchanges and keeps nothing itself: what it says follows from the
// request, the templates and the replies.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_PROPOSE_LLM_LLMPROPOSER_H
#define FASTK_PROPOSE_LLM_LLMPROPOSER_H

#include "fastk/Families/Family.h"
#include "fastk/LLM/LanguageModel.h"
#include "fastk/Propose/LLM/PromptTemplates.h"
#include "fastk/Propose/Proposer.h"
#include "fastk/Propose/Writing.h"
#include <memory>

namespace fastk {

struct LLMProposerOptions {
  /// Limits of a reply, reasoning included; a reply that is cut is asked for
  /// once more with twice as many.
  int64_t ideaTokens = 16384, programTokens = 32768;
  /// Begins the ids of ideas: another one for each model of a search.
  std::string idPrefix = "llm";
  Writing writing = Writing::Programs;
  /// Those that there are, to be shown where families are asked for.
  std::vector<families::Family> families = {};
};

std::unique_ptr<Proposer>
createLLMProposer(std::unique_ptr<LanguageModel> model,
                  PromptTemplates templates, LLMProposerOptions options = {});

} // namespace fastk

#endif // FASTK_PROPOSE_LLM_LLMPROPOSER_H
