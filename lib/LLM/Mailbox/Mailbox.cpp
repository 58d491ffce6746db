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
#include <fcntl.h>

using namespace llvm;
using namespace fastk;

/// Far above what any model says; a bound for a stray file.
static constexpr size_t kAnswerLimit = size_t(4) << 20;

namespace {
class Mailbox : public LanguageModel {
public:
  explicit Mailbox(StringRef directory)
      : directory(directory.str()), shownName(("mailbox:" + directory).str()) {}

  StringRef name() const override { return shownName; }

  std::string pendingHint() const override {
    return "each " + directory + "/*.prompt.md in a file .answer.md beside it";
  }

  Error ask(ArrayRef<Prompt> prompts, const RequestContext &,
            OnReply onReply) override {
    for (size_t i = 0; i < prompts.size(); ++i)
      if (Error error = askOne(prompts[i], i, onReply))
        return error;
    return Error::success();
  }

private:
  Error askOne(const Prompt &prompt, size_t index, OnReply onReply);

  std::string directory, shownName;
};
} // namespace

/// Names come from display names of workloads, too.
static std::string fileName(const Prompt &prompt) {
  std::string name;
  for (char c : StringRef(prompt.name).take_front(80))
    name += isAlnum(c) || c == '-' || c == '_' ? c : '-';
  return name + "-" + digestOf(prompt).substr(0, 12);
}

Error Mailbox::askOne(const Prompt &prompt, size_t index, OnReply onReply) {
  std::string base = directory + "/" + fileName(prompt);
  std::string question = base + ".prompt.md", answer = base + ".answer.md";
  if (!sys::fs::exists(question))
    if (Error error = writeFileAtomically(question, wholeText(prompt)))
      return error;
  if (!sys::fs::exists(answer))
    return Error::success();
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

Expected<std::unique_ptr<LanguageModel>>
fastk::createMailbox(StringRef directory) {
  if (directory.empty())
    return createStringError(inconvertibleErrorCode(),
                             "mailbox: names no folder: write mailbox:DIR");
  if (Error error = createDirectories(directory))
    return std::move(error);
  return std::make_unique<Mailbox>(directory);
}
