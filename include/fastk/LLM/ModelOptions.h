//===- ModelOptions.h - Which model, and how to ask it ----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LLM_MODELOPTIONS_H
#define FASTK_LLM_MODELOPTIONS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <optional>
#include <string>

namespace fastk {

/// What a user may say about a model that is asked over HTTP. What is left as
/// it is here is not sent, or is the provider's own. docs/models.md.
struct ModelOptions {
  /// One of the table of providers ("openai", "anthropic", ...), and the model
  /// by that provider's name for it.
  std::string provider;
  std::string model;
  /// Where the provider is; empty: $FASTK_LLM_BASE_URL, the provider's own
  /// variable, its default.
  std::string baseUrl;
  /// The environment variable that holds the key, never the key; empty:
  /// $FASTK_LLM_API_KEY_ENV, the provider's own variables. "-": no key is sent.
  std::string keyVariable;
  /// "bearer" (Authorization) or "x-api-key"; empty: the provider's own.
  std::string keyStyle;
  /// The version of the API, where the wire has one.
  std::string apiVersion;

  /// No reply may be longer, reasoning included, whatever a prompt asks for;
  /// 0: as the prompt says, else as the model does.
  int64_t maxOutputTokens = 0;
  /// The field that carries the limit, for servers of the openai-chat wire that
  /// know "max_tokens" only; empty: the provider's own.
  std::string limitField;
  /// Passed on as it is.
  std::string effort;
  std::optional<double> temperature, topP;
  std::optional<int64_t> seed;
  /// Whether a prompt's JSON schema is sent as such, or as text.
  bool sendSchema = true;
  /// A JSON object that is merged into every request; null removes a field.
  std::string extraBody;

  /// Seconds for one request from connecting to the reply's last byte, and for
  /// connecting alone.
  double timeoutSeconds = 1200;
  double connectSeconds = 15;
  /// Requests in flight, at most; fewer while the provider asks for less.
  int concurrency = 8;
  /// Requests for one prompt, the first included.
  int attempts = 6;
  /// A price table (docs/models.md); empty: $FASTK_LLM_PRICES, else none.
  std::string priceTable;
};

/// True for the name of a provider that is asked over HTTP.
bool isModelProvider(llvm::StringRef name);
/// "openai, anthropic, ...".
std::string modelProviderNames();

/// Reads "PROVIDER:MODEL[?effort=high&max_tokens=32000...]", the values
/// percent-encoded where they hold '&' or '%'.
llvm::Expected<ModelOptions> parseModelOptions(llvm::StringRef text);

/// The inverse for what decides what a model answers; transport, places and
/// prices are left out. The model's name in journals.
std::string nameOf(const ModelOptions &options);

} // namespace fastk

#endif // FASTK_LLM_MODELOPTIONS_H
