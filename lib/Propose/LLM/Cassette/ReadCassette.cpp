//===- ReadCassette.cpp - Recorded searches from one file -----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CassetteFields.h"
#include "StrictFields.h"
#include "fastk/LLM/UsageFields.h"
#include "fastk/Propose/LLM/Cassette.h"
#include "fastk/Propose/Writing.h"
#include "fastk/Support/DurableFile.h"
#include "fastk/Support/Nesting.h"
#include "fastk/Support/Sha256.h"
#include "fastk/Target/TargetFields.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Base64.h"
#include "llvm/Support/JSON.h"
#include <fcntl.h>

using namespace llvm;
using namespace fastk;

/// Far above what any search writes; a bound for a stray file.
static constexpr size_t kFileLimit = size_t(1) << 30;

static constexpr StringLiteral kVerdictField = ",\"verdict\":";

namespace {
class Reader {
public:
  Reader(StringRef content, StringRef path) : content(content) {
    cassette.path = path.str();
  }
  Expected<Cassette> read();

private:
  Error damaged(const Twine &what) const {
    std::string where = cassette.path;
    if (number > 0)
      where += ":" + std::to_string(number);
    return createStringError(std::make_error_code(std::errc::invalid_argument),
                             Twine(where) + ": " + what);
  }
  /// Nothing but "what is wrong"; empty when nothing is.
  std::string readLine(StringRef line);
  void readHeader(StrictFields &fields);
  void readText(StrictFields &fields);
  void readSearch(StrictFields &fields);
  void readSeed(StrictFields &fields);
  void readKnown(StrictFields &fields);
  void readExchange(StrictFields &fields);
  void readVerdict(StrictFields &fields, StringRef verdict);
  void readEnd(StrictFields &fields, size_t before);
  /// The search of the line's workload.
  RecordedSearch *searchOf(StrictFields &fields);
  void takeText(StrictFields &fields, StringRef name, std::string &into);
  Idea takeIdea(StrictFields &fields);

  StringRef content;
  Cassette cassette;
  size_t number = 0;
  bool ended = false;
  std::string problem;
  StringMap<std::string> texts;
  StringMap<size_t> searches;
  StringSet<> names;
};

} // namespace

void Reader::readHeader(StrictFields &fields) {
  int64_t format = 0;
  fields.take("format", format);
  if (problem.empty() && format != kCassetteFormat)
    return fields.fail("has format " + Twine(format) +
                       ", this fastk reads format " + Twine(kCassetteFormat));
  fields.take("fastk_version", cassette.fastkVersion);
  fields.take("target", cassette.target);
  if (!fields.has("writes"))
    return;
  fields.take("writes", cassette.writes);
  if (problem.empty() && !parseWriting(cassette.writes))
    fields.fail("says that models write '" + cassette.writes +
                "', which is unknown");
}

void Reader::readText(StrictFields &fields) {
  std::string digest, text;
  fields.takeDigest("sha256", digest);
  if (fields.has("base64")) {
    std::string encoded;
    fields.take("base64", encoded);
    std::vector<char> bytes;
    if (Error error = decodeBase64(encoded, bytes))
      return fields.fail("cannot be decoded: " + toString(std::move(error)));
    text.assign(bytes.begin(), bytes.end());
  } else {
    fields.take("text", text);
  }
  if (!problem.empty())
    return;
  if (sha256(text) != digest)
    return fields.fail("holds a text that does not have its digest");
  if (!texts.try_emplace(digest, std::move(text)).second)
    fields.fail("holds a text for the second time");
}

void Reader::readSearch(StrictFields &fields) {
  RecordedSearch search;
  fields.takeDigest("workload", search.workload);
  fields.take("name", search.name);
  fields.take("complete", search.isComplete);
  fields.take("answers_later", search.answersLater);
  fields.take("cpu", search.cpu);
  search.device.target = cassette.target;
  StrictFields device(fields.takeObject("device"), problem, "its device");
  forEachTargetField(search.device, [&](StringRef name, auto &value) {
    // Records from before it was kept have none.
    if (name != "instruction_sets" || device.has(name))
      device.take(name, value);
  });
  device.end();
  if (const json::Array *binding = fields.takeArray("binding"))
    for (const json::Value &pair : *binding) {
      const json::Array *both = pair.getAsArray();
      if (!both || both->size() != 2 || !(*both)[0].getAsString() ||
          !(*both)[1].getAsString())
        return fields.fail("has a binding that is no pair of texts");
      search.binding.emplace_back((*both)[0].getAsString()->str(),
                                  (*both)[1].getAsString()->str());
    }
  if (!problem.empty())
    return;
  if (!searches.try_emplace(search.workload, cassette.searches.size()).second)
    return fields.fail("records its workload for the second time");
  cassette.searches.push_back(std::move(search));
}

RecordedSearch *Reader::searchOf(StrictFields &fields) {
  std::string workload;
  fields.takeDigest("workload", workload);
  auto found = searches.find(workload);
  if (problem.empty() && found == searches.end())
    fields.fail("is of a workload of which no search stands before it");
  return problem.empty() ? &cassette.searches[found->second] : nullptr;
}

void Reader::takeText(StrictFields &fields, StringRef name, std::string &into) {
  std::string digest;
  fields.take(name, digest);
  // There is no line for no text.
  if (!problem.empty() || digest.empty())
    return;
  auto found = texts.find(digest);
  if (found == texts.end())
    return fields.fail("names the text " + StringRef(digest).take_front(12) +
                       "... as its " + name +
                       ", which stands nowhere before it");
  into = found->second;
}

Idea Reader::takeIdea(StrictFields &fields) {
  Idea idea;
  StrictFields object(fields.takeObject("idea"), problem, "its idea");
  object.take("id", idea.id);
  object.takeEnum("category", parseIdeaCategory, idea.category);
  object.take("title", idea.title);
  object.take("text", idea.text);
  object.take("parent", idea.parent);
  object.end();
  return idea;
}

void Reader::readSeed(StrictFields &fields) {
  RecordedSearch *search = searchOf(fields);
  SearchSeed seed;
  seed.idea = takeIdea(fields);
  Variant &variant = seed.variant;
  variant.ideaId = seed.idea.id;
  StrictFields object(fields.takeObject("variant"), problem, "its variant");
  object.takeEnum("language", symbolizeLanguage, variant.language);
  takeText(object, "program", variant.program);
  object.take("workspace_bytes", variant.workspaceBytes);
  if (const json::Object *parameters = object.takeObject("parameters"))
    for (const auto &[name, value] : *parameters) {
      if (std::optional<int64_t> number = value.getAsInteger())
        variant.parameters[name.str()] = *number;
      else
        object.fail("has a parameter that is no whole number");
    }
  if (object.has("plan")) {
    std::string text, error;
    object.take("plan", text);
    variant.plan = worker::parseLaunchPlan(text, error);
    if (!variant.plan)
      object.fail("has a plan that cannot be read: " + error);
  }
  object.end();
  if (search && problem.empty())
    search->seeds.push_back(std::move(seed));
}

void Reader::readKnown(StrictFields &fields) {
  RecordedSearch *search = searchOf(fields);
  Idea idea = takeIdea(fields);
  if (search && problem.empty())
    search->known.push_back(std::move(idea));
}

void Reader::readExchange(StrictFields &fields) {
  RecordedSearch *search = searchOf(fields);
  RecordedExchange exchange;
  fields.takeDigest("digest", exchange.digest);
  fields.take("model", exchange.model);
  fields.take("elapsed", exchange.elapsed);
  Prompt &prompt = exchange.prompt;
  StrictFields asked(fields.takeObject("prompt"), problem, "its prompt");
  asked.takeEnum("kind", parsePromptKind, prompt.kind);
  asked.take("name", prompt.name);
  takeText(asked, "system", prompt.system);
  takeText(asked, "user", prompt.user);
  takeText(asked, "schema", prompt.schema);
  asked.take("templates", prompt.templates);
  asked.take("sample", prompt.sample);
  asked.end();
  Reply &reply = exchange.reply;
  StrictFields said(fields.takeObject("reply"), problem, "its reply");
  said.take("model", reply.model);
  said.takeEnum("status", parseReplyStatus, reply.status);
  said.takeEnum("failure", parseModelFailure, reply.failure);
  said.take("problem", reply.problem);
  takeText(said, "text", reply.text);
  StrictFields usage(said.takeObject("usage"), problem, "its usage");
  forEachUsageField(reply.usage, [&](StringRef name, auto &value) {
    usage.take(name, value);
  });
  if (usage.has("usd"))
    usage.take("usd", reply.usage.usd.emplace());
  usage.end();
  said.end();
  if (!search || !problem.empty())
    return;
  if (digestOf(prompt) != exchange.digest)
    return fields.fail("has a prompt that does not have its digest");
  if (!names.insert(search->workload + " " + exchange.name()).second)
    return fields.fail("records its prompt for the second time");
  search->exchanges.push_back(std::move(exchange));
}

void Reader::readVerdict(StrictFields &fields, StringRef text) {
  RecordedSearch *search = searchOf(fields);
  RecordedVerdict recorded;
  fields.take("name", recorded.name);
  fields.take("elapsed", recorded.elapsed);
  if (!search || !problem.empty())
    return;
  StringRef variant = recorded.name;
  bool isPromotion = variant.consume_front("promote/");
  // Promotions may have been made again.
  auto [digest, repeat] = variant.split('/');
  unsigned number = 0;
  if (isPromotion && !repeat.empty() && !repeat.getAsInteger(10, number))
    variant = digest;
  if ((!isPromotion && !variant.consume_front("evaluate/")) ||
      variant.size() != 64 || !all_of(variant, isHexDigit))
    return fields.fail("names no evaluation: '" + recorded.name + "'");
  std::string error;
  std::optional<worker::Verdict> verdict =
      worker::parseVerdict(std::string_view(text.data(), text.size()), error);
  if (!verdict)
    return fields.fail("has a verdict that cannot be read: " + error);
  if (!names.insert(search->workload + " " + recorded.name).second)
    return fields.fail("records its verdict for the second time");
  recorded.verdict = std::move(*verdict);
  search->verdicts.push_back(std::move(recorded));
}

void Reader::readEnd(StrictFields &fields, size_t before) {
  std::string digest;
  fields.takeDigest("sha256", digest);
  ended = true;
  if (problem.empty() && sha256(content.take_front(before)) != digest)
    fields.fail("does not fit the lines before it: one of them was changed, "
                "added or removed");
}

std::string Reader::readLine(StringRef line) {
  problem.clear();
  size_t before = line.data() - content.data();
  // A verdict is kept in the worker's own words.
  std::string shortened;
  StringRef verdict;
  bool isVerdict = line.starts_with("{\"type\":\"verdict\",");
  if (size_t at = isVerdict ? line.find(kVerdictField) : StringRef::npos;
      at != StringRef::npos && line.ends_with("}")) {
    verdict = line.drop_front(at + kVerdictField.size()).drop_back();
    shortened = (line.take_front(at) + "}").str();
    line = shortened;
  }
  Expected<json::Value> value = parseShallowJSON(line);
  if (!value)
    return "is no whole JSON object: " + toString(value.takeError());
  StrictFields fields(value->getAsObject(), problem);
  std::string type;
  fields.take("type", type);
  if (!problem.empty())
    return problem;
  if (number == 1 && type != "header")
    return "is no header, with which a cassette begins: the file is another "
           "one or was cut";
  if (type == "header" && number > 1)
    return "is a second header";
  if (type == "header")
    readHeader(fields);
  else if (type == "text")
    readText(fields);
  else if (type == "search")
    readSearch(fields);
  else if (type == "seed")
    readSeed(fields);
  else if (type == "known")
    readKnown(fields);
  else if (type == "exchange")
    readExchange(fields);
  else if (type == "verdict")
    readVerdict(fields, verdict);
  else if (type == "end")
    readEnd(fields, before);
  else
    return "has the type '" + type + "', which is unknown";
  fields.end();
  return problem;
}

Expected<Cassette> Reader::read() {
  constexpr StringLiteral remedy =
      "; restore the file, or record the search again with --record=FILE";
  StringRef rest = content;
  while (!rest.empty()) {
    ++number;
    if (ended)
      return damaged("stands after the last line" + remedy);
    size_t end = rest.find('\n');
    if (end == StringRef::npos)
      return damaged("the line is not whole: the file was cut" + remedy);
    if (std::string wrong = readLine(rest.take_front(end)); !wrong.empty())
      return damaged("the line " + wrong + remedy);
    rest = rest.drop_front(end + 1);
  }
  if (!ended)
    return damaged(Twine(number == 0 ? "the file is empty"
                                     : "no last line follows: the file was "
                                       "cut") +
                   remedy);
  cassette.digest = sha256(content);
  return std::move(cassette);
}

Expected<Cassette> fastk::parseCassette(StringRef content, StringRef path) {
  return Reader(content, path).read();
}

Expected<std::shared_ptr<const Cassette>> fastk::readCassette(StringRef path) {
  Expected<std::string> content =
      readRegularFile(AT_FDCWD, path, path, kFileLimit);
  if (!content)
    return content.takeError();
  Expected<Cassette> cassette = parseCassette(*content, path);
  if (!cassette)
    return cassette.takeError();
  return std::make_shared<const Cassette>(std::move(*cassette));
}

const RecordedSearch *Cassette::find(StringRef workload) const {
  auto found = find_if(searches, [&](const RecordedSearch &each) {
    return each.workload == workload;
  });
  return found == searches.end() ? nullptr : &*found;
}

std::vector<std::string> Cassette::models() const {
  std::vector<std::string> result;
  for (const RecordedSearch &search : searches)
    for (const RecordedExchange &each : search.exchanges)
      if (!is_contained(result, each.model))
        result.push_back(each.model);
  return result;
}
