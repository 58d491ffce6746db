//===- JournalExchanges.cpp - Exchanges with language models --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JournalFormat.h"
#include "fastk/LLM/UsageFields.h"
#include "fastk/Search/Journal.h"
#include "fastk/Support/Sha256.h"

using namespace llvm;
using namespace fastk;
using namespace fastk::journal;

Error Journal::recordExchange(StringRef name, const Prompt &prompt,
                              const Reply &reply, double elapsed) {
  const StringRef contents[] = {prompt.system, prompt.user, prompt.schema,
                                reply.text};
  std::string digests[4];
  for (auto [digest, content] : zip_equal(digests, contents)) {
    if (content.empty())
      continue;
    digest = sha256(content);
    if (Error error = storeFile(textPath(directory, digest), content))
      return error;
  }
  const Usage &usage = reply.usage;
  json::Object cost;
  forEachUsageField(usage,
                    [&](StringRef name, auto value) { cost[name] = value; });
  if (usage.usd)
    cost["usd"] = *usage.usd;
  return append(text(json::Object{
      {"type", "exchange"},
      {"name", json::fixUTF8(name)},
      {"elapsed", elapsed},
      {"prompt", json::Object{{"kind", stringify(prompt.kind)},
                              {"name", json::fixUTF8(prompt.name)},
                              {"system", digests[0]},
                              {"user", digests[1]},
                              {"schema", digests[2]},
                              {"templates", prompt.templates},
                              {"sample", prompt.sample}}},
      {"reply", json::Object{{"model", json::fixUTF8(reply.model)},
                             {"status", stringify(reply.status)},
                             {"failure", stringify(reply.failure)},
                             {"problem", json::fixUTF8(reply.problem)},
                             {"text", digests[3]},
                             {"usage", std::move(cost)}}}}));
}

static constexpr StringLiteral kExchange = "exchange:";

std::vector<std::pair<std::string, Usage>> Journal::exchangeUsages() const {
  std::vector<std::pair<std::string, Usage>> usages = earlierUsages;
  for (const auto &entry : events)
    if (StringRef name = entry.getKey(); name.consume_front(kExchange))
      if (const json::Object *reply = entry.second.fields.getObject("reply"))
        usages.emplace_back(name.str(), usageOf(*reply));
  return usages;
}

std::vector<std::pair<std::string, FailedExchange>>
Journal::failedExchanges() const {
  std::vector<std::pair<std::string, FailedExchange>> failed;
  for (const auto &entry : events) {
    StringRef name = entry.getKey();
    const json::Object *reply = entry.second.fields.getObject("reply");
    if (!name.consume_front(kExchange) || !reply || isUsable(statusOf(*reply)))
      continue;
    FailedExchange each;
    if (const json::Object *prompt = entry.second.fields.getObject("prompt"))
      each.prompt = prompt->getString("name").value_or("").str();
    each.model = name.split(' ').second.str();
    each.status = statusOf(*reply);
    each.failure = parseModelFailure(reply->getString("failure").value_or(""))
                       .value_or(ModelFailure::None);
    each.problem = reply->getString("problem").value_or("").str();
    failed.emplace_back(name.str(), std::move(each));
  }
  return failed;
}

std::vector<std::string> Journal::usableExchanges() const {
  std::vector<std::string> names;
  for (const auto &entry : events)
    if (StringRef name = entry.getKey(); name.consume_front(kExchange))
      if (const json::Object *reply = entry.second.fields.getObject("reply");
          reply && isUsable(statusOf(*reply)))
        names.push_back(name.str());
  return names;
}

Expected<std::optional<Journal::Recorded<Reply>>>
Journal::findExchange(StringRef name) {
  const Event *event = find("exchange", json::fixUTF8(name));
  const json::Object *fields =
      event ? event->fields.getObject("reply") : nullptr;
  if (!fields)
    return std::nullopt;
  Recorded<Reply> result{{}, event->elapsed};
  Reply &reply = result.value;
  auto field = [&](StringRef key) {
    return fields->getString(key).value_or("");
  };
  reply.model = field("model").str();
  reply.problem = field("problem").str();
  reply.status =
      parseReplyStatus(field("status")).value_or(ReplyStatus::Failed);
  reply.failure =
      parseModelFailure(field("failure")).value_or(ModelFailure::Malformed);
  reply.usage = usageOf(*fields);
  if (StringRef digest = field("text"); !digest.empty()) {
    Expected<std::string> content =
        loadFile(textPath(directory, digest), digest);
    if (!content)
      return content.takeError();
    reply.text = std::move(*content);
  }
  return result;
}
