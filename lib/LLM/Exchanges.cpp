//===- Exchanges.cpp - Asking language models within a search -------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/LLM/Exchanges.h"

using namespace llvm;
using namespace fastk;

Exchanges::~Exchanges() = default;

Error Exchanges::reject(LanguageModel &model, ArrayRef<Prompt> prompts,
                        StringRef problem) {
  return Error::success();
}

namespace {
class DirectExchanges : public Exchanges {
public:
  Expected<std::vector<std::optional<Reply>>>
  ask(LanguageModel &model, ArrayRef<Prompt> prompts) override {
    std::vector<std::optional<Reply>> replies(prompts.size());
    if (Error error = model.ask(prompts, {}, [&](size_t index, Reply reply) {
          replies[index] = std::move(reply);
          return Error::success();
        }))
      return std::move(error);
    for (const std::optional<Reply> &reply : replies)
      if (reply && isFatal(reply->failure))
        return createStringError(inconvertibleErrorCode(), reply->problem);
    return replies;
  }
};
} // namespace

std::unique_ptr<Exchanges> fastk::createDirectExchanges() {
  return std::make_unique<DirectExchanges>();
}
