//===- WinnerHeader.cpp - A winner's head, read without MLIR --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Bank/WinnerHeader.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace llvm;
using namespace fastk;

namespace {

/// Reads `{ name = value, ... }` in MLIR's syntax, whatever its layout. Strings
/// are unescaped; numbers lose their type; nested dictionaries are flattened to
/// "record.name"; every other value is skipped with balanced brackets.
class DictionaryReader {
public:
  explicit DictionaryReader(StringRef text) : text(text) {}

  bool read(StringRef prefix, StringMap<std::string> &values) {
    // A record has three levels; what has many would exhaust the stack.
    if (depth == kDeepest || !consume('{'))
      return false;
    ++depth;
    auto leave = llvm::scope_exit([&] { --depth; });
    if (consume('}'))
      return true;
    do {
      std::string name;
      if (peek() == '"') {
        if (!readString(name))
          return false;
      } else {
        name = readWhile(
            [](char c) { return isAlnum(c) || c == '_' || c == '.'; });
      }
      if (name.empty())
        return false;
      std::string path = (prefix + name).str();
      if (!consume('=')) { // a unit attribute
        values[path] = "";
        continue;
      }
      if (!readValue(path, values))
        return false;
    } while (consume(','));
    return consume('}');
  }

private:
  char peek() {
    text = text.ltrim();
    return text.empty() ? '\0' : text.front();
  }
  bool consume(char c) {
    if (peek() != c)
      return false;
    text = text.drop_front();
    return true;
  }
  template <typename Pred>
  std::string readWhile(Pred pred) {
    peek();
    StringRef taken = text.take_while(pred);
    text = text.drop_front(taken.size());
    return taken.str();
  }
  bool readString(std::string &out) {
    if (!consume('"'))
      return false;
    while (!text.empty()) {
      char c = text.front();
      text = text.drop_front();
      if (c == '"')
        return true;
      if (c != '\\') {
        out += c;
        continue;
      }
      if (text.empty())
        return false;
      if (text.front() == '\\' || text.front() == '"') {
        out += text.front();
        text = text.drop_front();
      } else if (text.size() >= 2 && isHexDigit(text[0]) &&
                 isHexDigit(text[1])) {
        out += static_cast<char>(hexFromNibbles(text[0], text[1]));
        text = text.drop_front(2);
      } else {
        return false;
      }
    }
    return false;
  }
  bool readValue(StringRef path, StringMap<std::string> &values) {
    char c = peek();
    if (c == '"') {
      std::string value;
      if (!readString(value))
        return false;
      values[path] = value;
      return true;
    }
    if (c == '{')
      return read((path + ".").str(), values);
    // #fastk.language<c> keeps what is between the brackets.
    if (text.consume_front("#fastk.")) {
      text = text.drop_until([](char c) { return c == '<'; });
      if (!consume('<'))
        return false;
      values[path] = readWhile([](char c) { return isAlnum(c) || c == '_'; });
      return consume('>');
    }
    // A number keeps its digits; of anything else only the end matters.
    std::string token = readWhile(
        [](char c) { return isAlnum(c) || c == '-' || c == '+' || c == '.'; });
    values[path] = token;
    return skipToEndOfValue();
  }
  bool skipToEndOfValue() {
    int depth = 0;
    while (peek() != '\0') {
      char c = text.front();
      if (depth == 0 && (c == ',' || c == '}'))
        return true;
      if (c == '"') {
        std::string ignored;
        if (!readString(ignored))
          return false;
        continue;
      }
      if (StringRef("([{<").contains(c))
        ++depth;
      if (StringRef(")]}>").contains(c))
        --depth;
      text = text.drop_front();
    }
    return false;
  }
  static unsigned hexFromNibbles(char high, char low) {
    return hexDigitValue(high) * 16 + hexDigitValue(low);
  }

  static constexpr unsigned kDeepest = 32;
  StringRef text;
  unsigned depth = 0;
};

} // namespace

bool WinnerHeader::hasTime() const {
  return std::isfinite(medianNs) && medianNs > 0;
}

std::string WinnerHeader::timeProblem() const {
  return formatv("its record has a median_ns of {0}, which is no time: nothing "
                 "says that it is faster than the default lowering; search "
                 "again",
                 medianNs)
      .str();
}

static Error malformed(const Twine &what) {
  return createStringError(std::make_error_code(std::errc::invalid_argument),
                           what);
}

Expected<WinnerHeader> fastk::parseWinnerHeader(StringRef text) {
  // Comments may say anything; the op begins a line.
  StringRef rest = text;
  while (!rest.empty() && !rest.ltrim().starts_with("fastk.lowering"))
    rest = rest.split('\n').second;
  if (rest.empty())
    return malformed("holds no fastk.lowering, or was cut before it");
  size_t start = rest.find("attributes");
  if (start == StringRef::npos)
    return malformed("its fastk.lowering has no attributes, or was cut");
  StringMap<std::string> values;
  DictionaryReader reader(rest.drop_front(start + strlen("attributes")));
  if (!reader.read("", values))
    return malformed("the attributes of its fastk.lowering are cut or garbled");

  WinnerHeader header;
  for (StringRef line = rest; !line.empty(); line = line.split('\n').second) {
    StringRef iterators =
        line.split('\n').first.split("iterator_types = [").second;
    header.reductions += iterators.split(']').first.contains("\"reduction\"");
  }
  auto string = [&](StringRef name) { return values.lookup(name); };
  auto number = [&](StringRef name) {
    double value = 0;
    StringRef(values.lookup(name)).getAsDouble(value);
    return value;
  };
  auto integer = [&](StringRef name) {
    int64_t value = 0;
    StringRef(values.lookup(name)).getAsInteger(10, value);
    return value;
  };
  header.key = string("key");
  if (header.key.size() != 64 ||
      !all_of(header.key, [](char c) { return isHexDigit(c); }))
    return malformed("its key '" + Twine(header.key) +
                     "' is not 64 hex digits");
  header.formatVersion = integer("format_version");
  header.target = string("target");
  // MLIR does not print an attribute that has its default.
  std::optional<Precision> precision = Precision::ieee;
  if (values.count("precision"))
    precision = symbolizePrecision(string("precision"));
  std::optional<Language> language = symbolizeLanguage(string("language"));
  if (!precision || !language)
    return malformed("its precision or language is unknown to this fastk");
  header.precision = *precision;
  header.language = *language;
  header.file = string("file");
  header.digest = string("digest");
  header.name = string("record.name");
  header.shapes = string("record.shapes");
  header.title = string("record.idea.title");
  header.category = string("record.idea.category");
  header.machine = string("record.machine");
  header.cpu = string("record.cpu");
  header.mlirVersion = string("record.mlir_version");
  header.threads = integer("record.threads");
  header.medianNs = number("record.time.median_ns");
  header.baselineNs = number("record.baseline_ns");
  header.floorNs = number("record.floor_ns");
  header.speedup = number("record.speedup.median");
  header.speedupLow = number("record.speedup.low");
  header.speedupHigh = number("record.speedup.high");
  if (std::string told = string("record.bitwise_deterministic");
      told == "true" || told == "false")
    header.bitwiseDeterministic = told == "true";
  return header;
}
