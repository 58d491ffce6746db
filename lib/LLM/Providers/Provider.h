//===- Provider.h - What differs between providers --------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A wire is the form of requests and replies: two pure functions in a file of
// its own. A provider is a wire at a place, with the names of its keys: one
// line in Providers.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_LLM_PROVIDERS_PROVIDER_H
#define FASTK_LIB_LLM_PROVIDERS_PROVIDER_H

#include "fastk/Http/HttpTransport.h"
#include "fastk/LLM/LanguageModel.h"
#include "fastk/LLM/ModelOptions.h"
#include <nlohmann/json.hpp>
#include <vector>

namespace fastk {

/// Fields stay in their order, so equal requests are equal bytes: providers
/// cache by prefix.
using Json = nlohmann::ordered_json;

/// A reply, and what only prices need to know of its cost.
struct WireReply {
  Reply reply;
  /// Of the input, what was written to a cache at a price of its own.
  int64_t cacheWriteTokens = 0;
};

struct Wire {
  /// The path after the base URL.
  std::string (*path)(const ModelOptions &options);
  /// The request's body, without ModelOptions::extraBody.
  Json (*makeBody)(const Prompt &prompt, const ModelOptions &options);
  /// Reads a response of any status. `outputLimit` is what the request allowed,
  /// 0: nothing was said. Of the reply, model, attempts and seconds are left
  /// out, and usage is all zero where the response has none.
  WireReply (*readReply)(const HttpResult &result, int64_t outputLimit);
  /// The header of the API's version, and the version that is sent by default;
  /// empty: none.
  llvm::StringLiteral versionHeader, version;
  bool takesSeed;
};

extern const Wire kOpenAIChatWire;
extern const Wire kOpenAIResponsesWire;
extern const Wire kAnthropicWire;
extern const Wire kGeminiWire;

struct KeySource {
  llvm::StringLiteral variable;
  /// The header that carries this key; "authorization" takes it as a bearer's.
  llvm::StringLiteral header;
};

/// A further header, of a variable that holds no secret.
struct HeaderSource {
  llvm::StringLiteral variable;
  llvm::StringLiteral header;
};

struct Provider {
  llvm::StringLiteral name;
  const Wire *wire;
  llvm::StringLiteral baseUrl;
  /// The variable that names another place; empty: none.
  llvm::StringLiteral baseUrlVariable;
  /// The first that is set counts.
  std::vector<KeySource> keys;
  std::vector<HeaderSource> headers;
  /// See ModelOptions::limitField.
  llvm::StringLiteral limitField;
};

llvm::ArrayRef<Provider> providers();
const Provider *findProvider(llvm::StringRef name);

/// The limit that a request states; 0: none.
int64_t outputLimitOf(const Prompt &prompt, const ModelOptions &options);
/// The user's part, with the schema as text where it is not sent as such.
std::string userTextOf(const Prompt &prompt, const ModelOptions &options);
/// The schema to send, or null.
Json schemaOf(const Prompt &prompt, const ModelOptions &options);

} // namespace fastk

#endif // FASTK_LIB_LLM_PROVIDERS_PROVIDER_H
