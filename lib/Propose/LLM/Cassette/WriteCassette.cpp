//===- WriteCassette.cpp - Recorded searches to one file ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Answers stand in the order of their times, and not in that of the journal: a
// search that was pending several times asks again in another order than the
// replies came in, and its replay shall give the same file.
//
//===----------------------------------------------------------------------===//

#include "CassetteFields.h"
#include "fastk/LLM/UsageFields.h"
#include "fastk/Propose/LLM/Cassette.h"
#include "fastk/Support/OutputPlace.h"
#include "fastk/Support/Sha256.h"
#include "fastk/Target/TargetFields.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Base64.h"
#include "llvm/Support/JSON.h"
#include <tuple>

using namespace llvm;
using namespace fastk;

namespace {
class Writer {
public:
  std::string text;

  void header(const Cassette &cassette);
  void search(const RecordedSearch &search);
  void end();

private:
  /// One line: an object of `type` with what `fields` adds.
  void line(StringRef type, function_ref<void(json::OStream &)> fields) {
    raw_string_ostream os(text);
    json::OStream json(os);
    json.object([&] {
      json.attribute("type", type);
      fields(json);
    });
    os << "\n";
  }
  /// Writes a text before it is named for the first time; its digest.
  std::string textDigest(StringRef content);
  void seed(const RecordedSearch &search, const SearchSeed &seed);
  void exchange(const RecordedSearch &search, const RecordedExchange &each);
  void verdict(const RecordedSearch &search, const RecordedVerdict &each);

  StringSet<> written;
};
} // namespace

/// A JSON string holds Unicode only; what a device or a person is called may be
/// anything.
static void plain(json::OStream &json, StringRef name, StringRef value) {
  json.attribute(name, json::fixUTF8(value));
}

void Writer::header(const Cassette &cassette) {
  line("header", [&](json::OStream &json) {
    json.attribute("format", kCassetteFormat);
    plain(json, "fastk_version", cassette.fastkVersion);
    plain(json, "target", cassette.target);
    if (!cassette.writes.empty())
      json.attribute("writes", cassette.writes);
  });
}

static void attribute(json::OStream &json, StringRef name, const Idea &idea) {
  json.attributeObject(name, [&] {
    plain(json, "id", idea.id);
    json.attribute("category", stringify(idea.category));
    plain(json, "title", idea.title);
    plain(json, "text", idea.text);
    json.attribute("parent", idea.parent);
  });
}

void Writer::seed(const RecordedSearch &search, const SearchSeed &seed) {
  const Variant &variant = seed.variant;
  std::string program = textDigest(variant.program);
  line("seed", [&](json::OStream &json) {
    json.attribute("workload", search.workload);
    attribute(json, "idea", seed.idea);
    json.attributeObject("variant", [&] {
      json.attribute("language", stringifyLanguage(variant.language));
      json.attribute("program", program);
      json.attribute("workspace_bytes", variant.workspaceBytes);
      json.attributeObject("parameters", [&] {
        for (const auto &[name, value] : variant.parameters)
          json.attribute(json::fixUTF8(name), value);
      });
      // As text, as in journals.
      if (variant.plan)
        json.attribute("plan", worker::toJSON(*variant.plan));
    });
  });
}

void Writer::search(const RecordedSearch &search) {
  line("search", [&](json::OStream &json) {
    json.attribute("workload", search.workload);
    plain(json, "name", search.name);
    json.attribute("complete", search.isComplete);
    json.attribute("answers_later", search.answersLater);
    plain(json, "cpu", search.cpu);
    json.attributeObject("device", [&] {
      forEachTargetField(search.device, [&](StringRef name, auto value) {
        if constexpr (std::is_same_v<decltype(value), std::string>)
          plain(json, name, value);
        else
          json.attribute(name, value);
      });
    });
    json.attributeArray("binding", [&] {
      for (const auto &[name, value] : search.binding)
        json.value(json::Array{json::fixUTF8(name), json::fixUTF8(value)});
    });
  });
  for (const SearchSeed &each : search.seeds)
    seed(search, each);
  for (const Idea &idea : search.known)
    line("known", [&](json::OStream &json) {
      json.attribute("workload", search.workload);
      attribute(json, "idea", idea);
    });
  // By time, then exchanges first; of two of one time the order is any, but
  // always the same.
  using Place = std::tuple<double, bool, StringRef, size_t>;
  std::vector<std::string> names;
  for (const RecordedExchange &each : search.exchanges)
    names.push_back(each.name());
  std::vector<Place> order;
  for (auto [index, each] : enumerate(search.exchanges))
    order.emplace_back(each.elapsed, false, names[index], index);
  for (auto [index, each] : enumerate(search.verdicts))
    order.emplace_back(each.elapsed, true, each.name, index);
  llvm::sort(order);
  for (const auto &[elapsed, isVerdict, name, index] : order)
    if (isVerdict)
      verdict(search, search.verdicts[index]);
    else
      exchange(search, search.exchanges[index]);
}

std::string Writer::textDigest(StringRef content) {
  if (content.empty())
    return "";
  std::string digest = sha256(content);
  if (written.insert(digest).second)
    line("text", [&](json::OStream &json) {
      json.attribute("sha256", digest);
      if (json::isUTF8(content))
        json.attribute("text", content);
      else
        json.attribute("base64", encodeBase64(content));
    });
  return digest;
}

void Writer::exchange(const RecordedSearch &search,
                      const RecordedExchange &each) {
  const Prompt &prompt = each.prompt;
  const Reply &reply = each.reply;
  std::string system = textDigest(prompt.system),
              user = textDigest(prompt.user),
              schema = textDigest(prompt.schema), said = textDigest(reply.text);
  line("exchange", [&](json::OStream &json) {
    json.attribute("workload", search.workload);
    json.attribute("digest", each.digest);
    plain(json, "model", each.model);
    json.attribute("elapsed", each.elapsed);
    json.attributeObject("prompt", [&] {
      json.attribute("kind", stringify(prompt.kind));
      plain(json, "name", prompt.name);
      json.attribute("system", system);
      json.attribute("user", user);
      json.attribute("schema", schema);
      plain(json, "templates", prompt.templates);
      json.attribute("sample", prompt.sample);
    });
    json.attributeObject("reply", [&] {
      plain(json, "model", reply.model);
      json.attribute("status", stringify(reply.status));
      json.attribute("failure", stringify(reply.failure));
      plain(json, "problem", reply.problem);
      json.attribute("text", said);
      json.attributeObject("usage", [&] {
        forEachUsageField(reply.usage, [&](StringRef name, auto value) {
          json.attribute(name, value);
        });
        if (reply.usage.usd)
          json.attribute("usd", *reply.usage.usd);
      });
    });
  });
}

void Writer::verdict(const RecordedSearch &search,
                     const RecordedVerdict &each) {
  line("verdict", [&](json::OStream &json) {
    json.attribute("workload", search.workload);
    json.attribute("name", each.name);
    json.attribute("elapsed", each.elapsed);
    json.attributeBegin("verdict");
    json.rawValue(worker::toJSON(each.verdict));
    json.attributeEnd();
  });
}

void Writer::end() {
  std::string digest = sha256(text);
  line("end", [&](json::OStream &json) { json.attribute("sha256", digest); });
}

std::string fastk::toText(const Cassette &cassette) {
  Writer writer;
  writer.header(cassette);
  for (const RecordedSearch &search : cassette.searches)
    writer.search(search);
  writer.end();
  return std::move(writer.text);
}

Error fastk::writeCassette(const Cassette &cassette, StringRef path) {
  return writeOutput(path, toText(cassette));
}
