//===- Remote.cpp - Winners behind HTTP -----------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommandLine.h"
#include "Outcomes.h"
#include "Tool.h"
#include "fastk/Bank/PushWinners.h"
#include "fastk/Bank/RemoteBank.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::bank;

bool fastk::bank::isAskedFor(const WinnerHeader &header,
                             const Options &options) {
  return StringRef(header.key).starts_with(options.keyPrefix) &&
         (options.onlyTarget.empty() || header.target == options.onlyTarget);
}

/// Prints what is to be said of the bank beside its winners.
static void printWarnings(RemoteBank &bank) {
  for (const std::string &warning : bank.takeWarnings())
    llvm::errs() << "fastk-bank: warning: " << warning << "\n";
}

llvm::Expected<std::vector<Row>>
fastk::bank::collectRemoteRows(RemoteBank &bank, const Options &options,
                               bool fetches) {
  llvm::Expected<std::vector<RemoteWinner>> listed =
      bank.list(options.onlyTarget);
  if (!listed)
    return listed.takeError();
  llvm::erase_if(*listed, [&](const RemoteWinner &winner) {
    return !isAskedFor(winner.header, options);
  });
  std::vector<Row> rows;
  if (!fetches) {
    for (RemoteWinner &winner : *listed)
      rows.push_back({{bank.shown() + "/cas/" + winner.digest,
                       std::move(winner.header), ""},
                      bank.shown(),
                      nullptr,
                      winner.digest});
    return rows;
  }
  std::vector<BankEntry> entries = bank.fetch(*listed);
  printWarnings(bank);
  for (auto [winner, entry] : llvm::zip_equal(*listed, entries))
    rows.push_back({std::move(entry), bank.shown(), nullptr, winner.digest});
  return rows;
}

/// The options of a merge or a judgement.
static MergeOptions measureWith(const Options &options,
                                const std::string &executable) {
  MergeOptions merging;
  merging.byRecord = options.byRecord;
  merging.requireDeterministic = options.requireDeterministic;
  merging.threads = options.numThreads;
  merging.executable = executable;
  return merging;
}

/// Judges the winners of one bank.
static int judgeBank(RemoteBank &bank, const Options &options,
                     const std::string &executable, MLIRContext &context) {
  llvm::Expected<std::vector<RemoteWinner>> listed =
      bank.list(options.onlyTarget);
  if (!listed)
    return reportError(llvm::toString(listed.takeError()));
  llvm::erase_if(*listed, [&](const RemoteWinner &winner) {
    bool isWanted = options.judgesAll || !options.keyPrefix.empty() ||
                    bank.isWanted(winner);
    return !isWanted || !isAskedFor(winner.header, options);
  });
  if (listed->empty()) {
    llvm::errs() << "no winner of " << bank.shown()
                 << " was wanted here; compile a model with --bank="
                 << bank.shown() << " first, or judge --key=HEX or --all\n";
    return kExitDone;
  }
  std::vector<Row> rows;
  std::vector<BankEntry> entries = bank.fetch(*listed);
  printWarnings(bank);
  for (auto [winner, entry] : llvm::zip_equal(*listed, entries))
    rows.push_back({std::move(entry), bank.shown(), nullptr, winner.digest});
  loadAll(rows, context);
  std::string unwritten;
  auto keep = [&](const Row &row, StringRef word, const Machine &machine,
                  StringRef why) {
    // What is stale is found to be so wherever it is read.
    if (word != "holds" && word != "fails")
      return;
    if (llvm::Error error = bank.writeJudgement(
            row.digest, machine.str(), word == "holds" ? StringRef() : why))
      unwritten = llvm::toString(std::move(error));
  };
  int status = verifyByMeasuring(rows, measureWith(options, executable),
                                 options.asJson, keep);
  return unwritten.empty() ? status : reportError(unwritten);
}

int fastk::bank::judge(const Options &options, const std::string &executable,
                       MLIRContext &context) {
  int worst = kExitDone;
  for (const std::string &text : options.directories) {
    if (!isRemoteBank(text))
      return reportError(text + ": is no URL; a folder's winners are judged by "
                                "fastk-bank verify --remeasure");
    auto bank = RemoteBank::open(text, Patience::Transfer);
    if (!bank)
      return reportError(llvm::toString(bank.takeError()));
    int status = judgeBank(**bank, options, executable, context);
    if (status == kExitWrong)
      return status;
    worst = std::max(worst, status);
  }
  return worst;
}

/// Sends the winners of `rows` that hold.
static int push(const std::string &to, const std::vector<Row> &rows) {
  Outcomes outcomes = Outcomes::ofWinners();
  std::vector<std::string> folders;
  for (const Row &row : rows)
    if (row.winner)
      folders.push_back(row.winner->folder);
    else
      outcomes.tell({row.entry.folder, SyncOutcome::LeftOut,
                     "stale: " + row.entry.problem});
  llvm::Expected<std::vector<SyncOutcome>> sent = pushWinners(to, folders);
  if (!sent)
    return reportError(llvm::toString(sent.takeError()) +
                       "\nwhat was sent until now stays; the same command goes "
                       "on");
  for (const SyncOutcome &outcome : *sent)
    outcomes.tell(outcome);
  return outcomes.finish();
}

int fastk::bank::sync(const Options &options, const std::string &executable,
                      MLIRContext &context) {
  const std::string &from = options.directories[0],
                    &to = options.directories[1];
  bool isToRemote = isRemoteBank(to);
  if (!isRemoteBank(from) && !isToRemote)
    return reportError("sync is between a folder and a URL, or between URLs; "
                       "between folders: fastk-bank merge " +
                       to + " " + from);
  std::vector<Row> rows;
  MergeOptions merging = measureWith(options, executable);
  llvm::Expected<Bank> bank = Bank::open(from, Patience::Transfer);
  if (!bank)
    return reportError(llvm::toString(bank.takeError()));
  if (RemoteBank *remote = bank->getRemote()) {
    llvm::Expected<std::vector<Row>> collected =
        collectRemoteRows(*remote, options, /*fetches=*/true);
    if (!collected)
      return reportError(llvm::toString(collected.takeError()));
    rows = std::move(*collected);
    merging.byRecord = remote->isTrusted();
  } else {
    for (BankEntry &entry : bank->list())
      if (!entry.header || isAskedFor(*entry.header, options))
        rows.push_back({std::move(entry), from, nullptr, ""});
  }
  loadAll(rows, context);
  return isToRemote ? push(to, rows) : merge(to, rows, merging, context);
}
