//===- ModelOptions.cpp - Which model, and how to ask it ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/LLM/ModelOptions.h"
#include "Provider.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace llvm;
using namespace fastk;

bool fastk::isModelProvider(StringRef name) { return findProvider(name); }

std::string fastk::modelProviderNames() {
  std::string names;
  for (const Provider &provider : providers())
    names += (names.empty() ? "" : ", ") + StringRef(provider.name).str();
  return names;
}

static Error wrong(const Twine &problem) {
  return createStringError(inconvertibleErrorCode(), problem);
}

static Expected<std::string> percentDecoded(StringRef text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      result += text[i];
      continue;
    }
    std::string byte;
    StringRef digits = text.substr(i + 1, 2);
    if (digits.size() != 2 || !tryGetFromHex(digits, byte))
      return wrong("'%' must be followed by two hexadecimal digits; write %25 "
                   "for the character itself");
    result += byte;
    i += 2;
  }
  return result;
}

namespace {
/// One option: its name and what reads its value. An error says what would be
/// right.
struct Option {
  StringLiteral name;
  StringLiteral wanted;
  bool (*read)(ModelOptions &options, StringRef value);
};
} // namespace

template <std::string ModelOptions::*member>
static bool readText(ModelOptions &options, StringRef value) {
  options.*member = value.str();
  // It gets into headers, messages and names.
  return !value.empty() && all_of(value, isPrint);
}

template <typename T>
static bool readCount(T &into, StringRef value, int64_t most) {
  int64_t number = 0;
  if (value.getAsInteger(10, number) || number < 1 || number > most)
    return false;
  into = static_cast<T>(number);
  return true;
}

static bool readNumber(double &into, StringRef value, double most) {
  return !value.getAsDouble(into) && std::isfinite(into) && into >= 0 &&
         into <= most;
}

static bool readOptional(std::optional<double> &into, StringRef value,
                         double most) {
  return readNumber(into.emplace(), value, most);
}

static constexpr Option kOptions[] = {
    {"effort", "a word that the provider knows, as in effort=high",
     readText<&ModelOptions::effort>},
    {"max_tokens", "a whole number of 1 or more",
     [](ModelOptions &options, StringRef value) {
       return readCount(options.maxOutputTokens, value, 100'000'000);
     }},
    {"temperature", "a number from 0 to 2",
     [](ModelOptions &options, StringRef value) {
       return readOptional(options.temperature, value, 2);
     }},
    {"top_p", "a number from 0 to 1",
     [](ModelOptions &options, StringRef value) {
       return readOptional(options.topP, value, 1);
     }},
    {"seed", "a whole number",
     [](ModelOptions &options, StringRef value) {
       return !value.getAsInteger(10, options.seed.emplace());
     }},
    {"schema", "'on' or 'off'",
     [](ModelOptions &options, StringRef value) {
       options.sendSchema = value == "on";
       return value == "on" || value == "off";
     }},
    {"limit_field", "the name of a field, as in limit_field=max_tokens",
     readText<&ModelOptions::limitField>},
    {"body", "a JSON object, as in body={\"top_k\":40}",
     [](ModelOptions &options, StringRef value) {
       options.extraBody = value.str();
       return Json::parse(value.begin(), value.end(), nullptr, false)
           .is_object();
     }},
    {"api_version", "a version of the provider's API",
     readText<&ModelOptions::apiVersion>},
    {"base_url", "an URL, as in base_url=http://localhost:8000/v1",
     readText<&ModelOptions::baseUrl>},
    {"key_env", "the name of an environment variable, or '-' for no key",
     [](ModelOptions &options, StringRef value) {
       options.keyVariable = value.str();
       // A key that was put here by mistake must not get further.
       return value == "-" ||
              (!value.empty() && !isDigit(value[0]) &&
               all_of(value, [](char c) { return isAlnum(c) || c == '_'; }));
     }},
    {"auth", "'bearer' or 'x-api-key'",
     [](ModelOptions &options, StringRef value) {
       options.keyStyle = value.str();
       return value == "bearer" || value == "x-api-key";
     }},
    {"timeout", "seconds, more than 0",
     [](ModelOptions &options, StringRef value) {
       return readNumber(options.timeoutSeconds, value, 86400) &&
              options.timeoutSeconds > 0;
     }},
    {"concurrency", "a whole number from 1 to 256",
     [](ModelOptions &options, StringRef value) {
       return readCount(options.concurrency, value, 256);
     }},
    {"attempts", "a whole number from 1 to 100",
     [](ModelOptions &options, StringRef value) {
       return readCount(options.attempts, value, 100);
     }},
    {"prices", "the path of a price table",
     readText<&ModelOptions::priceTable>},
};

static std::string namesOfProviders() {
  std::vector<StringRef> names;
  for (const Provider &each : providers())
    names.push_back(each.name);
  return join(names, ", ");
}

static std::string namesOfOptions() {
  std::vector<StringRef> names;
  for (const Option &each : kOptions)
    names.push_back(each.name);
  return join(names, ", ");
}

Expected<ModelOptions> fastk::parseModelOptions(StringRef text) {
  ModelOptions result;
  // Names of models have colons of their own.
  auto [provider, rest] = text.split(':');
  auto [model, options] = rest.split('?');
  if (!findProvider(provider))
    return wrong("'" + provider + "' is no provider of models; there are " +
                 namesOfProviders());
  if (model.empty() || !all_of(model, [](char c) { return isPrint(c); }))
    return wrong("'" + provider + ":' must be followed by a model's name, as " +
                 "the provider spells it");
  result.provider = provider.str();
  result.model = model.str();
  for (StringRef each : split(options, '&')) {
    if (each.empty())
      continue;
    auto [name, encoded] = each.split('=');
    const Option *found = find_if(
        kOptions, [name = name](const Option &o) { return o.name == name; });
    if (found == std::end(kOptions))
      return wrong(provider + ":" + model + ": unknown option '" + name +
                   "'; there are " + namesOfOptions());
    Expected<std::string> value = percentDecoded(encoded);
    if (!value)
      return wrong(provider + ":" + model + ": " + name + ": " +
                   toString(value.takeError()));
    if (!found->read(result, *value))
      return wrong(provider + ":" + model + ": " + name + ": must be " +
                   found->wanted);
  }
  return result;
}

static std::string encodedValue(StringRef text) {
  std::string result;
  for (char c : text)
    if (c == '%' || c == '&' || !isPrint(c))
      result += "%" + toHex(StringRef(&c, 1));
    else
      result += c;
  return result;
}

std::string fastk::nameOf(const ModelOptions &options) {
  std::string result = options.provider + ":" + options.model;
  char separator = '?';
  auto add = [&](StringRef name, const std::string &value) {
    result += separator + name.str() + "=" + encodedValue(value);
    separator = '&';
  };
  // The shortest text that is read as the same number.
  auto number = [](double value) { return Json(value).dump(); };
  if (!options.effort.empty())
    add("effort", options.effort);
  if (options.maxOutputTokens > 0)
    add("max_tokens", std::to_string(options.maxOutputTokens));
  if (options.temperature)
    add("temperature", number(*options.temperature));
  if (options.topP)
    add("top_p", number(*options.topP));
  if (options.seed)
    add("seed", std::to_string(*options.seed));
  if (!options.sendSchema)
    add("schema", "off");
  if (!options.extraBody.empty())
    add("body", options.extraBody);
  return result;
}
