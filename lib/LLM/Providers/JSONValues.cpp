//===- JSONValues.cpp - Reading what servers say --------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JSONValues.h"
#include "llvm/Support/JSON.h"
#include <cmath>

using namespace llvm;
using namespace fastk;

static const Json kNothing;

Json fastk::parseJSON(StringRef text) {
  if (llvm::json::isUTF8(text))
    return Json::parse(text.begin(), text.end(), nullptr, false);
  std::string fixed = llvm::json::fixUTF8(text);
  return Json::parse(fixed, nullptr, false);
}

std::string fastk::printJSON(const Json &value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

const Json &fastk::field(const Json &value, StringRef key) {
  if (!value.is_object())
    return kNothing;
  auto found = value.find(key.str());
  return found == value.end() ? kNothing : *found;
}

const Json &fastk::element(const Json &value, size_t index) {
  return value.is_array() && index < value.size() ? value[index] : kNothing;
}

StringRef fastk::textOf(const Json &value) {
  if (!value.is_string())
    return "";
  return value.get_ref<const std::string &>();
}

std::optional<double> fastk::numberOf(const Json &value) {
  double number = 0;
  if (value.is_number())
    number = value.get<double>();
  else if (!value.is_string() || textOf(value).getAsDouble(number))
    return std::nullopt;
  if (!std::isfinite(number))
    return std::nullopt;
  return number;
}

int64_t fastk::countOf(const Json &value) {
  // Beyond any bill; the conversion stays defined.
  constexpr double kMax = 1e15;
  double number = numberOf(value).value_or(0);
  return static_cast<int64_t>(std::min(std::max(number, 0.0), kMax));
}
