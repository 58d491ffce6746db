//===- Mailbox.h - Prompts and replies as files -----------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LLM_MAILBOX_H
#define FASTK_LLM_MAILBOX_H

#include "fastk/LLM/LanguageModel.h"
#include <memory>

namespace fastk {

/// `mailbox:DIR`: every prompt is a file DIR/NAME-DIGEST.prompt.md, its reply
/// the file DIR/NAME-DIGEST.answer.md, by whoever writes it, whenever. Makes
/// the folder when there is none. docs/formats/mailbox.md.
///
/// With `waitSeconds` above 0 replies are waited for until none has come for so
/// long: within ask(), or, where the search `asksMeanwhile`, beside it, as
/// waits() and takeNews() tell.
llvm::Expected<std::unique_ptr<LanguageModel>>
createMailbox(llvm::StringRef directory, double waitSeconds = 0,
              bool asksMeanwhile = false);

} // namespace fastk

#endif // FASTK_LLM_MAILBOX_H
