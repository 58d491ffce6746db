//===- Credentials.cpp - Where a model is, and by what key ----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Credentials.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include <cstdlib>

using namespace llvm;
using namespace fastk;

Environment fastk::processEnvironment() {
  return [](StringRef name) -> std::optional<std::string> {
    const char *value = std::getenv(name.str().c_str());
    if (!value || !*value)
      return std::nullopt;
    return value;
  };
}

static Error wrong(const Twine &problem) {
  return createStringError(inconvertibleErrorCode(), problem);
}

/// Ollama's own variable has no path, and may have no scheme, host or port; it
/// also says what the server binds to.
static std::string ollamaBase(StringRef value) {
  StringRef place = value.trim().rtrim('/');
  StringRef scheme = "http";
  if (place.contains("://"))
    std::tie(scheme, place) = place.split("://");
  place.consume_back("/v1");
  StringRef host = place, port;
  if (!place.ends_with("]") && place.contains(':'))
    std::tie(host, port) = place.rsplit(':');
  if (host.empty() || host == "0.0.0.0")
    host = "127.0.0.1";
  if (port.empty() && scheme == "http")
    port = "11434";
  return (scheme + "://" + host + (port.empty() ? "" : ":") + port + "/v1")
      .str();
}

/// The base URL and what it was said by, for messages.
static std::pair<std::string, std::string>
baseUrlOf(const Provider &provider, const ModelOptions &options,
          const Environment &environment) {
  if (!options.baseUrl.empty())
    return {options.baseUrl, "base_url"};
  if (auto value = environment("FASTK_LLM_BASE_URL"))
    return {*value, "FASTK_LLM_BASE_URL"};
  if (!provider.baseUrlVariable.empty())
    if (auto value = environment(provider.baseUrlVariable))
      return {provider.baseUrlVariable == "OLLAMA_HOST" ? ollamaBase(*value)
                                                        : *value,
              provider.baseUrlVariable.str()};
  return {provider.baseUrl.str(), "the default of " + provider.name.str()};
}

/// Header fields are lines: a value with a line break would be a second one.
static bool fitsHeader(StringRef value) {
  return all_of(value, [](char c) { return c > 0x20 && c < 0x7f; });
}

static Error findKey(const Provider &provider, const ModelOptions &options,
                     const Environment &environment, Endpoint &endpoint) {
  if (options.keyVariable == "-")
    return Error::success();
  std::vector<std::pair<std::string, std::string>> sources;
  std::string header = provider.keys.front().header.str();
  if (!options.keyVariable.empty())
    sources.emplace_back(options.keyVariable, header);
  else if (auto variable = environment("FASTK_LLM_API_KEY_ENV"))
    sources.emplace_back(*variable, header);
  else
    for (const KeySource &each : provider.keys)
      sources.emplace_back(each.variable.str(), each.header.str());
  for (auto &[variable, carrier] : sources) {
    std::optional<std::string> value = environment(variable);
    if (!value)
      continue;
    std::string key = StringRef(*value).trim().str();
    wipe(*value);
    if (key.empty() || !fitsHeader(key)) {
      wipe(key);
      return wrong("the environment variable " + variable +
                   " holds no key: a key has no blanks, line breaks or "
                   "characters outside ASCII");
    }
    endpoint.key = std::make_unique<Secret>(std::move(key));
    endpoint.keyHeader = options.keyStyle == "bearer"      ? "authorization"
                         : options.keyStyle == "x-api-key" ? "x-api-key"
                                                           : carrier;
    if (endpoint.keyHeader == "authorization")
      endpoint.keyPrefix = "Bearer ";
    return Error::success();
  }
  if (endpoint.base.isLoopback())
    return Error::success();
  std::vector<StringRef> names;
  for (auto &[variable, carrier] : sources)
    names.push_back(variable);
  return wrong(provider.name + " needs a key: set the environment variable " +
               join(names, " or ") + " to it, or name another one with " +
               "?key_env=NAME after the model; a server that wants no key is "
               "asked with ?key_env=-");
}

static Error findCertificates(const Environment &environment,
                              Endpoint &endpoint) {
  // As curl and other clients do.
  for (const char *name : {"CURL_CA_BUNDLE", "SSL_CERT_FILE"})
    if (auto value = environment(name); value && endpoint.caFile.empty()) {
      if (!sys::fs::is_regular_file(*value))
        return wrong("the environment variable " + Twine(name) + " names '" +
                     *value + "', which is no file of certificates");
      endpoint.caFile = *value;
    }
  if (auto value = environment("SSL_CERT_DIR")) {
    // Several are for OpenSSL itself; libcurl takes one.
    endpoint.caFolder = StringRef(*value).split(':').first.str();
    if (!sys::fs::is_directory(endpoint.caFolder))
      return wrong("the environment variable SSL_CERT_DIR names '" +
                   endpoint.caFolder + "', which is no folder");
  }
  return Error::success();
}

Expected<Endpoint> fastk::findEndpoint(const Provider &provider,
                                       const ModelOptions &options,
                                       const Environment &environment) {
  Endpoint endpoint;
  auto [text, source] = baseUrlOf(provider, options, environment);
  Expected<Url> base = parseUrl(text);
  if (!base)
    return wrong(source + ": " + toString(base.takeError()));
  endpoint.base = std::move(*base);
  if (Error error = findKey(provider, options, environment, endpoint))
    return std::move(error);
  if (endpoint.key && !endpoint.base.isEncrypted() &&
      !endpoint.base.isLoopback())
    return wrong(source + ": the key would travel in the clear to " +
                 endpoint.base.shown() +
                 ": use https, or write ?key_env=- after the model if the "
                 "server wants no key");
  endpoint.headers = {"content-type: application/json",
                      "accept: application/json", "user-agent: fastk"};
  for (const HeaderSource &each : provider.headers)
    if (auto value = environment(each.variable)) {
      if (!fitsHeader(*value))
        return wrong("the environment variable " + each.variable +
                     " must be one word");
      endpoint.headers.push_back((each.header + ": " + *value).str());
    }
  const Wire &wire = *provider.wire;
  if (!wire.versionHeader.empty())
    endpoint.headers.push_back(
        (wire.versionHeader + ": " +
         (options.apiVersion.empty() ? wire.version.str() : options.apiVersion))
            .str());
  if (Error error = findCertificates(environment, endpoint))
    return std::move(error);
  return endpoint;
}
