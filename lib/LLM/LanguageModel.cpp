//===- LanguageModel.cpp - Whoever answers a prompt -----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/LLM/LanguageModel.h"
#include "fastk/Support/Sha256.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

using namespace llvm;
using namespace fastk;

namespace {
template <typename T>
struct Name {
  T value;
  StringLiteral text;
};
} // namespace

// As journals and cassettes spell them.
static constexpr Name<PromptKind> kKinds[] = {
    {PromptKind::Ideas, "ideas"},
    {PromptKind::Variant, "variant"},
    {PromptKind::Repair, "repair"},
};
static constexpr Name<ReplyStatus> kStatuses[] = {
    {ReplyStatus::Complete, "complete"},
    {ReplyStatus::Truncated, "truncated"},
    {ReplyStatus::Refused, "refused"},
    {ReplyStatus::Failed, "failed"},
    {ReplyStatus::Unreadable, "unreadable"},
};
static constexpr Name<ModelFailure> kFailures[] = {
    {ModelFailure::None, "none"},
    {ModelFailure::Auth, "auth"},
    {ModelFailure::Quota, "quota"},
    {ModelFailure::BadRequest, "bad_request"},
    {ModelFailure::RateLimited, "rate_limited"},
    {ModelFailure::Overloaded, "overloaded"},
    {ModelFailure::ContextTooLong, "context_too_long"},
    {ModelFailure::Timeout, "timeout"},
    {ModelFailure::Network, "network"},
    {ModelFailure::Malformed, "malformed"},
};

template <typename T, size_t N>
static StringRef nameOf(const Name<T> (&names)[N], T value) {
  for (const Name<T> &each : names)
    if (each.value == value)
      return each.text;
  llvm_unreachable("all values are named above");
}

template <typename T, size_t N>
static std::optional<T> valueOf(const Name<T> (&names)[N], StringRef text) {
  for (const Name<T> &each : names)
    if (each.text == text)
      return each.value;
  return std::nullopt;
}

StringRef fastk::stringify(PromptKind kind) { return nameOf(kKinds, kind); }
std::optional<PromptKind> fastk::parsePromptKind(StringRef text) {
  return valueOf(kKinds, text);
}
StringRef fastk::stringify(ReplyStatus status) {
  return nameOf(kStatuses, status);
}
std::optional<ReplyStatus> fastk::parseReplyStatus(StringRef text) {
  return valueOf(kStatuses, text);
}
bool fastk::isUsable(ReplyStatus status) {
  return status == ReplyStatus::Complete || status == ReplyStatus::Truncated;
}

StringRef fastk::stringify(ModelFailure failure) {
  return nameOf(kFailures, failure);
}
std::optional<ModelFailure> fastk::parseModelFailure(StringRef text) {
  return valueOf(kFailures, text);
}

bool fastk::isFatal(ModelFailure failure) {
  switch (failure) {
  case ModelFailure::Auth:
  case ModelFailure::Quota:
  case ModelFailure::BadRequest:
    return true;
  case ModelFailure::None:
  case ModelFailure::RateLimited:
  case ModelFailure::Overloaded:
  case ModelFailure::ContextTooLong:
  case ModelFailure::Timeout:
  case ModelFailure::Network:
  case ModelFailure::Malformed:
    return false;
  }
  llvm_unreachable("all failures are named above");
}

std::string fastk::digestOf(const Prompt &prompt) {
  // Of digests, so that no text can pass for the beginning of the next.
  return sha256(stringify(prompt.kind).str() + "\n" + sha256(prompt.system) +
                "\n" + sha256(prompt.user) + "\n" + sha256(prompt.schema) +
                "\n" + std::to_string(prompt.sample));
}

std::string fastk::wholeText(const Prompt &prompt) {
  std::string text = prompt.system + "\n\n" + prompt.user;
  if (!prompt.schema.empty())
    text += "\n\nAnswer with one JSON object by this JSON schema, and with "
            "nothing else:\n\n" +
            prompt.schema + "\n";
  return text;
}

LanguageModel::~LanguageModel() = default;
