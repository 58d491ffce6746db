//===- Classify.h - What an error of a provider means -----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_LLM_PROVIDERS_CLASSIFY_H
#define FASTK_LIB_LLM_PROVIDERS_CLASSIFY_H

#include "Provider.h"

namespace fastk {

/// The error that a response tells of, in the shapes that providers use: an
/// object or a string under "error", alone or first in a list, or with the
/// fields at the top.
struct ProviderError {
  /// "insufficient_quota", "overloaded_error", "RESOURCE_EXHAUSTED": all words
  /// that name it, with a blank before and after each.
  std::string words;
  std::string message;
  /// A status that the body names, as in a response of status 200; 0: none.
  int status = 0;
};
/// Nothing where `document` tells of no error.
std::optional<ProviderError> errorIn(const Json &document);

/// The reply to a request that failed: by the response's status, else by the
/// status and the words that the error names.
Reply failureOf(const HttpResult &result,
                const std::optional<ProviderError> &error);

/// The common beginning of all wires: a failure when there was no response, one
/// of another status than 200, one that is no JSON object or one that tells of
/// an error. Else nothing, and `document` is the response.
std::optional<Reply> readFailure(const HttpResult &result, Json &document);

/// A failure or refusal with its problem.
Reply failed(ModelFailure failure, const llvm::Twine &problem);
Reply refused(const llvm::Twine &problem);

/// Texts of others as one line for messages: no control characters, at most
/// `limit` bytes.
std::string oneLine(llvm::StringRef text, size_t limit = 500);

} // namespace fastk

#endif // FASTK_LIB_LLM_PROVIDERS_CLASSIFY_H
