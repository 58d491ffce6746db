//===- Providers.cpp - The table of providers -----------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Provider.h"

using namespace llvm;
using namespace fastk;

ArrayRef<Provider> fastk::providers() {
  static const std::vector<Provider> table = {
      {"openai",
       &kOpenAIResponsesWire,
       "https://api.openai.com/v1",
       "OPENAI_BASE_URL",
       {{"OPENAI_API_KEY", "authorization"}},
       {{"OPENAI_ORG_ID", "OpenAI-Organization"},
        {"OPENAI_PROJECT_ID", "OpenAI-Project"}},
       ""},
      {"openai-chat",
       &kOpenAIChatWire,
       "https://api.openai.com/v1",
       "OPENAI_BASE_URL",
       {{"OPENAI_API_KEY", "authorization"}},
       {{"OPENAI_ORG_ID", "OpenAI-Organization"},
        {"OPENAI_PROJECT_ID", "OpenAI-Project"}},
       "max_completion_tokens"},
      {"anthropic",
       &kAnthropicWire,
       "https://api.anthropic.com",
       "ANTHROPIC_BASE_URL",
       {{"ANTHROPIC_API_KEY", "x-api-key"},
        {"ANTHROPIC_AUTH_TOKEN", "authorization"}},
       {},
       ""},
      {"gemini",
       &kGeminiWire,
       "https://generativelanguage.googleapis.com",
       "",
       {{"GOOGLE_API_KEY", "x-goog-api-key"},
        {"GEMINI_API_KEY", "x-goog-api-key"}},
       {},
       ""},
      {"openrouter",
       &kOpenAIChatWire,
       "https://openrouter.ai/api/v1",
       "",
       {{"OPENROUTER_API_KEY", "authorization"}},
       {},
       "max_tokens"},
      {"ollama",
       &kOpenAIChatWire,
       "http://127.0.0.1:11434/v1",
       "OLLAMA_HOST",
       {{"OLLAMA_API_KEY", "authorization"}},
       {},
       "max_tokens"},
  };
  return table;
}

const Provider *fastk::findProvider(StringRef name) {
  for (const Provider &each : providers())
    if (each.name == name)
      return &each;
  return nullptr;
}

int64_t fastk::outputLimitOf(const Prompt &prompt,
                             const ModelOptions &options) {
  if (prompt.maxOutputTokens > 0 && options.maxOutputTokens > 0)
    return std::min(prompt.maxOutputTokens, options.maxOutputTokens);
  return std::max(prompt.maxOutputTokens, options.maxOutputTokens);
}

std::string fastk::userTextOf(const Prompt &prompt,
                              const ModelOptions &options) {
  if (prompt.schema.empty() || options.sendSchema)
    return prompt.user;
  // As for those who take one text, without the system part and the blank line
  // after it.
  Prompt rest = prompt;
  rest.system.clear();
  return StringRef(wholeText(rest)).ltrim('\n').str();
}

Json fastk::schemaOf(const Prompt &prompt, const ModelOptions &options) {
  if (prompt.schema.empty() || !options.sendSchema)
    return nullptr;
  Json schema = Json::parse(prompt.schema, nullptr, false);
  return schema.is_object() ? schema : Json();
}
