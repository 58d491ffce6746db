//===- OpenAIResponses.cpp - OpenAI's Responses ---------------------------===//
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

static std::string path(const ModelOptions &) { return "/responses"; }

static Json makeBody(const Prompt &prompt, const ModelOptions &options) {
  Json body;
  body["model"] = options.model;
  if (!prompt.system.empty())
    body["instructions"] = prompt.system;
  body["input"] = userTextOf(prompt, options);
  if (int64_t limit = outputLimitOf(prompt, options))
    body["max_output_tokens"] = limit;
  if (!options.effort.empty())
    body["reasoning"] = {{"effort", options.effort}};
  if (options.temperature)
    body["temperature"] = *options.temperature;
  if (options.topP)
    body["top_p"] = *options.topP;
  if (Json schema = schemaOf(prompt, options); !schema.is_null())
    body["text"] = {{"format",
                     {{"type", "json_schema"},
                      {"name", stringify(prompt.kind).str()},
                      {"strict", true},
                      {"schema", std::move(schema)}}}};
  // Nothing is asked for a second time.
  body["store"] = false;
  return body;
}

static void readUsage(const Json &usage, WireReply &into) {
  Usage &result = into.reply.usage;
  result.inputTokens = countOf(field(usage, "input_tokens"));
  result.outputTokens = countOf(field(usage, "output_tokens"));
  const Json &input = field(usage, "input_tokens_details");
  result.cachedTokens = countOf(field(input, "cached_tokens"));
  into.cacheWriteTokens = countOf(field(input, "cache_write_tokens"));
  result.reasoningTokens =
      countOf(field(usage, "output_tokens_details", "reasoning_tokens"));
}

/// Collects the text; what the model said instead of an answer comes back.
static std::string readOutput(const Json &output, std::string &text) {
  std::string refusal;
  if (!output.is_array())
    return refusal;
  for (const Json &item : output) {
    const Json &content = field(item, "content");
    // Reasoning items have content, too.
    if (textOf(field(item, "type")) != "message" || !content.is_array())
      continue;
    for (const Json &part : content) {
      if (textOf(field(part, "type")) == "output_text")
        text += textOf(field(part, "text"));
      refusal += textOf(field(part, "refusal"));
    }
  }
  return refusal;
}

static WireReply readReply(const HttpResult &result, int64_t outputLimit) {
  WireReply into;
  Json document;
  // "error" is null in a good response, and tells why in a failed one.
  if (std::optional<Reply> failure = readFailure(result, document)) {
    into.reply = std::move(*failure);
    readUsage(field(document, "usage"), into);
    return into;
  }
  readUsage(field(document, "usage"), into);
  Reply &reply = into.reply;
  Usage usage = reply.usage;
  std::string refusal = readOutput(field(document, "output"), reply.text);
  StringRef status = textOf(field(document, "status"));
  StringRef reason = textOf(field(document, "incomplete_details", "reason"));
  if (!refusal.empty()) {
    reply = refused("refused by the model: " + oneLine(refusal));
  } else if (reason == "content_filter") {
    reply = refused("stopped by the provider's content filter");
  } else if (status == "incomplete" ||
             (outputLimit > 0 && usage.outputTokens >= outputLimit)) {
    // llama.cpp calls a reply complete that it has cut.
    reply.status = ReplyStatus::Truncated;
  } else if (status == "failed" || status == "cancelled") {
    reply =
        failed(ModelFailure::Overloaded,
               "the provider gave up on the response: status '" + status + "'");
  } else if (reply.text.empty()) {
    reply = failed(ModelFailure::Malformed,
                   "the response has no text (an output item of type message); "
                   "its status is '" +
                       oneLine(status, 40) + "'");
  }
  reply.usage = usage;
  return into;
}

const Wire fastk::kOpenAIResponsesWire = {path, makeBody, readReply,
                                          "",   "",       false};
