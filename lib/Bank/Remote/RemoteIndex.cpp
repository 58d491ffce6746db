//===- RemoteIndex.cpp - Which winners a remote bank has ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RemoteIndex.h"
#include "fastk/Support/Nesting.h"
#include "fastk/Support/PlainText.h"
#include "fastk/Support/Sha256.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>
#include <limits>

using namespace llvm;
using namespace fastk;

static constexpr int64_t kFormat = 1;
static constexpr unsigned kMostDigits = 3;

std::string fastk::remoteRootPath() {
  return "/ac/" + sha256("fastk bank " + std::to_string(kFormat));
}

std::string fastk::remoteObjectPath(StringRef digest) {
  return "/cas/" + digest.str();
}

bool fastk::isDigest(StringRef text) {
  return text.size() == 64 && all_of(text, [](char c) {
           return isDigit(c) || (c >= 'a' && c <= 'f');
         });
}

unsigned fastk::shardDigits(uint64_t winners) {
  if (winners <= kMostInRoot)
    return 0;
  unsigned digits = 1;
  while (digits < kMostDigits && winners > (2 * kMostInRoot) << (4 * digits))
    ++digits;
  return digits;
}

static Error malformed(const Twine &what) {
  return createStringError(std::make_error_code(std::errc::bad_message),
                           "its index " + what);
}

/// JSON has no other numbers.
static double finiteOrZero(double value) {
  return std::isfinite(value) ? value : 0;
}

static json::Object toJson(const RemoteWinner &winner) {
  const WinnerHeader &head = winner.header;
  json::Object object{{"key", head.key},
                      {"object", winner.digest},
                      {"bytes", int64_t(winner.bytes)},
                      {"format_version", head.formatVersion},
                      {"mlir", json::fixUTF8(head.mlirVersion)},
                      {"precision", stringifyPrecision(head.precision)},
                      {"language", stringifyLanguage(head.language)},
                      {"name", json::fixUTF8(head.name)},
                      {"shapes", json::fixUTF8(head.shapes)},
                      {"title", json::fixUTF8(head.title)},
                      {"machine", json::fixUTF8(head.machine)},
                      {"cpu", json::fixUTF8(head.cpu)},
                      {"threads", head.threads},
                      {"reductions", int64_t(head.reductions)},
                      {"median_ns", finiteOrZero(head.medianNs)},
                      {"baseline_ns", finiteOrZero(head.baselineNs)},
                      {"floor_ns", finiteOrZero(head.floorNs)},
                      {"speedup", finiteOrZero(head.speedup)}};
  if (head.bitwiseDeterministic)
    object["deterministic"] = *head.bitwiseDeterministic;
  return object;
}

static Expected<RemoteWinner> winnerOf(const json::Value &value,
                                       StringRef target) {
  const json::Object *object = value.getAsObject();
  if (!object)
    return malformed("has a winner that is no object");
  RemoteWinner winner;
  WinnerHeader &head = winner.header;
  auto text = [&](StringRef name) {
    return plainText(object->getString(name).value_or(""));
  };
  auto integer = [&](StringRef name) {
    return object->getInteger(name).value_or(0);
  };
  auto number = [&](StringRef name) {
    return object->getNumber(name).value_or(0);
  };
  head.key = text("key");
  winner.digest = text("object");
  if (!isDigest(head.key) || !isDigest(winner.digest))
    return malformed("has a winner whose key or object is not 64 hex digits");
  int64_t bytes = integer("bytes"), reductions = integer("reductions");
  if (bytes < 0 || reductions < 0 ||
      reductions > std::numeric_limits<unsigned>::max())
    return malformed("has a winner with a negative number");
  std::optional<Precision> precision = symbolizePrecision(text("precision"));
  std::optional<Language> language = symbolizeLanguage(text("language"));
  if (!precision || !language)
    return createStringError(
        std::make_error_code(std::errc::not_supported),
        "its index has winners whose precision or language is unknown to this "
        "fastk; use the one that pushed them");
  winner.bytes = bytes;
  head.reductions = reductions;
  head.formatVersion = integer("format_version");
  head.mlirVersion = text("mlir");
  head.target = target.str();
  head.precision = *precision;
  head.language = *language;
  head.name = text("name");
  head.shapes = text("shapes");
  head.title = text("title");
  head.machine = text("machine");
  head.cpu = text("cpu");
  head.threads = integer("threads");
  head.medianNs = number("median_ns");
  head.baselineNs = number("baseline_ns");
  head.floorNs = number("floor_ns");
  head.speedup = number("speedup");
  if (std::optional<bool> repeats = object->getBoolean("deterministic"))
    head.bitwiseDeterministic = *repeats;
  return winner;
}

static json::Array toJson(std::vector<RemoteWinner> winners) {
  llvm::sort(winners, [](const RemoteWinner &a, const RemoteWinner &b) {
    return std::tie(a.header.key, a.digest) < std::tie(b.header.key, b.digest);
  });
  json::Array list;
  for (const RemoteWinner &winner : winners)
    list.push_back(toJson(winner));
  return list;
}

static Expected<std::vector<RemoteWinner>> winnersOf(const json::Array *list,
                                                     StringRef target,
                                                     StringRef digits,
                                                     IndexReader reader) {
  if (!list)
    return malformed("has no list of winners");
  std::vector<RemoteWinner> winners;
  for (const json::Value &value : *list) {
    Expected<RemoteWinner> winner = winnerOf(value, target);
    if (!winner) {
      std::error_code code;
      std::string text;
      handleAllErrors(winner.takeError(), [&](const StringError &error) {
        code = error.convertToErrorCode();
        text = error.getMessage();
      });
      // A newer fastk may have pushed it: a compile does without, and who
      // writes the index must not lose it.
      if (code == std::errc::not_supported && reader == IndexReader::Compile)
        continue;
      return createStringError(code, text);
    }
    if (!StringRef(winner->header.key).starts_with(digits))
      return malformed("has a winner in a shard that is not its own");
    winners.push_back(std::move(*winner));
  }
  return winners;
}

/// The object that `text` is, which is of `kind`.
static Expected<json::Value> readObject(StringRef text, StringRef kind) {
  Expected<json::Value> value = parseShallowJSON(text);
  if (!value)
    return malformed("is no JSON: " + toString(value.takeError()));
  const json::Object *object = value->getAsObject();
  if (!object || object->getString("fastk") != kind)
    return malformed("is none of fastk's: is the URL that of a bank?");
  if (std::optional<int64_t> format = object->getInteger("format");
      format != kFormat)
    return malformed("has format " + Twine(format.value_or(0)) +
                     ", this fastk reads format " + Twine(kFormat));
  return value;
}

std::string fastk::printRemoteRoot(const RemoteRoot &root) {
  json::Object targets;
  for (const auto &[name, target] : root.targets) {
    json::Object object{{"count", int64_t(target.count)},
                        {"reductions", int64_t(target.reductions)},
                        {"digits", int64_t(target.digits)}};
    if (target.digits == 0) {
      object["winners"] = toJson(target.winners);
    } else {
      json::Object shards;
      for (const auto &[digits, digest] : target.shards)
        shards[digits] = digest;
      object["shards"] = std::move(shards);
    }
    targets[name] = std::move(object);
  }
  json::Object object{{"fastk", "bank"},
                      {"format", kFormat},
                      {"id", root.id},
                      {"generation", int64_t(root.generation)},
                      {"targets", std::move(targets)}};
  std::string text;
  raw_string_ostream(text) << json::Value(std::move(object)) << "\n";
  return text;
}

static Expected<RemoteTarget> targetOf(const json::Value &value, StringRef name,
                                       IndexReader reader) {
  const json::Object *object = value.getAsObject();
  int64_t digits = object ? object->getInteger("digits").value_or(-1) : -1;
  int64_t count = object ? object->getInteger("count").value_or(-1) : -1;
  int64_t reductions =
      object ? object->getInteger("reductions").value_or(-1) : -1;
  if (digits < 0 || digits > kMostDigits || count < 0 || reductions < 0 ||
      reductions > std::numeric_limits<unsigned>::max())
    return malformed("has no numbers of a target");
  RemoteTarget target;
  target.digits = digits;
  target.count = count;
  target.reductions = reductions;
  if (digits == 0) {
    if (Error error = winnersOf(object->getArray("winners"), name, "", reader)
                          .moveInto(target.winners))
      return std::move(error);
    return target;
  }
  const json::Object *shards = object->getObject("shards");
  if (!shards)
    return malformed("has no shards of a target");
  for (const auto &[prefix, digest] : *shards) {
    std::optional<StringRef> text = digest.getAsString();
    StringRef key = prefix;
    if (key.size() != size_t(digits) || !text || !isDigest(*text))
      return malformed("has a shard that is no digest");
    target.shards[key.str()] = text->str();
  }
  return target;
}

Expected<RemoteRoot> fastk::parseRemoteRoot(StringRef text,
                                            IndexReader reader) {
  Expected<json::Value> value = readObject(text, "bank");
  if (!value)
    return value.takeError();
  const json::Object &object = *value->getAsObject();
  RemoteRoot root;
  root.id = object.getString("id").value_or("").str();
  root.generation = object.getInteger("generation").value_or(0);
  const json::Object *targets = object.getObject("targets");
  if (!targets || root.id.empty())
    return malformed("has no id or no targets");
  for (const auto &[name, each] : *targets) {
    Expected<RemoteTarget> target = targetOf(each, name, reader);
    if (!target)
      return target.takeError();
    root.targets[StringRef(name).str()] = std::move(*target);
  }
  return root;
}

std::string fastk::printRemoteShard(StringRef target,
                                    std::vector<RemoteWinner> winners) {
  json::Object object{{"fastk", "winners"},
                      {"format", kFormat},
                      {"target", target},
                      {"winners", toJson(std::move(winners))}};
  std::string text;
  raw_string_ostream(text) << json::Value(std::move(object)) << "\n";
  return text;
}

Expected<std::vector<RemoteWinner>>
fastk::parseRemoteShard(StringRef text, StringRef target, StringRef digits,
                        IndexReader reader) {
  Expected<json::Value> value = readObject(text, "winners");
  if (!value)
    return value.takeError();
  const json::Object &object = *value->getAsObject();
  if (object.getString("target") != target)
    return malformed("has a shard of another target");
  return winnersOf(object.getArray("winners"), target, digits, reader);
}
