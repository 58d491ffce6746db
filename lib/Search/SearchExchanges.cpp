//===- SearchExchanges.cpp - What language models say, kept ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SearchExchanges.h"
#include "fastk/Search/Progress.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"

using namespace llvm;
using namespace fastk;

/// An upper bound for English and for code: real tokenizers give 3.5 to 4.5.
static constexpr int64_t kLeastCharactersPerToken = 3;

SearchExchanges::SearchExchanges(const SearchInput &input,
                                 const SearchBudget &budget, AnswerTimes &times,
                                 std::function<double()> elapsed)
    : input(input), budget(budget), times(times), elapsed(std::move(elapsed)) {
  if (input.journal)
    for (const auto &[name, usage] : input.journal->exchangeUsages())
      account(name, usage);
}

void SearchExchanges::account(StringRef name, const Usage &usage) {
  if (spent.emplace(name.str(), usage).second)
    costs = costsOf("");
}

ModelCosts SearchExchanges::costsOf(StringRef model) const {
  ModelCosts sum;
  for (const auto &[name, used] : spent) {
    // "DIGEST MODEL"; of all models where none is named.
    if (!model.empty() && StringRef(name).split(' ').second != model)
      continue;
    ++sum.exchanges;
    sum.inputTokens += used.inputTokens;
    sum.cachedTokens += used.cachedTokens;
    sum.outputTokens += used.outputTokens;
    sum.reasoningTokens += used.reasoningTokens;
    sum.seconds += used.seconds;
    sum.isEstimated |= used.isEstimated;
    if (used.usd)
      sum.usd += *used.usd;
    else
      ++sum.unpriced;
  }
  return sum;
}

size_t SearchExchanges::allowed(MutableArrayRef<Prompt> prompts) {
  size_t count = prompts.size();
  if (budget.tokens > 0) {
    int64_t left = budget.tokens - costs.inputTokens - costs.outputTokens;
    for (size_t i = 0; i < count; ++i) {
      Prompt &prompt = prompts[i];
      int64_t input = static_cast<int64_t>(wholeText(prompt).size()) /
                          kLeastCharactersPerToken +
                      1;
      // A reply must have room for a program, or it is paid for in vain.
      constexpr int64_t kLeastReply = 2048;
      left -= input;
      if (left < kLeastReply) {
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

Expected<std::vector<std::optional<Reply>>>
SearchExchanges::ask(LanguageModel &model, ArrayRef<Prompt> prompts) {
  std::vector<std::optional<Reply>> result(prompts.size());
  std::vector<std::string> names;
  SmallVector<size_t> missing;
  // The same prompt twice is one exchange.
  StringMap<size_t> firstOf;
  for (auto [index, prompt] : enumerate(prompts)) {
    std::string name = digestOf(prompt) + " " + model.name().str();
    names.push_back(name);
    if (auto said = replies.find(name); said != replies.end()) {
      result[index] = said->second;
    } else if (input.journal) {
      auto recorded = input.journal->findExchange(name);
      if (!recorded)
        return recorded.takeError();
      if (*recorded) {
        times.found(name, (*recorded)->elapsed);
        result[index] = std::move((*recorded)->value);
      }
    }
    if (!result[index] && firstOf.try_emplace(name, index).second)
      missing.push_back(index);
  }

  model.stopRequested = input.stopRequested;
  model.whileWaiting = [&] {
    if (input.progress)
      input.progress->tick();
  };
  // On every way out: the model outlives this search.
  llvm::scope_exit forget([&] {
    model.whileWaiting = nullptr;
    model.stopRequested = nullptr;
  });
  // The prompts of one call run side by side, so what each may cost is set
  // aside before the next is allowed; what was not used is there for the next
  // call.
  while (!missing.empty()) {
    if (input.stopRequested && input.stopRequested()) {
      interrupted = true;
      break;
    }
    std::vector<Prompt> asked;
    std::vector<std::string> askedNames;
    for (size_t index : missing) {
      asked.push_back(prompts[index]);
      askedNames.push_back(names[index]);
    }
    size_t count = recorded(askedNames, allowed(asked));
    if (count == 0) {
      budgetSpent = true;
      break;
    }
    asked.resize(count);
    if (input.progress)
      input.progress->asking(model.name(), asked.size(), costs);
    struct Failed {
      size_t index;
      Reply reply;
      double when;
    };
    std::vector<Failed> failed;
    int answered = 0;
    auto keep = [&](size_t index, Reply reply, double when) -> Error {
      account(names[index], reply.usage);
      if (input.journal)
        if (Error error = input.journal->recordExchange(
                names[index], prompts[index], reply, when))
          return error;
      replies.insert_or_assign(names[index], reply);
      result[index] = std::move(reply);
      return Error::success();
    };
    Error error = model.ask(asked, [&](size_t position, Reply reply) -> Error {
      size_t index = missing[position];
      double when = times.arrived(names[index], elapsed());
      // Whether a failure counts is known when the others have come.
      if (reply.status == ReplyStatus::Failed) {
        failed.push_back({index, std::move(reply), when});
        return Error::success();
      }
      ++answered;
      return keep(index, std::move(reply), when);
    });
    if (error)
      return std::move(error);
    for (auto &[index, reply, when] : failed)
      if (isFatal(reply.failure))
        return createStringError(inconvertibleErrorCode(),
                                 model.name() + ": " + reply.problem);
    // A service that answers nothing at all is not the prompts' fault. Nothing
    // is recorded, so the same command asks again.
    if (answered == 0 && !failed.empty() &&
        none_of(failed, [](const Failed &each) {
          return each.reply.failure == ModelFailure::ContextTooLong ||
                 each.reply.failure == ModelFailure::Malformed;
        }))
      return createStringError(
          inconvertibleErrorCode(),
          model.name() + ": " + failed.front().reply.problem +
              "\nnothing is lost: the same command goes on from the journal");
    for (auto &[index, reply, when] : failed)
      if (Error error = keep(index, std::move(reply), when))
        return std::move(error);
    size_t before = missing.size();
    SmallVector<size_t> asideOrPending;
    for (size_t index : missing)
      if (!result[index])
        asideOrPending.push_back(index);
    missing = std::move(asideOrPending);
    // What was asked and has no reply is pending.
    if (before - missing.size() < count) {
      if (input.stopRequested && input.stopRequested())
        interrupted = true;
      else
        pending += static_cast<int>(missing.size());
      break;
    }
  }
  for (auto [index, name] : enumerate(names))
    if (auto first = firstOf.find(name);
        !result[index] && first != firstOf.end())
      result[index] = result[first->second];
  return result;
}
