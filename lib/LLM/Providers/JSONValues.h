//===- JSONValues.h - Reading what servers say ------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nothing here fails: what is missing or of another type reads as nothing.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_LLM_PROVIDERS_JSONVALUES_H
#define FASTK_LIB_LLM_PROVIDERS_JSONVALUES_H

#include "Provider.h"

namespace fastk {

/// The document, bytes that are no UTF-8 replaced; discarded where it is no
/// JSON.
Json parseJSON(llvm::StringRef text);
/// The text of a document of ours, bytes that are no UTF-8 replaced.
std::string printJSON(const Json &value);

/// A field of an object, or null. Several keys descend.
const Json &field(const Json &value, llvm::StringRef key);
template <typename... Keys>
const Json &field(const Json &value, llvm::StringRef key, Keys... more) {
  return field(field(value, key), more...);
}
/// An element of an array, or null.
const Json &element(const Json &value, size_t index);
/// A string's text; "" for all else.
llvm::StringRef textOf(const Json &value);
/// A number of zero or more, also written as a string; 0 for all else.
int64_t countOf(const Json &value);
std::optional<double> numberOf(const Json &value);

} // namespace fastk

#endif // FASTK_LIB_LLM_PROVIDERS_JSONVALUES_H
