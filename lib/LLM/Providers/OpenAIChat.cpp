//===- OpenAIChat.cpp - OpenAI's Chat Completions -------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Classify.h"
#include "JSONValues.h"
#include "Provider.h"

using namespace llvm;
using namespace fastk;

static std::string path(const ModelOptions &) { return "/chat/completions"; }

static Json makeBody(const Prompt &prompt, const ModelOptions &options) {
  Json body;
  body["model"] = options.model;
  body["messages"] = Json::array();
  if (!prompt.system.empty())
    body["messages"].push_back(
        {{"role", "system"}, {"content", prompt.system}});
  body["messages"].push_back(
      {{"role", "user"}, {"content", userTextOf(prompt, options)}});
  if (int64_t limit = outputLimitOf(prompt, options))
    body[options.limitField.empty() ? "max_completion_tokens"
                                    : options.limitField] = limit;
  if (!options.effort.empty())
    body["reasoning_effort"] = options.effort;
  if (options.temperature)
    body["temperature"] = *options.temperature;
  if (options.topP)
    body["top_p"] = *options.topP;
  if (options.seed)
    body["seed"] = *options.seed;
  if (Json schema = schemaOf(prompt, options); !schema.is_null())
    body["response_format"] = {{"type", "json_schema"},
                               {"json_schema",
                                {{"name", stringify(prompt.kind).str()},
                                 {"strict", true},
                                 {"schema", std::move(schema)}}}};
  return body;
}

/// A string, or an array of parts of which those of type text count.
static std::string contentText(const Json &content) {
  if (!content.is_array())
    return textOf(content).str();
  std::string text;
  for (const Json &part : content)
    text += textOf(field(part, "text"));
  return text;
}

static void readUsage(const Json &usage, WireReply &into) {
  Usage &result = into.reply.usage;
  result.inputTokens = countOf(field(usage, "prompt_tokens"));
  result.outputTokens = countOf(field(usage, "completion_tokens"));
  const Json &input = field(usage, "prompt_tokens_details");
  result.cachedTokens = countOf(field(input, "cached_tokens"));
  into.cacheWriteTokens = countOf(field(input, "cache_write_tokens"));
  result.reasoningTokens =
      countOf(field(usage, "completion_tokens_details", "reasoning_tokens"));
  // OpenRouter says what it took.
  if (const Json &cost = field(usage, "cost"); cost.is_number())
    result.usd = numberOf(cost);
}

static WireReply readReply(const HttpResult &result, int64_t) {
  WireReply into;
  Json document;
  if (std::optional<Reply> failure = readFailure(result, document))
    return {std::move(*failure)};
  const Json &choice = element(field(document, "choices"), 0);
  const Json &message = field(choice, "message");
  // OpenRouter: a model that failed on the way.
  if (std::optional<ProviderError> error = errorIn(choice))
    into.reply = failureOf(result, error);
  else if (StringRef refusal = textOf(field(message, "refusal"));
           !refusal.empty())
    into.reply = refused("refused by the model: " + oneLine(refusal));
  else
    into.reply.text = contentText(field(message, "content"));
  readUsage(field(document, "usage"), into);
  Reply &reply = into.reply;
  if (reply.status != ReplyStatus::Complete)
    return into;
  StringRef finish = textOf(field(choice, "finish_reason"));
  if (finish == "length") {
    reply.status = ReplyStatus::Truncated;
  } else if (finish == "content_filter") {
    reply.status = ReplyStatus::Refused;
    reply.problem = "stopped by the provider's content filter";
  } else if (reply.text.empty()) {
    reply.status = ReplyStatus::Failed;
    reply.failure = ModelFailure::Malformed;
    reply.problem = "the response has no text (choices[0].message.content)";
  }
  return into;
}

const Wire fastk::kOpenAIChatWire = {path, makeBody, readReply, "", "", true};
