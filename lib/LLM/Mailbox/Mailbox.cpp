//===- Mailbox.cpp - Prompts and replies as files -------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A prompt's file appears whole: it is written beside its place and renamed. An
// answer counts as soon as its file is there, so whoever writes it should do
// the same. Nothing is ever deleted: a search that asks again finds its answer,
// and two searches that ask the same share one.
//
//===----------------------------------------------------------------------===//

#include "fastk/LLM/Mailbox.h"
#include "fastk/Support/DurableFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include <chrono>
#include <fcntl.h>
#include <thread>

using namespace llvm;
using namespace fastk;

/// Far above what any model says; a bound for a stray file.
static constexpr size_t kAnswerLimit = size_t(4) << 20;

/// How often a folder is looked at for replies.
static constexpr std::chrono::milliseconds kLook{100};

namespace {
using Clock = std::chrono::steady_clock;

class Mailbox : public LanguageModel {
public:
  Mailbox(StringRef directory, double waitSeconds, bool asksMeanwhile)
      : directory(directory.str()), shownName(("mailbox:" + directory).str()),
        wait(waitSeconds), asksMeanwhile(asksMeanwhile) {}

  StringRef name() const override { return shownName; }

  std::string pendingHint() const override {
    return "each " + directory + "/*.prompt.md in a file .answer.md beside it";
  }

  bool waits() const override {
    return asksMeanwhile && !awaited.empty() && !isLate();
  }
  bool isAsked(const Prompt &prompt) override {
    return asksMeanwhile && sys::fs::exists(baseOf(prompt) + ".prompt.md");
  }
  bool takeNews() override;

  Error ask(ArrayRef<Prompt> prompts, const RequestContext &context,
            OnReply onReply) override;

private:
  Error askOne(const Prompt &prompt, size_t index,
               const RequestContext &context, OnReply onReply,
               bool &isAnswered);
  /// Its files, but for what they end in.
  std::string baseOf(const Prompt &prompt) const;
  bool isLate() const { return Clock::now() - lastReply > wait; }

  std::string directory, shownName;
  /// Zero: a run does not wait.
  std::chrono::duration<double> wait;
  bool asksMeanwhile;
  /// The files of replies that are asked for and of which nobody knows.
  std::vector<std::string> awaited;
  /// When the last one came, or one was asked for first.
  Clock::time_point lastReply = Clock::now(), lastLook;
};
} // namespace

/// Names come from display names of workloads, too.
static std::string fileName(const Prompt &prompt) {
  std::string name;
  for (char c : StringRef(prompt.name).take_front(80))
    name += isAlnum(c) || c == '-' || c == '_' ? c : '-';
  return name + "-" + digestOf(prompt).substr(0, 12);
}

std::string Mailbox::baseOf(const Prompt &prompt) const {
  return directory + "/" + fileName(prompt);
}

Error Mailbox::askOne(const Prompt &prompt, size_t index,
                      const RequestContext &context, OnReply onReply,
                      bool &isAnswered) {
  std::string base = baseOf(prompt);
  std::string question = base + ".prompt.md", answer = base + ".answer.md";
  if (!sys::fs::exists(question)) {
    // Who ends takes what is there, and asks for nothing more.
    if (asksMeanwhile && context.isStopRequested())
      return Error::success();
    if (Error error = writeFileAtomically(question, wholeText(prompt)))
      return error;
  }
  if (!sys::fs::exists(answer)) {
    if (is_contained(awaited, answer))
      return Error::success();
    // Whoever answers has as much time for each.
    lastReply = Clock::now();
    awaited.push_back(answer);
    return Error::success();
  }
  erase(awaited, answer);
  lastReply = Clock::now();
  isAnswered = true;
  Expected<std::string> text =
      readRegularFile(AT_FDCWD, answer, answer, kAnswerLimit);
  if (!text)
    return text.takeError();
  Reply reply;
  reply.model = shownName;
  reply.text = std::move(*text);
  // Nobody counts tokens here.
  constexpr int64_t kCharactersPerToken = 4;
  reply.usage.isEstimated = true;
  reply.usage.inputTokens =
      static_cast<int64_t>(wholeText(prompt).size()) / kCharactersPerToken;
  reply.usage.outputTokens =
      static_cast<int64_t>(reply.text.size()) / kCharactersPerToken;
  return onReply(index, std::move(reply));
}

Error Mailbox::ask(ArrayRef<Prompt> prompts, const RequestContext &context,
                   OnReply onReply) {
  bool isWaiting = wait.count() > 0 && !asksMeanwhile;
  std::vector<bool> isAnswered(prompts.size());
  for (;;) {
    for (auto [index, prompt] : enumerate(prompts)) {
      bool isNow = isAnswered[index];
      if (!isNow)
        if (Error error = askOne(prompt, index, context, onReply, isNow))
          return error;
      isAnswered[index] = isNow;
    }
    if (!isWaiting || !is_contained(isAnswered, false) || isLate() ||
        context.isStopRequested())
      return Error::success();
    context.tick();
    std::this_thread::sleep_for(kLook);
  }
}

bool Mailbox::takeNews() {
  Clock::time_point now = Clock::now();
  if (!asksMeanwhile || now - lastLook < kLook)
    return false;
  lastLook = now;
  // Each is told of once: whoever asked for it asks again.
  size_t before = awaited.size();
  erase_if(awaited,
           [](const std::string &answer) { return sys::fs::exists(answer); });
  if (awaited.size() == before)
    return false;
  lastReply = now;
  return true;
}

Expected<std::unique_ptr<LanguageModel>>
fastk::createMailbox(StringRef directory, double waitSeconds,
                     bool asksMeanwhile) {
  if (Error error = createDirectories(directory))
    return std::move(error);
  return std::make_unique<Mailbox>(directory, waitSeconds, asksMeanwhile);
}
