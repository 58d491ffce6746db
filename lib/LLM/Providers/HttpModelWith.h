//===- HttpModelWith.h - Models behind an HTTP service, for tests -*- C++
//-*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_LLM_PROVIDERS_HTTPMODELWITH_H
#define FASTK_LIB_LLM_PROVIDERS_HTTPMODELWITH_H

#include "Credentials.h"
#include "fastk/Http/Clock.h"
#include "fastk/Http/RetryPolicy.h"
#include "fastk/LLM/HttpModel.h"

namespace fastk {

/// What a model has from outside.
struct HttpModelSurroundings {
  Environment environment = processEnvironment();
  Clock clock = systemClock();
  RetryPolicy retries;
  /// Of the waits' jitter.
  uint64_t seed = 0;
  /// Of a response's body, in bytes.
  size_t responseLimit = TransportOptions().responseLimit;
};

llvm::Expected<std::unique_ptr<LanguageModel>>
createHttpModelWith(const ModelOptions &options,
                    HttpModelSurroundings surroundings);

} // namespace fastk

#endif // FASTK_LIB_LLM_PROVIDERS_HTTPMODELWITH_H
