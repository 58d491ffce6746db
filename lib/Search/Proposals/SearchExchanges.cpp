//===- SearchExchanges.cpp - What language models say, kept ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SearchExchanges.h"
#include "fastk/Search/Progress.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace fastk;

/// An upper bound for English and for code: real tokenizers give 3.5 to 4.5.
static constexpr int64_t kMinCharactersPerToken = 3;

SearchExchanges::SearchExchanges(const SearchInput &input,
                                 const SearchBudget &budget, AnswerTimes &times,
                                 std::function<double()> elapsed)
    : input(input), budget(budget), times(times), elapsed(std::move(elapsed)) {
  if (!input.journal)
    return;
  for (const auto &[name, usage] : input.journal->exchangeUsages())
    account(name, usage);
  for (auto &[name, each] : input.journal->failedExchanges())
    failedByName.emplace(name, std::move(each));
  for (std::string &name : input.journal->usableExchanges())
    usable.insert(std::move(name));
}

void SearchExchanges::account(StringRef name, const Usage &usage) {
  spent[name.str()].push_back(usage);
  costs = costsOf("");
}

/// The model of an exchange, whose name is "DIGEST MODEL".
static StringRef modelOf(StringRef name) { return name.split(' ').second; }

ModelCosts SearchExchanges::costsOf(StringRef model) const {
  ModelCosts sum;
  for (const auto &[name, uses] : spent) {
    if (!model.empty() && modelOf(name) != model)
      continue;
    // What was asked again is one exchange, and cost what all of it did.
    ++sum.exchanges;
    sum.unpriced += !uses.back().usd;
    for (const Usage &used : uses) {
      sum.inputTokens += used.inputTokens;
      sum.cachedTokens += used.cachedTokens;
      sum.outputTokens += used.outputTokens;
      sum.reasoningTokens += used.reasoningTokens;
      sum.seconds += used.seconds;
      sum.isEstimated |= used.isEstimated;
      sum.usd += used.usd.value_or(0);
    }
  }
  return sum;
}

std::vector<FailedExchange> SearchExchanges::failures() const {
  std::vector<FailedExchange> list;
  for (const auto &[name, each] : failedByName)
    list.push_back(each);
  llvm::sort(list, [](const auto &a, const auto &b) {
    return std::tie(a.prompt, a.model, a.problem) <
           std::tie(b.prompt, b.model, b.problem);
  });
  return list;
}

bool SearchExchanges::hasAnswered(StringRef model) const {
  return any_of(
      usable, [&](const std::string &name) { return modelOf(name) == model; });
}

size_t SearchExchanges::allowed(MutableArrayRef<Prompt> prompts) {
  size_t count = prompts.size();
  if (budget.tokens > 0) {
    int64_t left = budget.tokens - costs.inputTokens - costs.outputTokens;
    for (size_t i = 0; i < count; ++i) {
      Prompt &prompt = prompts[i];
      int64_t input = static_cast<int64_t>(wholeText(prompt).size()) /
                          kMinCharactersPerToken +
                      1;
      // A reply must have room for a program, or it is paid for in vain.
      constexpr int64_t kMinReply = 2048;
      left -= input;
      if (left < kMinReply) {
        count = i;
        break;
      }
      if (prompt.maxOutputTokens == 0 || prompt.maxOutputTokens > left)
        prompt.maxOutputTokens = left;
      left -= prompt.maxOutputTokens;
    }
  }
  if (budget.usd > 0) {
    double left = budget.usd - costs.usd;
    int priced = costs.exchanges - costs.unpriced;
    // The first ones show what one costs.
    double each = priced > 0 ? costs.usd / priced : 0;
    if (!(left > 0))
      count = 0;
    else if (each > 0)
      count = std::min(count, static_cast<size_t>(left / each));
    else
      count = std::min<size_t>(count, 1);
  }
  return count;
}

size_t SearchExchanges::recorded(ArrayRef<std::string> names,
                                 size_t count) const {
  bool isLimited = budget.tokens > 0 || budget.usd > 0;
  if (!times.isReplay() || !isLimited || count == 0)
    return count;
  size_t known = 0;
  while (known < count && times.isRecorded(names[known]))
    ++known;
  if (known > 0)
    return known;
  return times.endsBefore(names.front()) ? 0 : count;
}

/// What a reply without an answer says.
static std::string problemOf(const Reply &reply) {
  return !reply.problem.empty()                ? reply.problem
         : reply.failure != ModelFailure::None ? stringify(reply.failure).str()
                                               : stringify(reply.status).str();
}

Error SearchExchanges::keep(const std::string &name, const Prompt &prompt,
                            const Reply &reply, double when) {
  usable.erase(name);
  failedByName.erase(name);
  if (isUsable(reply.status))
    usable.insert(name);
  else
    failedByName.emplace(name, FailedExchange{prompt.name, modelOf(name).str(),
                                              reply.status, reply.failure,
                                              json::fixUTF8(problemOf(reply))});
  replies.insert_or_assign(name, reply);
  return input.journal
             ? input.journal->recordExchange(name, prompt, reply, when)
             : Error::success();
}

void SearchExchanges::note(LanguageModel &model, ArrayRef<Failed> failed,
                           ArrayRef<Prompt> prompts, size_t asked) {
  if (failed.empty())
    return;
  const auto *telling = find_if(
      failed, [](const Failed &each) { return isFatal(each.reply.failure); });
  if (telling == failed.end())
    telling = failed.begin();
  lastFailure = model.name().str() + ": " + problemOf(telling->reply);
  if (!input.progress)
    return;
  std::string which = failed.size() == 1
                          ? "prompt " + prompts[failed.front().index].name
                          : std::to_string(failed.size()) + " of " +
                                std::to_string(asked) + " prompts";
  input.progress->note("no answer to " + which + ": " + lastFailure);
}

bool SearchExchanges::endsSearch(LanguageModel &model, ArrayRef<Failed> failed,
                                 bool someAnswered) const {
  if (any_of(failed,
             [](const Failed &each) { return isFatal(each.reply.failure); }))
    return true;
  if (someAnswered || failed.empty())
    return false;
  // A service that answers nothing at all is not the prompts' fault; nor is a
  // model that has not answered yet worth a search.
  return !hasAnswered(model.name()) || none_of(failed, [](const Failed &each) {
    return each.reply.status == ReplyStatus::Refused ||
           each.reply.failure == ModelFailure::ContextTooLong ||
           each.reply.failure == ModelFailure::Malformed;
  });
}

static std::string nameOf(const LanguageModel &model, const Prompt &prompt) {
  return digestOf(prompt) + " " + model.name().str();
}

Prompt SearchExchanges::asAsked(const LanguageModel &model,
                                Prompt prompt) const {
  // Beyond the samples that proposers ask for.
  constexpr int kAgain = 1 << 24;
  if (asksAgain && !usable.count(nameOf(model, prompt)))
    prompt.sample += kAgain;
  return prompt;
}

Error SearchExchanges::reject(LanguageModel &model, ArrayRef<Prompt> prompts,
                              StringRef problem) {
  for (const Prompt &original : prompts) {
    Prompt prompt = asAsked(model, original);
    std::string name = nameOf(model, prompt);
    Reply reply;
    if (auto said = replies.find(name); said != replies.end()) {
      reply = said->second;
    } else if (input.journal) {
      auto recorded = input.journal->findExchange(name);
      if (!recorded)
        return recorded.takeError();
      if (*recorded)
        reply = std::move((*recorded)->value);
    }
    reply.status = ReplyStatus::Unreadable;
    reply.problem = problem.str();
    if (Error error = keep(name, prompt, reply, elapsed()))
      return error;
  }
  lastFailure = model.name().str() + ": " + problem.str();
  if (input.progress)
    input.progress->note("no use of the reply to prompt " +
                         prompts.back().name + ": " + lastFailure);
  if (!hasAnswered(model.name()))
    unanswered = lastFailure;
  return Error::success();
}

Error SearchExchanges::recall(Call &call) {
  for (auto [index, prompt] : enumerate(call.prompts)) {
    std::string name = nameOf(call.model, prompt);
    call.names.push_back(name);
    if (auto said = replies.find(name); said != replies.end()) {
      call.result[index] = said->second;
    } else if (input.journal) {
      auto recorded = input.journal->findExchange(name);
      if (!recorded)
        return recorded.takeError();
      // What failed is asked again, by another run.
      if (*recorded &&
          (isUsable((*recorded)->value.status) ||
           input.journal->isOfThisRun(Journal::EventType::Exchange, name))) {
        times.found(name, (*recorded)->elapsed);
        call.result[index] = std::move((*recorded)->value);
      }
    }
    if (!call.result[index] && asksAgain && times.isReplay() &&
        !times.isRecorded(name))
      call.result[index].emplace().status = ReplyStatus::Failed;
    if (!call.result[index] && call.firstOf.try_emplace(name, index).second)
      call.missing.push_back(index);
  }
  return Error::success();
}

/// The prompts of one call run side by side, so what each may cost is set aside
/// before the next is allowed; what was not used is there for the next call.
Expected<bool> SearchExchanges::askMissing(Call &call) {
  std::vector<Prompt> asked;
  std::vector<std::string> askedNames;
  for (size_t index : call.missing) {
    asked.push_back(call.prompts[index]);
    askedNames.push_back(call.names[index]);
  }
  // What a model was asked meanwhile is paid for, whatever the budget says by
  // now, and whoever ends.
  size_t count = find_if(asked,
                         [&](const Prompt &prompt) {
                           return !call.model.isAsked(prompt);
                         }) -
                 asked.begin();
  bool isEnding = input.stopRequested && input.stopRequested();
  if (isEnding && count == 0) {
    interrupted = true;
    return false;
  }
  if (!isEnding)
    count = std::max(count, recorded(askedNames, allowed(asked)));
  if (count == 0) {
    budgetSpent = true;
    return false;
  }
  asked.resize(count);
  if (input.progress)
    input.progress->asking(call.model.name(), asked.size(), costs);
  std::vector<Failed> failed;
  int answered = 0;
  auto take = [&](size_t index, Reply reply, double when) -> Error {
    account(call.names[index], reply.usage);
    Error error = keep(call.names[index], call.prompts[index], reply, when);
    call.result[index] = std::move(reply);
    return error;
  };
  Error error = call.model.ask(
      asked, call.context, [&](size_t position, Reply reply) -> Error {
        size_t index = call.missing[position];
        double when = times.arrived(call.names[index], elapsed());
        // Whether a failure counts is known when the others have come.
        if (reply.status == ReplyStatus::Failed ||
            reply.status == ReplyStatus::Refused) {
          failed.push_back({index, std::move(reply), when});
          return Error::success();
        }
        ++answered;
        return take(index, std::move(reply), when);
      });
  if (error)
    return std::move(error);
  // What a user ends may fail on the way.
  if (!failed.empty() && input.stopRequested && input.stopRequested()) {
    interrupted = true;
    return false;
  }
  note(call.model, failed, call.prompts, asked.size());
  if (endsSearch(call.model, failed, answered > 0))
    unanswered = lastFailure;
  for (const Failed &each : failed)
    if (Error error = take(each.index, each.reply, each.when))
      return std::move(error);
  if (!unanswered.empty()) {
    // Nothing is to be decided on these.
    for (const Failed &each : failed)
      call.result[each.index] = std::nullopt;
    return false;
  }
  size_t before = call.missing.size();
  SmallVector<size_t> asideOrPending;
  for (size_t index : call.missing)
    if (!call.result[index])
      asideOrPending.push_back(index);
  call.missing = std::move(asideOrPending);
  // What was asked and has no reply is pending.
  if (before - call.missing.size() < count) {
    if (input.stopRequested && input.stopRequested())
      interrupted = true;
    else
      pending += static_cast<int>(call.missing.size());
    return false;
  }
  return true;
}

Expected<std::vector<std::optional<Reply>>>
SearchExchanges::ask(LanguageModel &model, ArrayRef<Prompt> originals) {
  Call call{model, input.context(model.name())};
  for (const Prompt &prompt : originals)
    call.prompts.push_back(asAsked(model, prompt));
  call.result.resize(call.prompts.size());
  if (Error error = recall(call))
    return std::move(error);
  while (!call.missing.empty()) {
    Expected<bool> goesOn = askMissing(call);
    if (!goesOn)
      return goesOn.takeError();
    if (!*goesOn)
      break;
  }
  for (auto [index, name] : enumerate(call.names))
    if (auto first = call.firstOf.find(name);
        !call.result[index] && first != call.firstOf.end())
      call.result[index] = call.result[first->second];
  // The later one tells how it stands.
  for (auto [original, name] : zip_equal(originals, call.names))
    if (std::string first = nameOf(call.model, original);
        first != name && (usable.count(name) || failedByName.count(name)))
      failedByName.erase(first);
  return std::move(call.result);
}
