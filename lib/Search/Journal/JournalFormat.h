//===- JournalFormat.h - Lines and fields of a journal ----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What reading and writing a journal share. docs/formats/journal.md describes
// the files.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_SEARCH_JOURNAL_JOURNALFORMAT_H
#define FASTK_LIB_SEARCH_JOURNAL_JOURNALFORMAT_H

#include "fastk/LLM/LanguageModel.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <limits>
#include <optional>
#include <string>
#include <type_traits>

namespace fastk::journal {

inline constexpr int64_t kFormatVersion = 1;
/// Far above what any search writes; a bound for a stray file.
inline constexpr size_t kFileLimit = size_t(1) << 30;
/// Before a verdict, the last field of its event, in the worker's own words.
inline constexpr llvm::StringLiteral kVerdictField = ",\"verdict\":";
/// The type, the name and the field of an event.
inline constexpr llvm::StringLiteral kUnjudged = "unjudged";

/// An event's body as a line of the file.
std::string lineOf(llvm::StringRef body);
/// The event's body if the line is whole, else nothing.
std::optional<llvm::StringRef> bodyOf(llvm::StringRef line);

llvm::Error damaged(const llvm::Twine &what);
std::string text(llvm::json::Object object);
/// Where the text with this digest is, of a prompt or a reply.
std::string textPath(llvm::StringRef directory, llvm::StringRef digest);

/// What the reply of an exchange cost.
Usage usageOf(const llvm::json::Object &reply);
ReplyStatus statusOf(const llvm::json::Object &reply);

/// A number of a file as the field's type. Outside of it the conversion would
/// be undefined; a journal that was edited may say anything.
template <typename Type>
Type numberAs(double value) {
  if constexpr (std::is_floating_point_v<Type>)
    return value;
  else if (!(value > static_cast<double>(std::numeric_limits<Type>::min())))
    return std::numeric_limits<Type>::min();
  else if (!(value < static_cast<double>(std::numeric_limits<Type>::max())))
    return std::numeric_limits<Type>::max();
  else
    return static_cast<Type>(value);
}

} // namespace fastk::journal

#endif // FASTK_LIB_SEARCH_JOURNAL_JOURNALFORMAT_H
