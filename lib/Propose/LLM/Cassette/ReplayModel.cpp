//===- ReplayModel.cpp - Replies from a cassette --------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Propose/LLM/ReplayModel.h"
#include "fastk/Propose/LLM/Cassette.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace llvm;
using namespace fastk;

namespace {
class ReplayModel : public LanguageModel {
public:
  ReplayModel(std::shared_ptr<const Cassette> cassette, std::string model,
              bool byName)
      : cassette(std::move(cassette)), model(std::move(model)), byName(byName) {
    for (const RecordedSearch &search : this->cassette->searches)
      for (const RecordedExchange &each : search.exchanges)
        if (each.model == this->model) {
          places.try_emplace(each.digest, exchanges.size());
          exchanges.push_back(&each);
        }
  }

  StringRef name() const override { return model; }
  Error ask(ArrayRef<Prompt> prompts, const RequestContext &context,
            OnReply onReply) override;

private:
  /// Where in `exchanges` the reply to a prompt is.
  std::optional<size_t> find(const Prompt &prompt) const;
  Error missing(const Prompt &prompt) const;

  std::shared_ptr<const Cassette> cassette;
  std::string model;
  /// Prompts of the same name and sample count as the same.
  bool byName;
  std::vector<const RecordedExchange *> exchanges;
  /// By digest, where in `exchanges`.
  StringMap<size_t> places;
};
} // namespace

Error ReplayModel::ask(ArrayRef<Prompt> prompts, const RequestContext &,
                       OnReply onReply) {
  // In the order in which they came, for sums of costs depend on it.
  std::vector<std::pair<size_t, size_t>> found;
  for (auto [index, prompt] : enumerate(prompts)) {
    std::optional<size_t> place = find(prompt);
    if (!place)
      return missing(prompt);
    found.emplace_back(*place, index);
  }
  llvm::sort(found);
  for (auto [place, index] : found)
    if (Error error = onReply(index, exchanges[place]->reply))
      return error;
  return Error::success();
}

std::optional<size_t> ReplayModel::find(const Prompt &prompt) const {
  if (auto place = places.find(digestOf(prompt)); place != places.end())
    return place->second;
  std::optional<size_t> only;
  if (byName)
    for (auto [place, each] : enumerate(exchanges))
      if (each->prompt.name == prompt.name &&
          each->prompt.kind == prompt.kind &&
          each->prompt.sample == prompt.sample) {
        // Two would be a guess.
        if (only)
          return std::nullopt;
        only = place;
      }
  return only;
}

/// What stands at `at` of a line, for a terminal.
static std::string excerpt(StringRef line, size_t at) {
  constexpr size_t kBefore = 30, kShown = 90;
  size_t begin = at > kBefore ? at - kBefore : 0;
  std::string text;
  raw_string_ostream os(text);
  os << "'" << (begin > 0 ? "..." : "");
  printEscapedString(line.substr(begin, kShown), os);
  os << (begin + kShown < line.size() ? "..." : "") << "'";
  return text;
}

/// "line 3 of its user text was 'a' and is now 'b'"; empty where the texts are
/// equal.
static std::string firstDifference(StringRef part, StringRef was,
                                   StringRef now) {
  if (was == now)
    return "";
  for (size_t number = 1;; ++number) {
    auto [wasLine, wasRest] = was.split('\n');
    auto [nowLine, nowRest] = now.split('\n');
    bool wasEnds = was.empty(), nowEnds = now.empty();
    if (wasLine != nowLine || wasEnds != nowEnds ||
        (wasRest.empty() && nowRest.empty())) {
      size_t at = 0;
      while (at < wasLine.size() && at < nowLine.size() &&
             wasLine[at] == nowLine[at])
        ++at;
      std::string where =
          ("line " + Twine(number) + " of its " + part + " text ").str();
      // Texts that differ in their last line break alone.
      if (wasLine == nowLine && !wasEnds && !nowEnds)
        return where + "ends in another way";
      return where + "was " + (wasEnds ? "not there" : excerpt(wasLine, at)) +
             " and is " +
             (nowEnds ? "now missing" : "now " + excerpt(nowLine, at));
    }
    was = wasRest;
    now = nowRest;
  }
}

static std::string firstDifference(const Prompt &was, const Prompt &now) {
  if (was.kind != now.kind)
    return ("it asked for " + stringify(was.kind) + " and now asks for " +
            stringify(now.kind))
        .str();
  for (const auto &[part, before, after] :
       {std::tuple<StringRef, StringRef, StringRef>{"system", was.system,
                                                    now.system},
        {"user", was.user, now.user},
        {"schema", was.schema, now.schema}})
    if (std::string text = firstDifference(part, before, after); !text.empty())
      return text;
  return "its sample was " + std::to_string(was.sample) + " and is now " +
         std::to_string(now.sample);
}

Error ReplayModel::missing(const Prompt &prompt) const {
  const RecordedExchange *alike = nullptr;
  for (const RecordedExchange *each : exchanges)
    if (each->prompt.name == prompt.name &&
        (!alike || (alike->prompt.sample != prompt.sample &&
                    each->prompt.sample == prompt.sample)))
      alike = each;
  std::string text = cassette->path + ": holds no reply of " + model +
                     " to the prompt " + prompt.name + ": ";
  // Names of prompts begin with the workload's key.
  StringRef key = StringRef(prompt.name).split('-').first;
  bool lacksWorkload =
      key.size() == 8 && all_of(key, isHexDigit) &&
      none_of(cassette->searches, [&](const RecordedSearch &search) {
        return StringRef(search.workload).starts_with(key);
      });
  if (alike)
    text += firstDifference(alike->prompt, prompt);
  else if (lacksWorkload)
    text += "nothing of workload " + key.str() + " is recorded there";
  else
    text += "the recorded search had no prompt of this name";
  if (!alike && any_of(cassette->searches, [](const RecordedSearch &search) {
        return !search.isComplete;
      }))
    text += ", or no reply yet: it was pending or interrupted when it was "
            "recorded";
  if (alike && alike->prompt.templates != prompt.templates)
    text += " (the templates of prompts are others: replay with those of the "
            "recording, or by names with replay:FILE?prompts=any)";
  text += "; search as it was recorded (the same options, prompts, bank and "
          "fastk), or record it again with --record=FILE";
  return createStringError(inconvertibleErrorCode(), text);
}

/// Where the record does not say it, told by what only prompts for families
/// have: the core that the ideas are for.
static Writing writingOf(const Cassette &cassette) {
  if (std::optional<Writing> recorded = parseWriting(cassette.writes))
    return *recorded;
  for (const RecordedSearch &search : cassette.searches)
    for (const RecordedExchange &each : search.exchanges)
      if (StringRef(each.prompt.system).contains("families") &&
          StringRef(each.prompt.system).contains("the core `"))
        return Writing::Families;
  return Writing::Programs;
}

Expected<std::unique_ptr<LanguageModel>>
fastk::createReplayModel(StringRef argument, Writing *wrote) {
  auto wrong = [](const Twine &what) {
    return createStringError(inconvertibleErrorCode(), what);
  };
  constexpr StringLiteral kChoice = "?model=", kAny = "?prompts=any";
  StringRef path = argument, wanted;
  if (size_t at = argument.rfind(kChoice); at != StringRef::npos) {
    path = argument.take_front(at);
    wanted = argument.drop_front(at + kChoice.size());
  }
  // Before or behind the model.
  bool byName = wanted.consume_back(kAny);
  byName |= path.consume_back(kAny);
  if (path.empty())
    return wrong("replay: names no file: write replay:FILE");
  Expected<std::shared_ptr<const Cassette>> cassette = readCassette(path);
  if (!cassette)
    return cassette.takeError();
  if (wrote)
    *wrote = writingOf(**cassette);
  std::vector<std::string> models = (*cassette)->models();
  if (models.empty())
    return wrong(path +
                 ": no language model answered in what it records; "
                 "leave out --proposer=replay:" +
                 path);
  if (wanted.empty() && models.size() == 1)
    wanted = models.front();
  if (is_contained(models, wanted))
    return std::make_unique<ReplayModel>(std::move(*cassette), wanted.str(),
                                         byName);
  std::string choices;
  for (const std::string &model : models)
    choices += (choices.empty() ? "" : ", ") + ("replay:" + path).str() +
               kChoice.str() + model;
  return wrong(wanted.empty()
                   ? path +
                         ": several language models answered: choose, once "
                         "for each of them, " +
                         choices
                   : path + ": no language model '" + wanted +
                         "' answered: choose " + choices);
}
