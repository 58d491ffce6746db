//===- StrictFields.h - A JSON object, read strictly ------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_PROPOSE_LLM_CASSETTE_STRICTFIELDS_H
#define FASTK_LIB_PROPOSE_LLM_CASSETTE_STRICTFIELDS_H

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/JSON.h"
#include <limits>
#include <optional>
#include <string>

namespace fastk {

/// Takes the fields of one object, each by its type. The first thing that is
/// wrong is kept; what is taken after it has no meaning.
class StrictFields {
public:
  StrictFields(const llvm::json::Object *object, std::string &problem,
               llvm::StringRef inside = "")
      : object(object), problem(problem), inside(inside) {
    if (!object)
      fail("is missing or no object");
  }

  void take(llvm::StringRef name, std::string &into) {
    if (const llvm::json::Value *value = find(name)) {
      if (std::optional<llvm::StringRef> text = value->getAsString())
        into = text->str();
      else
        fail("has no text as '" + name + "'");
    }
  }
  void take(llvm::StringRef name, bool &into) {
    if (const llvm::json::Value *value = find(name)) {
      if (std::optional<bool> flag = value->getAsBoolean())
        into = *flag;
      else
        fail("has no true or false as '" + name + "'");
    }
  }
  void take(llvm::StringRef name, double &into) {
    if (const llvm::json::Value *value = find(name)) {
      std::optional<double> number = value->getAsNumber();
      if (number && *number >= 0 &&
          *number <= std::numeric_limits<double>::max())
        into = *number;
      else
        fail("has no number of at least 0 as '" + name + "'");
    }
  }
  template <typename T>
  std::enable_if_t<std::is_integral_v<T>> take(llvm::StringRef name, T &into) {
    if (const llvm::json::Value *value = find(name)) {
      std::optional<int64_t> number = value->getAsInteger();
      if (number && *number >= 0 &&
          static_cast<uint64_t>(*number) <=
              static_cast<uint64_t>(std::numeric_limits<T>::max()))
        into = static_cast<T>(*number);
      else
        fail("has no whole number of at least 0 as '" + name + "'");
    }
  }
  template <typename T>
  void takeEnum(llvm::StringRef name,
                std::optional<T> (*parse)(llvm::StringRef), T &into) {
    std::string text;
    take(name, text);
    if (!problem.empty())
      return;
    if (std::optional<T> value = parse(text))
      into = *value;
    else
      fail("has the " + name + " '" + text + "', which is unknown");
  }
  /// 64 hex digits.
  void takeDigest(llvm::StringRef name, std::string &into) {
    take(name, into);
    if (problem.empty() &&
        (into.size() != 64 || !llvm::all_of(into, llvm::isHexDigit)))
      fail("has no SHA-256 as '" + name + "'");
  }
  const llvm::json::Object *takeObject(llvm::StringRef name) {
    const llvm::json::Value *value = find(name);
    return value ? value->getAsObject() : nullptr;
  }
  const llvm::json::Array *takeArray(llvm::StringRef name) {
    const llvm::json::Value *value = find(name);
    const llvm::json::Array *array = value ? value->getAsArray() : nullptr;
    if (!array)
      fail("has no list as '" + name + "'");
    return array;
  }
  bool has(llvm::StringRef name) const { return object && object->get(name); }
  /// A field that nobody took is of another format.
  void end() {
    if (object)
      for (const auto &[name, value] : *object)
        if (!known.contains(name.str()))
          return fail("has a field '" + name.str() + "', which is unknown");
  }
  void fail(const llvm::Twine &what) {
    if (problem.empty())
      problem =
          (inside.empty() ? what : llvm::Twine(inside) + " " + what).str();
  }

private:
  const llvm::json::Value *find(llvm::StringRef name) {
    known.insert(name);
    if (!object || !problem.empty())
      return nullptr;
    const llvm::json::Value *value = object->get(name);
    if (!value)
      fail("has no '" + name + "'");
    return value;
  }

  const llvm::json::Object *object;
  std::string &problem;
  std::string inside;
  llvm::StringSet<> known;
};

} // namespace fastk

#endif // FASTK_LIB_PROPOSE_LLM_CASSETTE_STRICTFIELDS_H
