//===- Push.cpp - Found winners to remote banks ---------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Push.h"
#include "fastk/Bank/PushWinners.h"
#include <set>

using namespace mlir;
using namespace fastk;

/// The folders of the winners that are in the first bank that is one.
static std::vector<std::string> foundFolders(const ApplySummary &summary,
                                             Session &session) {
  const Bank *own = session.getBanks().getWritable();
  std::set<std::string> folders;
  for (const WorkloadOutcome &outcome : summary.workloads) {
    if (outcome.kind != WorkloadOutcome::Hit || !own)
      continue;
    const BankLookup &found =
        session.getMatcher().lookup(outcome.key, &session.getContext());
    if (found.winner && StringRef(found.winner->folder)
                            .starts_with((own->getDirectory() + "/").str()))
      folders.insert(found.winner->folder);
  }
  return {folders.begin(), folders.end()};
}

void fastk::pushFound(const ApplySummary &summary, Session &session,
                      std::vector<std::string> &said,
                      std::vector<std::string> &warnings) {
  std::vector<std::string> folders = foundFolders(summary, session);
  for (const Bank &bank : session.getBanks().getBanks()) {
    if (!bank.getRemote() || folders.empty())
      continue;
    std::string place = bank.getRemote()->shown();
    llvm::Expected<std::vector<SyncOutcome>> outcomes =
        pushWinners(bank.getDirectory(), folders);
    if (!outcomes) {
      warnings.push_back(
          "--bank-push: " + llvm::toString(outcomes.takeError()) +
          "; the winners are safe in " +
          session.getBanks().getWritable()->getDirectory().str() +
          ": send them with fastk-bank sync");
      continue;
    }
    size_t sent = 0;
    for (const SyncOutcome &outcome : *outcomes) {
      sent += outcome.kind == SyncOutcome::Stored ||
              outcome.kind == SyncOutcome::Replaced;
      if (outcome.kind == SyncOutcome::LeftOut)
        warnings.push_back("--bank-push: " + outcome.why);
    }
    said.push_back("sent " + std::to_string(sent) + " of " +
                   std::to_string(folders.size()) +
                   (folders.size() == 1 ? " winner" : " winners") + " to " +
                   place);
  }
}
