//===- RetryPolicy.h - When to ask again ------------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_HTTP_RETRYPOLICY_H
#define FASTK_HTTP_RETRYPOLICY_H

#include "fastk/Http/HttpTransport.h"
#include <ctime>
#include <optional>

namespace fastk {

struct RetryPolicy {
  /// Requests for one prompt, the first included.
  int attempts = 6;
  /// The first wait without a provider's word; each further one is twice as
  /// long, up to the longest.
  double firstWait = 2, longestWait = 60;
  /// What is waited for a provider at most; who asks for more is not asked
  /// again.
  double longestRequestedWait = 300;
};

/// Seconds to wait after `failed` requests; `random` in [0, 1) takes away up to
/// a quarter, so that those who failed together do not come back together.
double backOff(const RetryPolicy &policy, int failed, double random);

/// How long the provider wants to be left alone, if it says so: retry-after-ms,
/// retry-after in seconds or as a date, or Google's RetryInfo in the body.
/// `today` is the date where the response has none of its own.
std::optional<double> requestedWait(const HttpResult &result, time_t today);

/// x-should-retry, where the provider sends it.
std::optional<bool> shouldRetry(const HttpResult &result);

} // namespace fastk

#endif // FASTK_HTTP_RETRYPOLICY_H
