//===- BackgroundModel.h - A model that is asked meanwhile ------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where a search waits for evaluations, it need not stand still while a model
// thinks either: prompts are asked on threads, and their replies are pending
// until they are there, as those of a mailbox are.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LLM_BACKGROUNDMODEL_H
#define FASTK_LLM_BACKGROUNDMODEL_H

#include "fastk/LLM/LanguageModel.h"
#include <functional>
#include <memory>

namespace fastk {

using ModelFactory =
    std::function<llvm::Expected<std::unique_ptr<LanguageModel>>()>;

/// Asks models that `make` gives, one for each of several threads, so that as
/// many calls of ask() are at work side by side. An error of one of them is the
/// next ask()'s. With the object what is in flight ends, unanswered.
llvm::Expected<std::unique_ptr<LanguageModel>>
createBackgroundModel(const ModelFactory &make, unsigned threads = 4);

} // namespace fastk

#endif // FASTK_LLM_BACKGROUNDMODEL_H
