//===- ReplayModel.h - Replies from a cassette ------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_PROPOSE_LLM_REPLAYMODEL_H
#define FASTK_PROPOSE_LLM_REPLAYMODEL_H

#include "fastk/LLM/LanguageModel.h"
#include "fastk/Propose/Writing.h"
#include <memory>

namespace fastk {

/// `replay:FILE`, or `replay:FILE?model=NAME` where several models were
/// recorded: answers each prompt as in the recorded search. A prompt that is
/// not there is an error that tells in what it differs from the recorded one of
/// its name; with `?prompts=any` at the end, the one of its name and sample
/// answers, whatever it said. Its name() is the recorded model's, so that the
/// search is, by all names, the recorded one.
/// \p wrote, where wanted, is what it was asked to write.
llvm::Expected<std::unique_ptr<LanguageModel>>
createReplayModel(llvm::StringRef argument, Writing *wrote = nullptr);

} // namespace fastk

#endif // FASTK_PROPOSE_LLM_REPLAYMODEL_H
