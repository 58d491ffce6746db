//===- Merge.cpp - The winners of several banks in one --------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Devices.h"
#include "Outcomes.h"
#include "Tool.h"
#include "fastk/Search/Remeasure.h"
#include "fastk/Support/DurableFile.h"
#include "fastk/Support/PlainText.h"
#include "llvm/Support/FormatVariadic.h"
#include <fcntl.h>

using namespace mlir;
using namespace fastk;
using namespace fastk::bank;

std::string fastk::bank::readTrajectory(StringRef folder) {
  constexpr size_t kLimit = 64 << 20;
  std::string path = (folder + "/trajectory.json").str();
  llvm::Expected<std::string> text =
      readRegularFile(AT_FDCWD, path, path, kLimit);
  if (text)
    return std::move(*text);
  // How it was found says nothing about what it is.
  llvm::consumeError(text.takeError());
  return "{}\n";
}

/// Whether nobody knows who made its record.
static bool isOfStranger(const Row &row) {
  return isRemoteBank(row.bank) && !isTrustedBank(row.bank);
}

namespace {

/// What became of one winner.
struct Fate {
  SyncOutcome::Kind kind;
  std::string why;
};

class Merger {
public:
  Merger(Bank &into, const MergeOptions &options, MLIRContext &context)
      : into(into), options(options), context(context), devices(options) {}

  /// An error ends the merge: the bank cannot be written, or no evaluation can
  /// be made. Of a stranger's winner the record says nothing.
  llvm::Expected<Fate> merge(Winner &winner, bool isOfStranger) {
    if (options.byRecord && options.requireDeterministic &&
        winner.getRecord().bitwiseDeterministic != true)
      return Fate{SyncOutcome::LeftOut,
                  "its record does not say that it is deterministic; merge "
                  "without --by-record to find out"};
    if (options.byRecord)
      return write(*winner.module, winner.folder, WriteRule::KeepFaster);
    LoweringOp lowering = winner.getLowering();
    Device &device = devices.of(lowering.getTarget());
    if (!device.problem.empty())
      return Fate{SyncOutcome::LeftOut,
                  "cannot be measured here: " + device.problem +
                      "; merge with --by-record to go by what was recorded"};
    WinnerFilter filter{lowering.getTarget().str(), lowering.getPrecision(),
                        device.machine, /*anyMachine=*/false,
                        options.requireDeterministic};
    std::unique_ptr<Winner> rival =
        into.lookup(lowering.getKey(), filter, &context).winner;
    if (rival && rival->getLowering().getSeal() == lowering.getSeal())
      return Fate{SyncOutcome::Kept, "the same program is in " + rival->folder};
    llvm::Expected<Remeasurement> measured =
        remeasure(winner, rival.get(), device.description, *device.evaluator,
                  isOfStranger);
    if (!measured)
      return measured.takeError();
    if (!measured->problem.empty())
      return Fate{SyncOutcome::LeftOut,
                  measured->problem +
                      (measured->isNoise
                           ? "; repeat it when the machine is quiet, or merge "
                             "with --by-record to go by what was recorded"
                           : "")};
    std::string times =
        formatTime(measured->verdict.timing.candidate->medianNs) + ", " +
        formatRatio(measured->verdict.timing.speedupOverBaseline->median) +
        " of the default lowering's speed";
    // Neither is believed more than what was recorded in quieter times.
    if (!measured->contradiction.empty()) {
      std::string why = measured->contradiction + "; records stay: ";
      if (rival)
        return Fate{SyncOutcome::Kept, why + rival->folder};
      llvm::Expected<Fate> fate =
          write(*winner.module, winner.folder, WriteRule::KeepFaster);
      if (fate)
        fate->why = why + fate->why;
      return fate;
    }
    if (!rival) {
      llvm::Expected<Fate> fate =
          write(*measured->winner, winner.folder, WriteRule::KeepFaster);
      if (fate)
        fate->why = times + "; " + fate->why;
      return fate;
    }
    const auto &ratio = measured->verdict.timing.speedupOverIncumbent;
    std::string against = formatRatio(ratio ? ratio->median : 0) +
                          " of the speed of " + rival->folder;
    if (!measured->beatsRival)
      return Fate{SyncOutcome::Kept, against};
    llvm::Expected<Fate> fate =
        write(*measured->winner, winner.folder, WriteRule::Replace);
    if (fate)
      fate->why = times + ", " + against;
    return fate;
  }

private:
  llvm::Expected<Fate> write(ModuleOp module, StringRef folder,
                             WriteRule rule) {
    llvm::Expected<WriteResult> result =
        into.write(module, readTrajectory(folder), rule);
    if (!result)
      return result.takeError();
    switch (result->outcome) {
    case WriteOutcome::Stored:
      return Fate{SyncOutcome::Stored, "in " + result->folder};
    case WriteOutcome::Replaced:
      return Fate{SyncOutcome::Replaced, result->folder};
    case WriteOutcome::KeptExisting:
      return Fate{SyncOutcome::Kept, "no slower: " + result->folder};
    }
    llvm_unreachable("all outcomes are named above");
  }

  Bank &into;
  const MergeOptions &options;
  MLIRContext &context;
  Devices devices;
};

} // namespace

int fastk::bank::merge(StringRef into, std::vector<Row> &rows,
                       const MergeOptions &options, MLIRContext &context) {
  llvm::Expected<Bank> bank = Bank::open(into);
  if (!bank)
    return reportError(llvm::toString(bank.takeError()));
  Merger merger(*bank, options, context);
  Outcomes outcomes = Outcomes::ofWinners();
  for (Row &row : rows) {
    Fate fate{SyncOutcome::LeftOut, "stale: " + row.entry.problem};
    if (row.winner) {
      llvm::Expected<Fate> merged =
          merger.merge(*row.winner, isOfStranger(row));
      if (!merged)
        return reportError(llvm::toString(merged.takeError()) +
                           "\nwhat was merged until now stays; the same "
                           "command goes on");
      fate = std::move(*merged);
    }
    outcomes.tell({row.entry.folder, fate.kind, fate.why});
  }
  return outcomes.finish();
}

int fastk::bank::verifyByMeasuring(std::vector<Row> &rows,
                                   const MergeOptions &options, bool asJson,
                                   OnJudged onJudged) {
  Devices devices(options);
  size_t holds = 0, failed = 0, unmeasured = 0, stale = 0;
  llvm::json::Array list;
  for (Row &row : rows) {
    if (!row.winner) {
      ++stale;
      list.push_back(llvm::json::Object{{"folder", row.entry.folder},
                                        {"result", "stale"},
                                        {"reason", row.entry.problem}});
      if (onJudged)
        onJudged(row, "stale", Machine(), row.entry.problem);
      if (!asJson)
        llvm::outs() << "stale: " << row.entry.folder << ": "
                     << row.entry.problem << "\n";
      continue;
    }
    std::string word = "not measured", text;
    llvm::json::Object object{{"folder", row.entry.folder}};
    Device &device = devices.of(row.winner->getLowering().getTarget());
    if (!device.problem.empty()) {
      text = device.problem;
      ++unmeasured;
    } else {
      llvm::Expected<Remeasurement> measured =
          remeasure(*row.winner, /*rival=*/nullptr, device.description,
                    *device.evaluator, isOfStranger(row));
      if (!measured)
        return reportError(row.entry.folder + ": " +
                           llvm::toString(measured.takeError()));
      const worker::TimingReport &timing = measured->verdict.timing;
      if (timing.candidate)
        object["median_ns"] = timing.candidate->medianNs;
      if (timing.speedupOverBaseline)
        object["speedup"] = timing.speedupOverBaseline->median;
      WinnerRecord record = row.winner->getRecord();
      // Whoever asks for winners that give the same bits goes by the record.
      if (measured->problem.empty() && record.bitwiseDeterministic == true &&
          measured->verdict.audit.bitwiseDeterministic != true)
        measured->problem = "its record says that it gives the same bits each "
                            "time, and here nothing shows that";
      if (measured->problem.empty()) {
        word = "holds";
        text = formatTime(timing.candidate->medianNs) + ", " +
               formatRatio(timing.speedupOverBaseline->median) +
               " of the default lowering's speed; recorded " +
               formatTime(record.medianNs) + ", " +
               formatRatio(record.speedup) + " on " +
               plainText(record.getMachine().str());
        ++holds;
      } else {
        text = measured->problem;
        word = measured->isNoise ? "not measured" : "fails";
        ++(measured->isNoise ? unmeasured : failed);
      }
    }
    if (onJudged)
      onJudged(row, word, device.machine, text);
    object["result"] = word;
    object[word == "holds" ? "text" : "reason"] = text;
    list.push_back(std::move(object));
    if (!asJson) {
      llvm::outs() << word << ": " << row.entry.folder << ": " << text << "\n";
      llvm::outs().flush();
    }
  }
  if (asJson)
    llvm::outs() << llvm::formatv(
        "{0:2}\n", llvm::json::Value(llvm::json::Object{
                       {"format", 1}, {"winners", std::move(list)}}));
  else
    llvm::outs() << holds << " of " << rows.size()
                 << " winners hold on this machine, " << failed << " fail, "
                 << unmeasured << " not measured, " << stale << " stale\n";
  return failed + stale > 0 ? kExitRefused : kExitDone;
}
