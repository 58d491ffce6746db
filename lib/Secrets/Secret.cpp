//===- Secret.cpp - A key, and texts without it ---------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Secrets/Secret.h"
#include <cstring>

using namespace llvm;
using namespace fastk;

static constexpr size_t kShortest = 8;
static constexpr StringLiteral kInstead = "[key]";

void fastk::wipe(std::string &text) {
  ::explicit_bzero(text.data(), text.size());
  text.clear();
}

Secret::~Secret() { wipe(value); }

std::string fastk::withoutSecrets(StringRef text, ArrayRef<StringRef> secrets) {
  std::string result = text.str();
  for (StringRef secret : secrets) {
    if (secret.size() < kShortest)
      continue;
    for (size_t at = result.find(secret.data(), 0, secret.size());
         at != std::string::npos;
         at = result.find(secret.data(), at, secret.size())) {
      result.replace(at, secret.size(), kInstead.data(), kInstead.size());
      at += kInstead.size();
    }
  }
  return result;
}

/// The length of the longest piece of `secret` that `text` begins with.
static size_t pieceAt(StringRef text, StringRef secret) {
  size_t longest = 0;
  for (size_t from = 0; from + kShortest <= secret.size(); ++from) {
    size_t length = 0;
    while (from + length < secret.size() && length < text.size() &&
           text[length] == secret[from + length])
      ++length;
    longest = std::max(longest, length);
  }
  return longest >= kShortest ? longest : 0;
}

std::string fastk::withoutPieces(StringRef text, ArrayRef<StringRef> secrets) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    size_t length = 0;
    for (StringRef secret : secrets)
      length = std::max(length, pieceAt(text.drop_front(at), secret));
    result += length > 0 ? StringRef(kInstead) : text.substr(at, 1);
    at += std::max<size_t>(length, 1);
  }
  return result;
}
