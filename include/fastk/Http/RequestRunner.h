//===- RequestRunner.h - Requests, retries and waiting ----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one place where requests are repeated. Knows HTTP, but nothing of models.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_HTTP_REQUESTRUNNER_H
#define FASTK_HTTP_REQUESTRUNNER_H

#include "fastk/Http/Clock.h"
#include "fastk/Http/ConcurrencyLimit.h"
#include "fastk/Http/HttpTransport.h"
#include "fastk/Http/RetryPolicy.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <random>

namespace fastk {

/// What a result says, in the eyes of whoever sent the request.
enum class Judgement {
  Final,      ///< An answer, or a failure that would come again.
  Busy,       ///< The provider has too much to do: ask again, and less at once.
  TryAgain,   ///< Failed by chance.
  TryOnceMore ///< Failed, and a second failure of this kind is final.
};

struct RunnerHooks {
  std::function<void()> whileWaiting;
  std::function<bool()> stopRequested;
  /// A request that has failed `attempts` times is sent again after so many
  /// seconds. Called where that is long, and no other wait that was told lasts
  /// as long.
  std::function<void(size_t index, int attempts, double seconds)> onLongWait;
};

/// How a request went, all in all.
struct RequestEffort {
  int attempts = 0;
  /// From the first sending to the last byte, the waiting included.
  double seconds = 0;
  /// The provider asked for a longer wait than it gets; 0: no.
  double refusedWait = 0;
};

class RequestRunner {
public:
  RequestRunner(std::unique_ptr<HttpTransport> transport,
                std::shared_ptr<ConcurrencyLimit> limit, RetryPolicy policy,
                Clock clock, uint64_t seed)
      : transport(std::move(transport)), limit(std::move(limit)),
        policy(policy), clock(std::move(clock)), random(seed) {}

  using Judge = llvm::function_ref<Judgement(size_t index, HttpResult &)>;
  /// Called once for each request that was answered or given up, after its
  /// last judgement.
  using OnDone = llvm::function_ref<llvm::Error(size_t index, RequestEffort)>;

  /// Sends all requests. What is still open when `hooks.stopRequested` becomes
  /// true is dropped. An error is `onDone`'s.
  llvm::Error run(llvm::ArrayRef<HttpRequest> requests, Judge judge,
                  OnDone onDone, const RunnerHooks &hooks);

private:
  struct Pending {
    size_t index = 0;
    double due = 0;
  };
  struct Progress {
    int attempts = 0, oddFailures = 0;
    double firstStart = 0, lastStart = 0;
  };

  /// When to ask again after `result`, in seconds; nothing: not at all.
  std::optional<double> waitBefore(Judgement judgement, Progress &progress,
                                   const HttpResult &result,
                                   RequestEffort &effort);

  std::unique_ptr<HttpTransport> transport;
  std::shared_ptr<ConcurrencyLimit> limit;
  RetryPolicy policy;
  Clock clock;
  std::mt19937_64 random;
};

} // namespace fastk

#endif // FASTK_HTTP_REQUESTRUNNER_H
