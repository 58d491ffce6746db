//===- Anthropic.cpp - Anthropic's Messages -------------------------------===//
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

/// This wire has no default of its own.
static constexpr int64_t kDefaultLimit = 16000;

static std::string path(const ModelOptions &) { return "/v1/messages"; }

static Json makeBody(const Prompt &prompt, const ModelOptions &options) {
  int64_t limit = outputLimitOf(prompt, options);
  Json body;
  body["model"] = options.model;
  body["max_tokens"] = limit > 0 ? limit : kDefaultLimit;
  // What the prompts of one kind share is cached only if it is marked.
  if (!prompt.system.empty())
    body["system"] =
        Json::array({{{"type", "text"},
                      {"text", prompt.system},
                      {"cache_control", {{"type", "ephemeral"}}}}});
  body["messages"] = Json::array(
      {{{"role", "user"}, {"content", userTextOf(prompt, options)}}});
  Json output;
  if (!options.effort.empty())
    output["effort"] = options.effort;
  if (Json schema = schemaOf(prompt, options); !schema.is_null())
    output["format"] = {{"type", "json_schema"}, {"schema", std::move(schema)}};
  if (!output.is_null())
    body["output_config"] = std::move(output);
  if (options.temperature)
    body["temperature"] = *options.temperature;
  if (options.topP)
    body["top_p"] = *options.topP;
  return body;
}

static void readUsage(const Json &usage, WireReply &into) {
  Usage &result = into.reply.usage;
  result.cachedTokens = countOf(field(usage, "cache_read_input_tokens"));
  into.cacheWriteTokens = countOf(field(usage, "cache_creation_input_tokens"));
  // Its input_tokens are those that no cache had to do with.
  result.inputTokens = countOf(field(usage, "input_tokens")) +
                       result.cachedTokens + into.cacheWriteTokens;
  result.outputTokens = countOf(field(usage, "output_tokens"));
  result.reasoningTokens =
      countOf(field(usage, "output_tokens_details", "thinking_tokens"));
}

static WireReply readReply(const HttpResult &result, int64_t) {
  WireReply into;
  Json document;
  if (std::optional<Reply> failure = readFailure(result, document))
    return {std::move(*failure)};
  readUsage(field(document, "usage"), into);
  Reply &reply = into.reply;
  if (const Json &content = field(document, "content"); content.is_array())
    for (const Json &block : content)
      if (textOf(field(block, "type")) == "text")
        reply.text += textOf(field(block, "text"));
  StringRef stop = textOf(field(document, "stop_reason"));
  if (stop == "max_tokens" || stop == "model_context_window_exceeded") {
    reply.status = ReplyStatus::Truncated;
  } else if (stop == "refusal") {
    reply.status = ReplyStatus::Refused;
    reply.problem = "refused by the model";
  } else if (reply.text.empty()) {
    reply.status = ReplyStatus::Failed;
    reply.failure = ModelFailure::Malformed;
    reply.problem = "the response has no text (a content block of type text); "
                    "its stop_reason is '" +
                    oneLine(stop, 40) + "'";
  }
  return into;
}

const Wire fastk::kAnthropicWire = {
    path, makeBody, readReply, "anthropic-version", "2023-06-01", false};
