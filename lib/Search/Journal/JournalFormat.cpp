//===- JournalFormat.cpp - Lines and fields of a journal ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JournalFormat.h"
#include "fastk/LLM/UsageFields.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CRC.h"
#include <algorithm>

using namespace llvm;
using namespace fastk;
using namespace fastk::journal;

static constexpr StringLiteral kLineStart = "{\"check\":\"";
static constexpr StringLiteral kLineMiddle = "\",\"event\":";

static std::string checksum(StringRef body) {
  return utohexstr(crc32(arrayRefFromStringRef(body)), /*LowerCase=*/true, 8);
}

std::string journal::lineOf(StringRef body) {
  return (kLineStart + checksum(body) + kLineMiddle + body + "}\n").str();
}

std::optional<StringRef> journal::bodyOf(StringRef line) {
  if (!line.consume_front(kLineStart) || line.size() < 8)
    return std::nullopt;
  StringRef check = line.take_front(8);
  line = line.drop_front(8);
  if (!line.consume_front(kLineMiddle) || !line.consume_back("}"))
    return std::nullopt;
  if (checksum(line) != check)
    return std::nullopt;
  return line;
}

Error journal::damaged(const Twine &what) {
  return createStringError(std::make_error_code(std::errc::invalid_argument),
                           what);
}

std::string journal::text(json::Object object) {
  std::string result;
  raw_string_ostream os(result);
  os << json::Value(std::move(object));
  return result;
}

std::string journal::textPath(StringRef directory, StringRef digest) {
  return (directory + "/texts/" + digest + ".md").str();
}

/// No reply takes more, and no sum over a journal overflows.
static constexpr int64_t kMaxTokens = int64_t(1) << 40;

Usage journal::usageOf(const json::Object &reply) {
  Usage usage;
  const json::Object *cost = reply.getObject("usage");
  if (!cost)
    return usage;
  forEachUsageField(usage, [&](StringRef name, auto &value) {
    using Type = std::remove_reference_t<decltype(value)>;
    if constexpr (std::is_same_v<Type, bool>)
      value = cost->getBoolean(name).value_or(false);
    else if constexpr (std::is_same_v<Type, double>)
      value = cost->getNumber(name).value_or(0);
    else
      value = numberAs<Type>(static_cast<double>(std::clamp<int64_t>(
          cost->getInteger(name).value_or(0), 0, kMaxTokens)));
  });
  usage.usd = cost->getNumber("usd");
  return usage;
}

ReplyStatus journal::statusOf(const json::Object &reply) {
  return parseReplyStatus(reply.getString("status").value_or(""))
      .value_or(ReplyStatus::Failed);
}
