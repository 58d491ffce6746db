//===- Credentials.h - Where a model is, and by what key --------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_LLM_PROVIDERS_CREDENTIALS_H
#define FASTK_LIB_LLM_PROVIDERS_CREDENTIALS_H

#include "Provider.h"
#include <functional>

namespace fastk {

/// A variable's value; nothing when it is unset or empty.
using Environment =
    std::function<std::optional<std::string>(llvm::StringRef name)>;
Environment processEnvironment();

/// All of a request but its body.
struct Endpoint {
  /// The base URL, without the wire's path.
  Url base;
  std::vector<std::string> headers;
  /// None: no key is sent.
  std::unique_ptr<Secret> key;
  std::string keyHeader, keyPrefix;
  /// Certificate authorities of the user's; empty: the system's.
  std::string caFile, caFolder;
};

/// By options and environment, in that order. An error when the key is missing,
/// when it would travel in the clear, or when a variable makes no sense; no
/// variable's value is in it.
llvm::Expected<Endpoint> findEndpoint(const Provider &provider,
                                      const ModelOptions &options,
                                      const Environment &environment);

} // namespace fastk

#endif // FASTK_LIB_LLM_PROVIDERS_CREDENTIALS_H
