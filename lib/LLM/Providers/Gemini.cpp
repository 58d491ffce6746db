//===- Gemini.cpp - Google's generateContent ------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Classify.h"
#include "JSONValues.h"
#include "Provider.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace fastk;

static std::string path(const ModelOptions &options) {
  std::string version =
      options.apiVersion.empty() ? "v1beta" : options.apiVersion;
  // Tuned models come with their folder.
  StringRef model = options.model;
  std::string place = model.contains('/') ? "" : "models/";
  return "/" + percentEncoded(version) + "/" + place + percentEncoded(model) +
         ":generateContent";
}

static Json textParts(StringRef text) {
  return Json::array({{{"text", text.str()}}});
}

static Json makeBody(const Prompt &prompt, const ModelOptions &options) {
  Json body;
  if (!prompt.system.empty())
    body["systemInstruction"] = {{"parts", textParts(prompt.system)}};
  body["contents"] = Json::array(
      {{{"role", "user"}, {"parts", textParts(userTextOf(prompt, options))}}});
  Json config;
  if (int64_t limit = outputLimitOf(prompt, options))
    config["maxOutputTokens"] = limit;
  // A word for a level of thinking, a number for a budget of tokens.
  int64_t budget = 0;
  if (!options.effort.empty()) {
    if (StringRef(options.effort).getAsInteger(10, budget))
      config["thinkingConfig"] = {{"thinkingLevel", options.effort}};
    else
      config["thinkingConfig"] = {{"thinkingBudget", budget}};
  }
  if (options.temperature)
    config["temperature"] = *options.temperature;
  if (options.topP)
    config["topP"] = *options.topP;
  if (options.seed)
    config["seed"] = *options.seed;
  if (Json schema = schemaOf(prompt, options); !schema.is_null()) {
    config["responseMimeType"] = "application/json";
    config["responseJsonSchema"] = std::move(schema);
  }
  if (!config.is_null())
    body["generationConfig"] = std::move(config);
  return body;
}

static void readUsage(const Json &usage, Usage &result) {
  result.inputTokens = countOf(field(usage, "promptTokenCount"));
  result.cachedTokens = countOf(field(usage, "cachedContentTokenCount"));
  result.reasoningTokens = countOf(field(usage, "thoughtsTokenCount"));
  // Its candidates are counted without their thoughts.
  result.outputTokens =
      countOf(field(usage, "candidatesTokenCount")) + result.reasoningTokens;
}

static WireReply readReply(const HttpResult &result, int64_t) {
  WireReply into;
  Json document;
  if (std::optional<Reply> failure = readFailure(result, document))
    return {std::move(*failure)};
  Reply &reply = into.reply;
  readUsage(field(document, "usageMetadata"), reply.usage);
  const Json &candidate = element(field(document, "candidates"), 0);
  if (const Json &parts = field(candidate, "content", "parts");
      parts.is_array())
    for (const Json &part : parts)
      if (const Json &thought = field(part, "thought");
          !thought.is_boolean() || !thought.get<bool>())
        reply.text += textOf(field(part, "text"));
  StringRef blocked = textOf(field(document, "promptFeedback", "blockReason"));
  StringRef finish = textOf(field(candidate, "finishReason"));
  constexpr StringLiteral kRefusals[] = {"SAFETY",    "RECITATION",
                                         "BLOCKLIST", "PROHIBITED_CONTENT",
                                         "SPII",      "LANGUAGE"};
  if (!blocked.empty()) {
    reply.status = ReplyStatus::Refused;
    reply.problem = "the prompt was blocked: " + oneLine(blocked, 40);
  } else if (finish == "MAX_TOKENS") {
    reply.status = ReplyStatus::Truncated;
  } else if (is_contained(kRefusals, finish)) {
    reply.status = ReplyStatus::Refused;
    reply.problem = "stopped by the provider: " + finish.str();
  } else if (reply.text.empty()) {
    reply.status = ReplyStatus::Failed;
    reply.failure = ModelFailure::Malformed;
    reply.problem = "the response has no text (candidates[0].content.parts); "
                    "its finishReason is '" +
                    oneLine(finish, 40) + "'";
  }
  return into;
}

const Wire fastk::kGeminiWire = {path, makeBody, readReply, "", "", true};
