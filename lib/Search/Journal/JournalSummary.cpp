//===- JournalSummary.cpp - What a search was told and has spent ----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JournalFormat.h"
#include "fastk/Search/Journal.h"
#include "fastk/Support/Nesting.h"
#include "llvm/Support/FileSystem.h"
#include <algorithm>
#include <fcntl.h>

using namespace llvm;
using namespace fastk;
using namespace fastk::journal;

Journal::Spent Journal::spentIn(StringRef directory) {
  Spent spent;
  std::string path = (directory + "/journal.jsonl").str();
  Expected<std::string> content =
      readRegularFile(AT_FDCWD, path, path, kFileLimit);
  if (!content) {
    consumeError(content.takeError());
    return spent;
  }
  SmallVector<StringRef> lines;
  StringRef(*content).split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef line : lines) {
    std::optional<StringRef> body = bodyOf(line);
    if (!body)
      continue;
    Expected<json::Value> value = parseShallowJSON(*body);
    if (!value) {
      consumeError(value.takeError());
      continue;
    }
    if (const json::Object *event = value->getAsObject()) {
      spent.evaluations += event->getString("type") == StringRef("evaluation");
      const json::Object *reply = event->getObject("reply");
      if (reply && statusOf(*reply) != ReplyStatus::Unreadable) {
        Usage usage = usageOf(*reply);
        spent.tokens += usage.inputTokens + usage.outputTokens;
        spent.usd += usage.usd.value_or(0);
      }
      spent.seconds =
          std::max(spent.seconds, event->getNumber("elapsed").value_or(0));
    }
  }
  return spent;
}

Expected<std::optional<RecordedSearch>>
Journal::recordedIn(StringRef directory) {
  Journal journal(directory.str(), std::nullopt);
  if (!sys::fs::exists(journal.filePath()))
    return std::nullopt;
  if (Error error = journal.read(/*binding=*/nullptr))
    return std::move(error);
  RecordedSearch search;
  search.binding = std::move(journal.bound);
  if (std::optional<TargetDescription> device = journal.findDevice())
    search.device = std::move(*device);
  auto variants = journal.findVariants(kSeeds);
  if (!variants)
    return variants.takeError();
  if (auto ideas = journal.findIdeas(kSeeds); ideas && *variants)
    for (auto [idea, variant] : zip(ideas->value, (*variants)->value))
      search.seeds.push_back({idea, variant});
  if (auto known = journal.findIdeas(kKnownIdeas))
    search.known = std::move(known->value);
  for (const auto &entry : journal.events) {
    const Event &event = entry.second;
    auto [type, name] = entry.getKey().split(':');
    if (event.verdict)
      search.verdicts.push_back({name.str(), event.elapsed, *event.verdict});
    const json::Object *fields = event.fields.getObject("prompt");
    if (type != "exchange" || !fields)
      continue;
    RecordedExchange exchange;
    std::tie(exchange.digest, exchange.model) = name.split(' ');
    exchange.elapsed = event.elapsed;
    Prompt &prompt = exchange.prompt;
    prompt.kind = parsePromptKind(fields->getString("kind").value_or(""))
                      .value_or(prompt.kind);
    prompt.name = fields->getString("name").value_or("").str();
    prompt.templates = fields->getString("templates").value_or("").str();
    prompt.sample = fields->getInteger("sample").value_or(0);
    for (auto [field, text] :
         {std::pair<StringRef, std::string &>{"system", prompt.system},
          {"user", prompt.user},
          {"schema", prompt.schema}})
      if (StringRef digest = fields->getString(field).value_or("");
          !digest.empty())
        if (Error error = journal.loadFile(textPath(directory, digest), digest)
                              .moveInto(text))
          return std::move(error);
    auto reply = journal.findExchange(name);
    if (!reply)
      return reply.takeError();
    exchange.reply = std::move((*reply)->value);
    search.exchanges.push_back(std::move(exchange));
  }
  llvm::sort(search.exchanges, [](const auto &a, const auto &b) {
    return std::tuple(a.elapsed, a.name()) < std::tuple(b.elapsed, b.name());
  });
  llvm::sort(search.verdicts, [](const auto &a, const auto &b) {
    return std::tie(a.elapsed, a.name) < std::tie(b.elapsed, b.name);
  });
  return std::move(search);
}
