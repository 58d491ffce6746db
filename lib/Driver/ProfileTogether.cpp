//===- ProfileTogether.cpp - Many default lowerings at once ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProfileTogether.h"
#include "PreparedSearch.h"
#include "ProfilingEvaluator.h"
#include "SearchLog.h"
#include "llvm/Support/FormatVariadic.h"
#include <chrono>

using namespace mlir;
using namespace fastk;

/// The kernels of so many workloads after the one that is asked for are
/// compiled meanwhile.
static constexpr size_t kLooksAhead = 4;

namespace {
class ParallelProfile {
public:
  ParallelProfile(const SearchRun &run, MutableArrayRef<SearchTarget> targets,
                  const std::function<bool()> &isLate)
      : run(run), isLate(isLate) {
    for (SearchTarget &target : targets)
      if (target.isWanted && !isProfiled(target, readProfile(target)))
        all.push_back({&target, nullptr});
  }

  llvm::Error measure();

private:
  struct Entry {
    SearchTarget *target;
    std::unique_ptr<PreparedSearch> prepared;
    bool isPending = false;
  };

  bool isOver() const { return isLate() || run.isStopRequested(); }
  void lookAhead(size_t first);
  /// Asks for an evaluation, or takes in its answer.
  llvm::Error ask(Entry &entry);
  /// Until nothing is pending, or no time is left.
  llvm::Error takeAnswers();
  size_t countPending() const {
    return llvm::count_if(all,
                          [](const Entry &each) { return each.isPending; });
  }

  const SearchRun &run;
  const std::function<bool()> &isLate;
  std::vector<Entry> all;
};
} // namespace

void ParallelProfile::lookAhead(size_t first) {
  for (Entry &entry :
       MutableArrayRef(all).slice(first).take_front(kLooksAhead)) {
    if (entry.prepared)
      continue;
    entry.prepared = std::make_unique<PreparedSearch>(run, *entry.target);
    if (entry.prepared->workload)
      run.evaluator.expect(entry.prepared->workload);
  }
}

llvm::Error ParallelProfile::ask(Entry &entry) {
  PreparedSearch &prepared = *entry.prepared;
  SearchTarget &target = *entry.target;
  entry.isPending = false;
  if (!prepared.workload)
    return llvm::Error::success();
  ProfilingEvaluator evaluator(run.evaluator);
  if (llvm::Error error = prepared.makeInput(evaluator))
    return error;
  if (llvm::Expected<double> seconds =
          searchUntilProfiled(target, prepared, evaluator);
      !seconds)
    return seconds.takeError();
  entry.isPending =
      evaluator.isPending() && !isProfiled(target, readProfile(target));
  return llvm::Error::success();
}

llvm::Error ParallelProfile::takeAnswers() {
  std::unique_ptr<SearchProgress> progress = showProgress(run, "measuring");
  WaitLog waits(run);
  auto tellWaiting = [&] {
    if (waits.isDue())
      waits.say(countPending(), countPending(), /*prompts=*/0);
  };
  RequestContext context;
  context.stopRequested = [&] { return isOver(); };
  context.whileWaiting = [&] {
    progress->tick();
    tellWaiting();
  };
  context.note = [&](const std::string &text) { progress->note(text); };
  while (size_t pending = countPending()) {
    progress->preparing(
        llvm::formatv("waiting for {0} of {1} default lowerings", pending,
                      all.size())
            .str());
    tellWaiting();
    llvm::Expected<std::vector<std::string>> answered =
        run.evaluator.waitForAnswers(context);
    progress->ended();
    if (!answered || answered->empty())
      return answered.takeError();
    for (Entry &entry : all)
      if (entry.isPending &&
          llvm::is_contained(*answered, entry.target->form->key))
        if (llvm::Error error = ask(entry))
          return error;
  }
  return llvm::Error::success();
}

llvm::Error ParallelProfile::measure() {
  if (all.empty())
    return llvm::Error::success();
  auto start = std::chrono::steady_clock::now();
  run.said() << llvm::formatv("measuring {0} default lowerings\n", all.size());
  for (size_t index = 0; index < all.size() && !isOver(); ++index) {
    lookAhead(index);
    if (llvm::Error error = ask(all[index]))
      return error;
  }
  if (llvm::Error error = takeAnswers())
    return error;
  std::chrono::duration<double> passed =
      std::chrono::steady_clock::now() - start;
  for (const Entry &entry : all)
    entry.target->profile.seconds = passed.count() / all.size();
  return llvm::Error::success();
}

llvm::Error fastk::profileTogether(const SearchRun &run,
                                   MutableArrayRef<SearchTarget> targets,
                                   const std::function<bool()> &isLate) {
  return ParallelProfile(run, targets, isLate).measure();
}
