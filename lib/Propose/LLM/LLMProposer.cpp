//===- LLMProposer.cpp - Ideas and programs of a language model -----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Propose/LLM/LLMProposer.h"
#include "ReadReply.h"
#include "WritePrompts.h"
#include "fastk/Dialect/Fastk/PlanRegion.h"
#include "fastk/LLM/Exchanges.h"
#include "fastk/Propose/Parameters.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <set>

using namespace llvm;
using namespace fastk;

/// Of a reply that is no program this much is kept, for whoever mends it.
static constexpr size_t kMaxKeptBytes = 32 << 10;

/// Samples of prompts that are asked with a higher limit begin here: the limit
/// alone does not tell two prompts apart.
static constexpr int kLongerSample = 1000;

namespace {

using Replies = std::vector<std::optional<Reply>>;
using Variants = std::vector<Variant>;

class LLMProposer : public Proposer {
public:
  LLMProposer(std::unique_ptr<LanguageModel> model, PromptTemplates templates,
              LLMProposerOptions options)
      : model(std::move(model)), templates(std::move(templates)),
        options(std::move(options)) {}

  StringRef name() const override { return model->name(); }
  Languages languages(const TargetDescription &target) const override {
    return {llm::promptLanguageOf(options.writing, target).language};
  }
  bool prefersBatching() const override { return true; }
  StringRef writes() const override { return stringify(options.writing); }
  std::string pendingHint() const override { return model->pendingHint(); }
  bool waits() const override { return model->waits(); }
  bool takeNews() override { return model->takeNews(); }

  Answer<std::vector<Idea>> proposeIdeas(const ProposalContext &context,
                                         int count) override;
  Answers<Variants> realise(const ProposalContext &context,
                            ArrayRef<Idea> ideas, int count) override;
  Expected<std::vector<Variant>> neighbours(const ProposalContext &context,
                                            const Variant &variant,
                                            int count) override;
  Answers<Variants> repair(const ProposalContext &context,
                           ArrayRef<FailedVariant> failed) override;

private:
  Expected<Replies> ask(const ProposalContext &context,
                        std::vector<Prompt> prompts);
  /// Nothing can be made of the replies to `prompts`.
  Error reject(const ProposalContext &context, ArrayRef<Prompt> prompts,
               StringRef problem) {
    return context.exchanges && !prompts.empty()
               ? context.exchanges->reject(*model, prompts, problem)
               : Error::success();
  }
  void giveIds(const ProposalContext &context, std::vector<Idea> &ideas) const;
  /// Null: programs are asked for.
  std::unique_ptr<llm::FamilyTask>
  familyTask(const ProposalContext &context) const {
    return options.writing == Writing::Families
               ? llm::familyTaskOf(context, options.families)
               : nullptr;
  }

  std::unique_ptr<LanguageModel> model;
  PromptTemplates templates;
  LLMProposerOptions options;
};

} // namespace

/// Asks, and once more with twice the limit where a reply was cut.
Expected<Replies> LLMProposer::ask(const ProposalContext &context,
                                   std::vector<Prompt> prompts) {
  std::unique_ptr<Exchanges> direct;
  Exchanges *exchanges = context.exchanges;
  if (!exchanges) {
    direct = createDirectExchanges();
    exchanges = direct.get();
  }
  Expected<Replies> replies = exchanges->ask(*model, prompts);
  if (!replies)
    return replies;
  assert(replies->size() == prompts.size());
  std::vector<Prompt> longer;
  std::vector<size_t> places;
  for (auto [index, reply] : enumerate(*replies))
    if (reply && reply->status == ReplyStatus::Truncated) {
      Prompt prompt = prompts[index];
      prompt.name += "-longer";
      prompt.maxOutputTokens *= 2;
      prompt.sample += kLongerSample;
      longer.push_back(std::move(prompt));
      places.push_back(index);
    }
  if (longer.empty())
    return replies;
  Expected<Replies> again = exchanges->ask(*model, longer);
  if (!again)
    return again;
  for (auto [place, reply] : zip_equal(places, *again))
    (*replies)[place] = std::move(reply);
  return replies;
}

/// True for replies that hold something to be read, though a recorded search
/// could make nothing of it.
static bool isAnswer(const Reply &reply) {
  return isUsable(reply.status) || reply.status == ReplyStatus::Unreadable;
}

//===----------------------------------------------------------------------===//
// Ideas
//===----------------------------------------------------------------------===//

/// An idea's text without what was added to it when it was read.
static StringRef withoutGain(StringRef text) {
  return text.take_front(text.rfind("\nExpected gain: "));
}

void LLMProposer::giveIds(const ProposalContext &context,
                          std::vector<Idea> &ideas) const {
  std::set<std::string> used;
  for (const TriedVariant &tried : context.history)
    used.insert(tried.variant.ideaId);
  for (Idea &idea : ideas) {
    std::string id = formatv("{0}/{1}-{2}", options.idPrefix, context.round,
                             llm::slugOf(idea.title));
    idea.id = id;
    for (int number = 2; !used.insert(idea.id).second; ++number)
      idea.id = id + "-" + std::to_string(number);
  }
}

Answer<std::vector<Idea>>
LLMProposer::proposeIdeas(const ProposalContext &context, int count) {
  if (count <= 0)
    return std::vector<Idea>();
  std::unique_ptr<llm::FamilyTask> task = familyTask(context);
  llm::PromptWriter writer(templates, context, options, task.get());
  std::vector<std::string> labels = writer.labels(), parents, known;
  for (const TriedVariant &parent : context.parents)
    parents.push_back(digestOf(parent.variant));
  if (task) {
    llvm::append_range(labels, task->labels());
    for (const families::Family *family : task->known)
      parents.push_back(llm::parentOf(*family));
  }
  for (const TriedVariant &tried : context.history) {
    known.push_back(llm::normalise(tried.idea.title));
    known.push_back(llm::normalise(withoutGain(tried.idea.text)));
  }
  Prompt prompt = writer.ideas(count);
  llm::IdeasReply read;
  std::vector<Prompt> unreadable;
  std::string problem;
  // A reply that cannot be read is asked for once more.
  for (int attempt = 0; attempt < 2; ++attempt) {
    Expected<Replies> replies = ask(context, {prompt});
    if (!replies)
      return replies.takeError();
    const std::optional<Reply> &reply = replies->front();
    if (!reply)
      return std::nullopt;
    if (!isAnswer(*reply))
      break;
    read = llm::readIdeas(reply->text, count, labels, known);
    if (!read.ideas.empty())
      break;
    if (read.isUnreadable) {
      unreadable.push_back(prompt);
      problem = read.problem;
    }
    prompt = writer.ideasAgain(prompt, read.problem, reply->text);
  }
  if (read.ideas.empty())
    if (Error error = reject(context, unreadable, problem))
      return std::move(error);
  for (Idea &idea : read.ideas)
    for (auto [label, parent] : zip_equal(labels, parents))
      if (idea.parent == label) {
        idea.parent = parent;
        break;
      }
  giveIds(context, read.ideas);
  return std::move(read.ideas);
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

/// What a reply holds: a variant, perhaps with a problem.
static Variant readVariant(const Reply &reply, Language language,
                           const Idea &idea, const llm::FamilyTask *task) {
  llm::ProgramReply read =
      llm::readProgram(reply.text, language, /*isFamily=*/task != nullptr);
  Variant variant;
  if (read.problem.empty()) {
    variant = task ? llm::makeFamilyVariant(*task, idea, read)
                   : makeVariant(language, read.program, read.plan);
    if (variant.problem.empty())
      return variant;
    // Kept with its plan, so that both can be mended.
    variant.plan = std::nullopt;
    variant.workspaceBytes = 0;
    variant.parameters.clear();
  } else {
    variant.language = language;
    variant.problem = read.problem;
    if (reply.status == ReplyStatus::Truncated)
      variant.problem = "the reply was cut by its limit of length, twice: "
                        "write a shorter program, and think less";
  }
  variant.program = llm::cleanText(reply.text, kMaxKeptBytes);
  variant.problem = llm::cleanLine(variant.problem, 1000);
  return variant;
}

Answers<Variants> LLMProposer::realise(const ProposalContext &context,
                                       ArrayRef<Idea> ideas, int count) {
  std::vector<std::optional<Variants>> result(ideas.size(), Variants());
  if (count <= 0)
    return result;
  std::unique_ptr<llm::FamilyTask> task = familyTask(context);
  llm::PromptWriter writer(templates, context, options, task.get());
  std::vector<Prompt> prompts;
  for (const Idea &idea : ideas)
    for (int sample = 1; sample <= count; ++sample)
      prompts.push_back(writer.variant(idea, sample, count));
  Expected<Replies> replies = ask(context, std::move(prompts));
  if (!replies)
    return replies.takeError();
  Language language =
      llm::promptLanguageOf(options.writing, context.target).language;
  for (auto [index, idea] : enumerate(ideas)) {
    std::set<std::string> seen;
    for (int sample = 0; sample < count; ++sample) {
      const std::optional<Reply> &reply = (*replies)[index * count + sample];
      if (!reply) {
        result[index] = std::nullopt;
        break;
      }
      if (!isAnswer(*reply))
        continue;
      Variant variant = readVariant(*reply, language, idea, task.get());
      variant.ideaId = idea.id;
      variant.parent = idea.parent;
      if (seen.insert(digestOf(variant)).second)
        result[index]->push_back(std::move(variant));
    }
  }
  return result;
}

Answers<Variants> LLMProposer::repair(const ProposalContext &context,
                                      ArrayRef<FailedVariant> failed) {
  std::vector<std::optional<Variants>> result(failed.size(), Variants());
  Language language =
      llm::promptLanguageOf(options.writing, context.target).language;
  std::unique_ptr<llm::FamilyTask> task = familyTask(context);
  llm::PromptWriter writer(templates, context, options, task.get());
  std::vector<Prompt> prompts;
  std::vector<size_t> places;
  for (auto [index, each] : enumerate(failed))
    if (each.tried.variant.language == language) {
      prompts.push_back(writer.repair(each));
      places.push_back(index);
    }
  if (prompts.empty())
    return result;
  Expected<Replies> replies = ask(context, std::move(prompts));
  if (!replies)
    return replies.takeError();
  for (auto [place, reply] : zip_equal(places, *replies)) {
    if (!reply) {
      result[place] = std::nullopt;
      continue;
    }
    if (!isAnswer(*reply))
      continue;
    Variant variant =
        readVariant(*reply, language, failed[place].idea, task.get());
    variant.ideaId = failed[place].tried.variant.ideaId;
    variant.parent = digestOf(failed[place].tried.variant);
    result[place]->push_back(std::move(variant));
  }
  return result;
}

Expected<std::vector<Variant>>
LLMProposer::neighbours(const ProposalContext &context, const Variant &variant,
                        int count) {
  return neighboursOf(context, variant, count);
}

std::unique_ptr<Proposer>
fastk::createLLMProposer(std::unique_ptr<LanguageModel> model,
                         PromptTemplates templates,
                         LLMProposerOptions options) {
  return std::make_unique<LLMProposer>(std::move(model), std::move(templates),
                                       std::move(options));
}
