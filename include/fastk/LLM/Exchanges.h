//===- Exchanges.h - Asking language models within a search -----*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What stands between a proposer and a language model: the search's journal,
// which keeps every reply so that none is paid for twice, and its budget.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LLM_EXCHANGES_H
#define FASTK_LLM_EXCHANGES_H

#include "fastk/LLM/LanguageModel.h"
#include <memory>
#include <vector>

namespace fastk {

class Exchanges {
public:
  virtual ~Exchanges();
  /// The replies to `prompts`, in their order. Nothing: the reply is pending,
  /// the budget left none, or the model gives none to any prompt; the search
  /// knows which and ends. Nothing that was answered is lost.
  virtual llvm::Expected<std::vector<std::optional<Reply>>>
  ask(LanguageModel &model, llvm::ArrayRef<Prompt> prompts) = 0;
  /// Nothing can be made of the replies that `model` gave to `prompts`, for
  /// `problem`. People are told, and a later run asks again.
  virtual llvm::Error reject(LanguageModel &model,
                             llvm::ArrayRef<Prompt> prompts,
                             llvm::StringRef problem);
};

/// Asks and keeps nothing: for tests, and for searches without a journal.
std::unique_ptr<Exchanges> createDirectExchanges();

} // namespace fastk

#endif // FASTK_LLM_EXCHANGES_H
