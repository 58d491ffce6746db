//===- JSONReader.cpp - Strict reading of JSON objects --------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Protocol/JSONReader.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

using namespace fastk::worker;

/// Jobs and verdicts nest four deep; anything deeper is not one of them.
static constexpr size_t maxDepth = 32;

/// Objects keep their fields in order and look for each among all others.
static constexpr size_t maxFields = 1024;

namespace {
/// Looks at a document before it is built. The library's own callback would do,
/// but it walks over all elements of an array at the end of each: 50,000 steps
/// of a plan took 13 s.
class Survey : public Json::json_sax_t {
public:
  std::string repeated;
  bool tooDeep = false, tooMany = false, hasNull = false;

  bool key(string_t &name) override {
    noteText(name);
    if (!keys.back().insert(name).second && repeated.empty())
      repeated = name;
    tooMany |= keys.back().size() > maxFields;
    return !tooMany;
  }
  bool string(string_t &text) override {
    noteText(text);
    return true;
  }
  bool start_object(size_t) override {
    keys.emplace_back();
    return enter();
  }
  bool end_object() override {
    keys.pop_back();
    --depth;
    return true;
  }
  bool start_array(size_t) override { return enter(); }
  bool end_array() override {
    --depth;
    return true;
  }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t &) override { return true; }
  bool binary(binary_t &) override { return true; }
  bool parse_error(size_t, const std::string &,
                   const nlohmann::detail::exception &) override {
    return false;
  }

private:
  bool enter() {
    tooDeep = ++depth > maxDepth;
    return !tooDeep;
  }
  void noteText(const string_t &text) {
    hasNull |= text.find('\0') != text.npos;
  }

  /// Of each open object.
  std::vector<std::set<std::string>> keys;
  size_t depth = 0;
};
} // namespace

std::optional<Json> fastk::worker::parseDocument(std::string_view text,
                                                 std::string_view what,
                                                 std::string &error) {
  error.clear();
  std::string name(what);
  auto fail = [&](const std::string &problem) {
    error = "$: " + problem;
    return std::nullopt;
  };
  Survey survey;
  bool isValid = Json::sax_parse(text.begin(), text.end(), &survey);
  if (survey.tooDeep)
    return fail("nested more than " + std::to_string(maxDepth) +
                " deep; this is not a " + name);
  if (survey.tooMany)
    return fail("an object has more than " + std::to_string(maxFields) +
                " fields; this is not a " + name);
  Json document = isValid ? Json::parse(text.begin(), text.end(), nullptr,
                                        /*allow_exceptions=*/false)
                          : Json(Json::value_t::discarded);
  if (document.is_discarded())
    return fail("not valid JSON (empty, cut short or misspelt); send one whole "
                "JSON object, a " +
                name);
  if (!survey.repeated.empty())
    return fail("field '" + survey.repeated +
                "' is given twice; keep one of them");
  // Names and paths go to functions that would see the beginning only.
  if (survey.hasNull)
    return fail("a text holds a null character; write it without");
  if (!document.is_object())
    return fail("is " + std::string(document.type_name()) +
                ", not an object; send one JSON object, a " + name);
  return document;
}

ObjectReader::ObjectReader(const Json &value, std::string path,
                           std::string &error)
    : value(value), path(std::move(path)), error(error) {
  if (error.empty() && !value.is_object())
    error = this->path + ": is " + value.type_name() +
            ", not an object; write {...}";
}

bool ObjectReader::fail(const char *key, const std::string &message) {
  if (error.empty())
    error = path + "." + key + ": " + message;
  return false;
}

const Json *ObjectReader::find(const char *key, bool optional) {
  known.push_back(key);
  if (!error.empty())
    return nullptr;
  auto it = value.find(key);
  if (it != value.end())
    return &*it;
  if (!optional)
    fail(key, "is missing; add it (docs/formats describes every field)");
  return nullptr;
}

bool ObjectReader::readString(const char *key, std::string &out,
                              bool optional) {
  const Json *field = find(key, optional);
  if (!field)
    return false;
  const auto *text = field->get_ptr<const std::string *>();
  if (!text)
    return fail(key,
                std::string("is ") + field->type_name() + "; write a string");
  out = *text;
  return true;
}

bool ObjectReader::readBool(const char *key, bool &out, bool optional) {
  const Json *field = find(key, optional);
  if (!field)
    return false;
  if (!field->is_boolean())
    return fail(key, std::string("is ") + field->type_name() +
                         "; write true or false");
  out = *field->get_ptr<const bool *>();
  return true;
}

bool ObjectReader::readInt(const char *key, int64_t &out, int64_t low,
                           int64_t high, bool optional) {
  const Json *field = find(key, optional);
  if (!field)
    return false;
  auto range = [&] {
    return "an integer from " + std::to_string(low) + " to " +
           std::to_string(high);
  };
  int64_t number = 0;
  if (const auto *big = field->get_ptr<const uint64_t *>()) {
    if (*big > uint64_t(std::numeric_limits<int64_t>::max()))
      return fail(key, "is too large; write " + range());
    number = int64_t(*big);
  } else if (const auto *small = field->get_ptr<const int64_t *>()) {
    number = *small;
  } else {
    return fail(key,
                std::string("is ") +
                    field->dump(-1, ' ', false, Json::error_handler_t::replace)
                        .substr(0, 40) +
                    "; write " + range());
  }
  if (number < low || number > high)
    return fail(key, "is " + std::to_string(number) + "; write " + range());
  out = number;
  return true;
}

bool ObjectReader::readUnsigned(const char *key, uint64_t &out, bool optional) {
  const Json *field = find(key, optional);
  if (!field)
    return false;
  const auto *number = field->get_ptr<const uint64_t *>();
  if (!number)
    return fail(key, "is not an unsigned integer; write one below 2^64");
  out = *number;
  return true;
}

/// Whether \p field is a number, and which.
static std::optional<double> asDouble(const Json &field) {
  if (const auto *real = field.get_ptr<const double *>())
    return *real;
  if (const auto *big = field.get_ptr<const uint64_t *>())
    return double(*big);
  if (const auto *small = field.get_ptr<const int64_t *>())
    return double(*small);
  return std::nullopt;
}

bool ObjectReader::readDouble(const char *key, double &out, double low,
                              double high, bool optional) {
  const Json *field = find(key, optional);
  if (!field)
    return false;
  std::optional<double> number = asDouble(*field);
  if (field->is_null() && std::isinf(high))
    number = std::numeric_limits<double>::infinity();
  if (!number)
    return fail(key,
                std::string("is ") + field->type_name() + "; write a number");
  // Written so that a NaN fails.
  if (!(*number >= low && *number <= high)) {
    char text[160];
    snprintf(text, sizeof(text), "is %g; write a number from %g to %g", *number,
             low, high);
    return fail(key, text);
  }
  out = *number;
  return true;
}

bool ObjectReader::readStrings(const char *key, std::vector<std::string> &out,
                               bool optional) {
  return readArray(
      key,
      [&](const Json &element, std::string where) {
        if (const auto *text = element.get_ptr<const std::string *>())
          out.push_back(*text);
        else if (error.empty())
          error = where + ": is " + element.type_name() + "; write a string";
      },
      optional);
}

bool ObjectReader::readArray(
    const char *key, const std::function<void(const Json &, std::string)> &read,
    bool optional) {
  const Json *field = find(key, optional);
  if (!field)
    return false;
  if (!field->is_array())
    return fail(key, std::string("is ") + field->type_name() +
                         "; write an array [...]");
  size_t index = 0;
  for (const Json &element : *field) {
    if (!error.empty())
      return false;
    read(element, path + "." + key + "[" + std::to_string(index++) + "]");
  }
  return error.empty();
}

bool ObjectReader::readObject(
    const char *key, const std::function<void(const Json &, std::string)> &read,
    bool optional) {
  const Json *field = find(key, optional);
  if (!field || (optional && field->is_null()))
    return false;
  read(*field, path + "." + key);
  return error.empty();
}

bool ObjectReader::isObject(const char *key) const {
  auto field = value.find(key);
  return field != value.end() && field->is_object();
}

bool ObjectReader::finish() {
  if (!error.empty())
    return false;
  for (const auto &item : value.items())
    if (std::find(known.begin(), known.end(), item.key()) == known.end()) {
      std::string names;
      for (const std::string &name : known)
        names += (names.empty() ? "" : ", ") + name;
      error = path + ": unknown field '" + item.key().substr(0, 60) +
              "'; remove it (known here: " + names + ")";
      return false;
    }
  return true;
}

Json fastk::worker::number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}
