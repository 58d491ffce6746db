//===- AskingWorld.h - A search that asks a language model ------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_UNITTESTS_SEARCH_ASKINGWORLD_H
#define FASTK_UNITTESTS_SEARCH_ASKINGWORLD_H

#include "SearchTestUtils.h"
#include "fastk/LLM/Exchanges.h"

namespace fastk::test {

/// Says what `say` does; remembers what it was asked.
class ScriptedModel : public LanguageModel {
public:
  llvm::StringRef name() const override { return "scripted-model"; }
  bool waits() const override { return isAskedMeanwhile; }
  bool isAsked(const Prompt &prompt) override {
    return isAskedMeanwhile && llvm::any_of(asked, [&](const Prompt &each) {
             return digestOf(each) == digestOf(prompt);
           });
  }
  llvm::Error ask(llvm::ArrayRef<Prompt> prompts, const RequestContext &context,
                  OnReply onReply) override {
    ++calls;
    if (!late.empty())
      context.say(late);
    // Backwards: replies come in any order.
    for (size_t i = prompts.size(); i-- > 0;) {
      asked.push_back(prompts[i]);
      std::optional<Reply> reply = say(prompts[i]);
      if (!reply)
        continue;
      reply->model = "scripted-model";
      if (llvm::Error error = onReply(i, std::move(*reply)))
        return error;
    }
    return llvm::Error::success();
  }
  std::function<std::optional<Reply>(const Prompt &)> say;
  /// Why its answers take so long, if they do.
  std::string late;
  bool isAskedMeanwhile = false;
  std::vector<Prompt> asked;
  int calls = 0;
};

template <typename T>
bool passed(llvm::Expected<T> &&value) {
  if (value)
    return true;
  ADD_FAILURE() << llvm::toString(value.takeError());
  return false;
}
template <typename T>
bool passed(llvm::Expected<T> &value) {
  return passed(std::move(value));
}
inline bool passed(llvm::Error error) {
  std::string text = llvm::toString(std::move(error));
  EXPECT_EQ(text, "");
  return text.empty();
}

inline Reply saying(const std::string &text) {
  Reply reply;
  reply.text = text;
  reply.usage.inputTokens = 100;
  reply.usage.outputTokens = 50;
  return reply;
}

inline Reply failing(ModelFailure failure) {
  Reply reply;
  reply.status = ReplyStatus::Failed;
  reply.failure = failure;
  reply.problem = "the service said no";
  return reply;
}

/// Keeps what is said while a search runs.
class NotedProgress : public SearchProgress {
public:
  void note(llvm::StringRef text) override { notes.push_back(text.str()); }
  void preparing(llvm::StringRef what) override {}
  void tick() override {}
  void asking(llvm::StringRef model, size_t prompts,
              const ModelCosts &costs) override {}
  void evaluating(const SearchStanding &standing) override {}
  void evaluated(const SearchStanding &standing, llvm::StringRef status,
                 llvm::StringRef reason) override {}
  void roundEnded(const SearchStanding &standing) override {}
  void ended() override {}
  std::vector<std::string> notes;
};

/// Two ideas a round; a variant is whatever the model says, "bad" is no
/// program, and what is repaired is said anew.
class AskingProposer : public Proposer {
public:
  explicit AskingProposer(LanguageModel &model) : model(model) {}
  llvm::StringRef name() const override { return "asking"; }
  bool prefersBatching() const override { return true; }

  Answer<std::vector<Idea>> proposeIdeas(const ProposalContext &context,
                                         int count) override {
    std::string round = std::to_string(context.round);
    auto replies = context.exchanges->ask(
        model, prompt(PromptKind::Ideas, "ideas " + round, 0));
    if (!replies)
      return replies.takeError();
    if (!replies->front())
      return std::nullopt;
    if (replies->front()->status != ReplyStatus::Complete)
      return std::vector<Idea>();
    if (llvm::StringRef(replies->front()->text).starts_with("bad")) {
      if (llvm::Error error = context.exchanges->reject(
              model, prompt(PromptKind::Ideas, "ideas " + round, 0),
              "there is no list of ideas"))
        return std::move(error);
      return std::vector<Idea>();
    }
    std::vector<Idea> ideas;
    for (int i = 0; i < std::min(count, 2); ++i)
      ideas.push_back({"asking/" + round + "-" + std::to_string(i),
                       IdeaCategory::Compute, "idea", "Do it."});
    return std::optional(ideas);
  }

  Answers<std::vector<Variant>> realise(const ProposalContext &context,
                                        llvm::ArrayRef<Idea> ideas,
                                        int count) override {
    std::vector<Prompt> prompts;
    for (const Idea &idea : ideas)
      for (int sample = 0; sample < count; ++sample)
        prompts.push_back(prompt(PromptKind::Variant, idea.id, sample));
    auto replies = context.exchanges->ask(model, prompts);
    if (!replies)
      return replies.takeError();
    std::vector<std::optional<std::vector<Variant>>> answers(ideas.size());
    for (size_t i = 0; i < ideas.size(); ++i) {
      answers[i].emplace();
      for (int sample = 0; sample < count; ++sample) {
        const std::optional<Reply> &reply = (*replies)[i * count + sample];
        if (!reply) {
          answers[i].reset();
          break;
        }
        if (reply->status == ReplyStatus::Complete)
          answers[i]->push_back(read(*reply, ideas[i].id));
      }
    }
    return answers;
  }

  Answers<std::vector<Variant>>
  repair(const ProposalContext &context,
         llvm::ArrayRef<FailedVariant> failed) override {
    std::vector<Prompt> prompts;
    for (const FailedVariant &each : failed)
      prompts.push_back(prompt(PromptKind::Repair,
                               "mend " + each.tried.status + " " +
                                   digestOf(each.tried.variant),
                               each.attempt));
    auto replies = context.exchanges->ask(model, prompts);
    if (!replies)
      return replies.takeError();
    std::vector<std::optional<std::vector<Variant>>> answers(failed.size());
    for (size_t i = 0; i < failed.size(); ++i)
      if ((*replies)[i] && (*replies)[i]->status != ReplyStatus::Complete)
        answers[i].emplace();
      else if ((*replies)[i])
        answers[i] = {read(*(*replies)[i], failed[i].idea.id)};
    return answers;
  }

  static Variant read(const Reply &reply, const std::string &idea) {
    Variant variant;
    variant.ideaId = idea;
    if (llvm::StringRef(reply.text).starts_with("bad"))
      variant.problem = "there is no program in it: " + reply.text;
    else
      variant.program = reply.text;
    return variant;
  }
  static Prompt prompt(PromptKind kind, const std::string &text, int sample) {
    Prompt prompt;
    prompt.kind = kind;
    prompt.name = text;
    prompt.system = "You write kernels.";
    prompt.user = text;
    prompt.sample = sample;
    return prompt;
  }

  LanguageModel &model;
};

/// A world whose only proposer asks a scripted model.
struct AskingWorld : World {
  AskingWorld() : World(0, nullptr), asking(model) {
    model.say = [](const Prompt &prompt) -> std::optional<Reply> {
      // Each program is another one, and faster in later rounds.
      double ns = 900 - 10.0 * (std::hash<std::string>()(prompt.user) % 50);
      return saying(ok(ns, digestOf(prompt)));
    };
    options.rounds = 2;
    options.ideas = 2;
    options.implementations = 2;
  }
  /// From now on the model does not answer this prompt.
  void timeOutOn(llvm::StringRef user, int sample) {
    model.say = [say = model.say, user = user.str(),
                 sample](const Prompt &prompt) -> std::optional<Reply> {
      return prompt.user == user && prompt.sample == sample
                 ? failing(ModelFailure::Timeout)
                 : say(prompt);
    };
  }
  llvm::Expected<SearchResult> run(Journal *journal = nullptr) {
    SearchInput in = input(journal);
    Proposer *only = &asking;
    in.proposers = only;
    return runSearch(in, options);
  }
  std::unique_ptr<Journal> journalIn(const TemporaryFolder &folder) {
    return openJournal(folder.str() + "/journal", options);
  }
  ScriptedModel model;
  AskingProposer asking;
  SearchOptions options;
};

} // namespace fastk::test

#endif // FASTK_UNITTESTS_SEARCH_ASKINGWORLD_H
