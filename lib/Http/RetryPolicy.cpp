//===- RetryPolicy.cpp - When to ask again --------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Http/RetryPolicy.h"
#include "CurlLibrary.h"
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

using namespace llvm;
using namespace fastk;
using Json = nlohmann::json;

double fastk::backOff(const RetryPolicy &policy, int failed, double random) {
  double wait =
      std::min(policy.longestWait,
               policy.firstWait * std::pow(2, std::max(failed, 1) - 1));
  return wait * (1 - 0.25 * random);
}

/// A number of zero or more, else nothing.
static std::optional<double> seconds(StringRef text) {
  double value = 0;
  if (text.empty() || text.getAsDouble(value) || !std::isfinite(value) ||
      value < 0)
    return std::nullopt;
  return value;
}

static std::optional<double> untilDate(StringRef text, const HttpResult &result,
                                       time_t today) {
  Expected<const CurlLibrary &> curl = CurlLibrary::shared();
  if (!curl) {
    consumeError(curl.takeError());
    return std::nullopt;
  }
  time_t date = curl->curl_getdate(text.str().c_str(), nullptr);
  if (date < 0)
    return std::nullopt;
  // The server's own clock, if it shows it: ours may be off.
  time_t served =
      curl->curl_getdate(result.header("date").str().c_str(), nullptr);
  return std::max(0.0, std::difftime(date, served >= 0 ? served : today));
}

/// error.details[].retryDelay of Google's RetryInfo: "38s", "1.5s".
static std::optional<double> retryInfo(StringRef body) {
  Json document = Json::parse(body.begin(), body.end(), nullptr, false);
  // Errors come alone or as the first of a list.
  const Json *error = &document;
  if (error->is_array() && !error->empty())
    error = &error->front();
  for (const char *key : {"error", "details"}) {
    auto found = error->is_object() ? error->find(key) : error->end();
    if (!error->is_object() || found == error->end())
      return std::nullopt;
    error = &*found;
  }
  if (!error->is_array())
    return std::nullopt;
  for (const Json &detail : *error) {
    if (!detail.is_object())
      continue;
    auto delay = detail.find("retryDelay");
    if (delay == detail.end() || !delay->is_string())
      continue;
    StringRef text = delay->get_ref<const std::string &>();
    if (text.consume_back("s"))
      return seconds(text);
  }
  return std::nullopt;
}

std::optional<double> fastk::requestedWait(const HttpResult &result,
                                           time_t today) {
  if (std::optional<double> wait = seconds(result.header("retry-after-ms")))
    return *wait / 1000;
  StringRef text = result.header("retry-after");
  if (std::optional<double> wait = seconds(text))
    return wait;
  if (!text.empty())
    if (std::optional<double> wait = untilDate(text, result, today))
      return wait;
  return retryInfo(result.body);
}

std::optional<bool> fastk::shouldRetry(const HttpResult &result) {
  StringRef text = result.header("x-should-retry");
  if (text == "true")
    return true;
  if (text == "false")
    return false;
  return std::nullopt;
}
