//===- BackgroundModel.cpp - A model that is asked meanwhile --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/LLM/BackgroundModel.h"
#include "fastk/System/BlockedSignals.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

using namespace llvm;
using namespace fastk;

namespace {
class BackgroundModel : public LanguageModel {
public:
  BackgroundModel(std::vector<std::unique_ptr<LanguageModel>> given)
      : models(std::move(given)), shownName(models.front()->name().str()) {
    for (std::unique_ptr<LanguageModel> &model : models)
      threads.emplace_back([this, &model] { run(*model); });
  }
  ~BackgroundModel() override {
    {
      std::lock_guard<std::mutex> guard(lock);
      hasEnded = true;
    }
    changed.notify_all();
    for (std::thread &thread : threads)
      thread.join();
  }

  StringRef name() const override { return shownName; }
  std::string pendingHint() const override {
    return "comes from " + shownName + " when it is asked again";
  }
  bool waits() const override { return true; }
  bool isAsked(const Prompt &prompt) override {
    std::string digest = digestOf(prompt);
    std::lock_guard<std::mutex> guard(lock);
    return replies.contains(digest) || inFlight.contains(digest);
  }
  bool takeNews() override {
    std::lock_guard<std::mutex> guard(lock);
    return std::exchange(isNews, false);
  }
  Error ask(ArrayRef<Prompt> prompts, const RequestContext &context,
            OnReply onReply) override;

private:
  struct Call {
    std::vector<Prompt> prompts;
    std::vector<std::string> digests;
  };
  void run(LanguageModel &model);
  bool isEnding() {
    std::lock_guard<std::mutex> guard(lock);
    return hasEnded;
  }
  /// What is ready of `digests`, taken out: all where all are, else what a
  /// search may act on by itself. Whether failures end it is known when the
  /// others have come.
  std::vector<std::pair<size_t, Reply>>
  takeReady(ArrayRef<std::string> digests);

  std::vector<std::unique_ptr<LanguageModel>> models;
  std::string shownName;
  std::vector<std::thread> threads;
  std::mutex lock;
  std::condition_variable changed;
  std::deque<Call> calls;
  StringSet<> inFlight;
  StringMap<Reply> replies;
  /// Empty: none.
  std::string problem;
  /// What models say that ends nothing, until somebody can be told.
  std::vector<std::string> notes;
  bool isNews = false, hasEnded = false;
};
} // namespace

void BackgroundModel::run(LanguageModel &model) {
  BlockedSignals always;
  std::unique_lock<std::mutex> guard(lock);
  for (;;) {
    changed.wait(guard, [this] { return hasEnded || !calls.empty(); });
    if (hasEnded)
      return;
    Call call = std::move(calls.front());
    calls.pop_front();
    guard.unlock();
    RequestContext context;
    context.stopRequested = [this] { return isEnding(); };
    context.note = [this](const std::string &text) {
      std::lock_guard<std::mutex> inner(lock);
      notes.push_back(text);
    };
    Error error = model.ask(
        call.prompts, context, [&](size_t index, Reply reply) -> Error {
          std::lock_guard<std::mutex> inner(lock);
          inFlight.erase(call.digests[index]);
          replies.insert_or_assign(call.digests[index], std::move(reply));
          isNews = true;
          return Error::success();
        });
    guard.lock();
    if (error) {
      problem = toString(std::move(error));
      isNews = true;
    }
    // What has no reply may be asked again.
    for (const std::string &digest : call.digests)
      inFlight.erase(digest);
  }
}

std::vector<std::pair<size_t, Reply>>
BackgroundModel::takeReady(ArrayRef<std::string> digests) {
  bool areAll = all_of(
      digests, [&](const std::string &each) { return replies.contains(each); });
  std::vector<std::pair<size_t, Reply>> ready;
  for (auto [index, digest] : enumerate(digests)) {
    auto found = replies.find(digest);
    if (found == replies.end() || !(areAll || isUsable(found->second.status)))
      continue;
    ready.emplace_back(index, std::move(found->second));
    replies.erase(found);
  }
  return ready;
}

Error BackgroundModel::ask(ArrayRef<Prompt> prompts,
                           const RequestContext &context, OnReply onReply) {
  std::vector<std::pair<size_t, Reply>> ready;
  std::vector<std::string> told;
  {
    std::lock_guard<std::mutex> guard(lock);
    if (!problem.empty())
      return createStringError(std::exchange(problem, {}));
    Call call;
    std::vector<std::string> digests;
    for (const Prompt &prompt : prompts) {
      digests.push_back(digestOf(prompt));
      // Who ends takes what is there, and asks for nothing more.
      if (context.isStopRequested() || replies.contains(digests.back()) ||
          !inFlight.insert(digests.back()).second)
        continue;
      call.prompts.push_back(prompt);
      call.digests.push_back(digests.back());
    }
    if (!call.prompts.empty()) {
      calls.push_back(std::move(call));
      changed.notify_one();
    }
    ready = takeReady(digests);
    told = std::exchange(notes, {});
  }
  for (const std::string &text : told)
    context.say(text);
  for (auto &[index, reply] : ready)
    if (Error error = onReply(index, std::move(reply)))
      return error;
  return Error::success();
}

Expected<std::unique_ptr<LanguageModel>>
fastk::createBackgroundModel(const ModelFactory &make, unsigned threads) {
  std::vector<std::unique_ptr<LanguageModel>> models;
  for (unsigned i = 0; i < threads; ++i)
    if (Error error = make().moveInto(models.emplace_back()))
      return std::move(error);
  return std::make_unique<BackgroundModel>(std::move(models));
}
