//===- LanguageModel.h - Whoever answers a prompt ---------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A prompt in, a reply out: a provider's HTTP service, a command, a folder that
// somebody answers, a recorded cassette. A model knows nothing of searches and
// keeps nothing: what it said is kept by whoever asked.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LLM_LANGUAGEMODEL_H
#define FASTK_LLM_LANGUAGEMODEL_H

#include "fastk/Support/RequestContext.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <optional>
#include <string>

namespace fastk {

/// What a reply is to hold.
enum class PromptKind {
  Ideas,   ///< A JSON object by the prompt's schema.
  Variant, ///< Fenced blocks: a program, for a GPU also its plan.
  Repair   ///< The same, mended.
};
llvm::StringRef stringify(PromptKind kind);
std::optional<PromptKind> parsePromptKind(llvm::StringRef text);

/// Complete in itself: whoever answers needs to know nothing else.
struct Prompt {
  PromptKind kind = PromptKind::Ideas;
  /// Its place in the search, unique within it, for people and file names:
  /// "1f3a9c0b-round-1-ideas". Letters, digits, '-', '.' and '_' only.
  std::string name;
  /// What the prompts of one kind have in common, byte for byte, so that
  /// providers can cache it. Comes first.
  std::string system;
  std::string user;
  /// JSON schema of the reply; empty: free text.
  std::string schema;
  /// What identifies the templates it was written from, for the record; not
  /// part of its digest.
  std::string templates = {};
  /// Tells several replies to one text apart.
  int sample = 0;
  /// Limit of the reply, reasoning included; 0: the model's own. Not part of
  /// the prompt's digest: to ask again with a higher one, change the sample,
  /// too.
  int64_t maxOutputTokens = 0;
};

/// SHA-256 in hex of kind, texts, schema and sample. Neither the name nor the
/// limit nor the model is part of it.
std::string digestOf(const Prompt &prompt);
/// The prompt as one text, for those who take no roles.
std::string wholeText(const Prompt &prompt);

/// What a reply cost. Zero where nobody said.
struct Usage {
  /// All input tokens, the cached ones included, and all output tokens, the
  /// reasoning included.
  int64_t inputTokens = 0, cachedTokens = 0;
  int64_t outputTokens = 0, reasoningTokens = 0;
  /// Requests that were made, retries included.
  int attempts = 1;
  double seconds = 0;
  /// By the user's price table or the provider's own word.
  std::optional<double> usd;
  /// The model did not say: counted from the texts, four characters a token.
  bool isEstimated = false;
};

enum class ReplyStatus {
  Complete,
  Truncated, ///< Cut by a limit; `text` is what came until then.
  Refused,   ///< The model or its provider would not answer.
  Failed,    ///< There is no answer; `failure` and `problem` say why.
  Unreadable ///< Nothing can be made of `text`; `problem` says why.
};
llvm::StringRef stringify(ReplyStatus status);
std::optional<ReplyStatus> parseReplyStatus(llvm::StringRef text);
/// True for what is worth its price: no search asks for it again.
bool isUsable(ReplyStatus status);

enum class ModelFailure {
  None,
  // The same for every prompt: the user has to do something.
  Auth,
  Quota,
  BadRequest,
  // Of this prompt or this moment.
  RateLimited,
  Overloaded,
  ContextTooLong,
  Timeout,
  Network,
  Malformed
};
llvm::StringRef stringify(ModelFailure failure);
std::optional<ModelFailure> parseModelFailure(llvm::StringRef text);
/// True for what no other prompt would escape.
bool isFatal(ModelFailure failure);

struct Reply {
  /// Who answered: "openai:gpt-5", "mailbox:DIR".
  std::string model;
  std::string text;
  ReplyStatus status = ReplyStatus::Complete;
  ModelFailure failure = ModelFailure::None;
  /// What failed and what to do about it; no key is ever in it.
  std::string problem;
  Usage usage;
};

class LanguageModel {
public:
  virtual ~LanguageModel();
  /// As the user named it: "anthropic:MODEL", "mailbox:DIR".
  virtual llvm::StringRef name() const = 0;
  using OnReply = llvm::function_ref<llvm::Error(size_t index, Reply reply)>;
  /// Asks all prompts, as many at once as the model takes, and hands over each
  /// reply when it arrives, in any order; those without a reply are pending. A
  /// service that does not answer is a reply of status Failed; an error means
  /// that nobody could be asked (no folder, no program, a damaged cassette), or
  /// is `onReply`'s, which ends everything. Where `context` ends the waiting,
  /// what has not come is pending.
  virtual llvm::Error ask(llvm::ArrayRef<Prompt> prompts,
                          const RequestContext &context, OnReply onReply) = 0;
  /// Empty for models that answer at once. For the others, what has to be done
  /// to get the pending replies, as the end of "answer ...".
  virtual std::string pendingHint() const { return ""; }
  /// Whether pending replies come by themselves while this process runs.
  virtual bool waits() const { return false; }
  /// Whether `prompt` was asked and its reply is on its way or there, though
  /// nobody has it: asking again takes it, and costs nothing.
  virtual bool isAsked(const Prompt &prompt) { return false; }
  /// Whether there is one, or a problem, of which nobody was told so far.
  virtual bool takeNews() { return false; }
};

} // namespace fastk

#endif // FASTK_LLM_LANGUAGEMODEL_H
