//===- JSONReader.h - Strict reading of JSON objects ------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads JSON that others wrote: every access is checked, unknown and repeated
// fields are errors, and the first error is kept with its place. Works without
// C++ exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_PROTOCOL_JSONREADER_H
#define FASTK_PROTOCOL_JSONREADER_H

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fastk::worker {

using Json = nlohmann::ordered_json;

/// Parses \p text as one JSON object without repeated keys. \p what names the
/// document in messages.
std::optional<Json> parseDocument(std::string_view text, std::string_view what,
                                  std::string &error);

/// Reads the fields of one object. After the first error every further read
/// leaves its target alone, so callers check once, at the end.
class ObjectReader {
public:
  /// \p path is where \p value stands, as `$.inputs[0]`.
  ObjectReader(const Json &value, std::string path, std::string &error);

  /// Each returns whether the field was there and well formed. A missing field
  /// is an error unless \p optional.
  bool readString(const char *key, std::string &out, bool optional = false);
  bool readBool(const char *key, bool &out, bool optional = false);
  bool readInt(const char *key, int64_t &out, int64_t low, int64_t high,
               bool optional = false);
  bool readUnsigned(const char *key, uint64_t &out, bool optional = false);
  /// null reads as infinity where \p high allows it.
  bool readDouble(const char *key, double &out, double low, double high,
                  bool optional = false);
  bool readStrings(const char *key, std::vector<std::string> &out,
                   bool optional = false);

  /// Reads a word of an enumeration; \p words lists the legal ones for the
  /// message.
  template <typename T, typename Parse>
  bool readEnum(const char *key, T &out, Parse parse, const char *words,
                bool optional = false) {
    std::string text;
    if (!readString(key, text, optional))
      return false;
    if (auto value = parse(text)) {
      out = *value;
      return true;
    }
    return fail(key, "is '" + text + "'; write one of " + words);
  }

  /// Calls \p read with each element of an array field and its path.
  bool readArray(const char *key,
                 const std::function<void(const Json &, std::string)> &read,
                 bool optional = false);
  /// Calls \p read with an object field and its path. An absent or null field
  /// is no error where \p optional.
  bool readObject(const char *key,
                  const std::function<void(const Json &, std::string)> &read,
                  bool optional = false);

  /// Whether the field is there and an object, where a text is as good.
  bool isObject(const char *key) const;

  /// Reports fields that no read asked for. Returns true when all is well.
  bool finish();

  bool fail(const char *key, const std::string &message);
  bool ok() const { return error.empty(); }

private:
  const Json *find(const char *key, bool optional);

  const Json &value;
  std::string path;
  std::string &error;
  std::vector<std::string> known;
};

/// A number for JSON: null where not finite.
Json number(double value);

} // namespace fastk::worker

#endif // FASTK_PROTOCOL_JSONREADER_H
