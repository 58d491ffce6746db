//===- Bank.cpp - Looking up winners --------------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Bank/Bank.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace fastk;

std::string WinnerFilter::refuseMachine(const WinnerHeader &header) const {
  if (anyMachine || machine.isComparable(header.getMachine()))
    return "";
  return "measured on " + header.getMachine().str() +
         (header.target == "host" ? "; this is " : "; this is compiled for ") +
         machine.str();
}

std::string WinnerFilter::refuseBits(const WinnerHeader &header) const {
  if (!requireDeterministic || header.bitwiseDeterministic == true)
    return "";
  return header.bitwiseDeterministic
             ? "not deterministic: runs on the same operands gave other bits"
             : "not known to be deterministic: its record does not say so";
}

/// Best first. Nanoseconds of different machines do not compare: those of this
/// one go first, by time, then the others by what they gained where they were
/// measured; of equals the most exact, then by name. The same bank always gives
/// the same winner.
static void sortWinners(std::vector<BankEntry> &winners,
                        const Machine &machine) {
  auto rank = [&](const BankEntry &entry) {
    const WinnerHeader &head = *entry.header;
    bool here = machine.isComparable(head.getMachine());
    return std::make_tuple(!here, here ? head.medianNs : -head.speedup,
                           head.precision, StringRef(entry.folder));
  };
  llvm::sort(winners, [&](const BankEntry &a, const BankEntry &b) {
    return rank(a) < rank(b);
  });
}

BankLookup Bank::lookup(StringRef key, const WinnerFilter &filter,
                        MLIRContext *context) const {
  BankLookup result;
  std::vector<BankEntry> usable;
  std::string otherTargets, looserClasses, otherMachine, otherBits;
  RemoteBank::Found found;
  if (remote)
    found = remote->find(key, filter);
  else
    found.entries = entriesOf(key);
  result.isExpected = found.isExpected;
  for (BankEntry &entry : found.entries) {
    if (!entry.header) {
      result.stale.push_back({entry.folder, entry.problem});
      continue;
    }
    if (entry.header->key != key) {
      // Another key that shares eight digits, or a key that was edited. Only
      // the whole file tells which.
      auto loaded = load(entry.folder, context);
      if (!loaded)
        result.stale.push_back(
            {entry.folder, llvm::toString(loaded.takeError())});
      continue;
    }
    if (entry.header->target != filter.target) {
      otherTargets += " " + entry.header->target;
      continue;
    }
    if (entry.header->precision > filter.loosest) {
      looserClasses += " " + stringifyPrecision(entry.header->precision).str();
      continue;
    }
    if (std::string why = filter.refuseMachine(*entry.header); !why.empty()) {
      if (otherMachine.empty())
        otherMachine = std::move(why);
      continue;
    }
    if (std::string why = filter.refuseBits(*entry.header); !why.empty()) {
      if (otherBits.empty())
        otherBits = std::move(why);
      continue;
    }
    usable.push_back(std::move(entry));
  }
  sortWinners(usable, filter.machine);
  for (const BankEntry &entry : usable) {
    llvm::Expected<std::unique_ptr<Winner>> loaded =
        load(entry.folder, context);
    if (!loaded && llvm::sys::fs::get_file_type(entry.folder, false) ==
                       llvm::sys::fs::file_type::file_not_found) {
      // Another process has moved or removed it since its head was read.
      llvm::consumeError(loaded.takeError());
      llvm::Expected<Bank> now = open(directory);
      if (now)
        return now->lookup(key, filter, context);
      llvm::consumeError(now.takeError());
      continue;
    }
    if (!loaded) {
      result.stale.push_back(
          {entry.folder, llvm::toString(loaded.takeError())});
      continue;
    }
    // The head was read before the file: another process may have replaced it.
    LoweringOp lowering = (*loaded)->getLowering();
    if (lowering.getKey() != key || lowering.getTarget() != filter.target ||
        lowering.getPrecision() > filter.loosest) {
      result.stale.push_back({entry.folder, "changed while it was read"});
      continue;
    }
    result.winner = std::move(*loaded);
    result.isOfStranger = remote && !remote->isTrusted();
    return result;
  }
  if (!result.stale.empty()) {
    result.reason = "stale: " + result.stale.front().folder + ": " +
                    result.stale.front().reason;
  } else if (!found.missing.empty()) {
    result.reason = std::move(found.missing);
    result.isUnjudged = found.isUnjudged;
  } else if (!otherBits.empty()) {
    result.reason = otherBits + ", and --require-deterministic asks for it";
    result.otherBits = true;
  } else if (!otherMachine.empty()) {
    result.reason =
        otherMachine + " (--winners-from=any takes it all the same)";
    result.otherMachine = true;
  } else if (!looserClasses.empty()) {
    result.reason = "only winners of a looser precision:" + looserClasses;
  } else if (!otherTargets.empty()) {
    result.reason = "only winners for other targets:" + otherTargets;
  } else {
    result.reason = "no winner for this key";
  }
  return result;
}

//===----------------------------------------------------------------------===//
// BankStack
//===----------------------------------------------------------------------===//

llvm::Expected<BankStack> BankStack::open(ArrayRef<std::string> directories) {
  BankStack stack;
  for (const std::string &directory : directories) {
    llvm::Expected<Bank> bank = Bank::open(directory);
    if (!bank)
      return bank.takeError();
    stack.banks.push_back(std::move(*bank));
  }
  return stack;
}

BankLookup BankStack::lookup(StringRef key, const WinnerFilter &filter,
                             MLIRContext *context) const {
  if (filter.anyMachine) {
    // A winner of this machine in the last bank is known to be a gain here;
    // one from elsewhere in the first is not.
    WinnerFilter here = filter;
    here.anyMachine = false;
    BankLookup found = lookup(key, here, context);
    if (found.winner || found.isExpected)
      return found;
  }
  BankLookup result;
  if (banks.empty())
    result.reason = "no bank";
  for (const Bank &bank : banks) {
    BankLookup found = bank.lookup(key, filter, context);
    llvm::append_range(result.stale, found.stale);
    result.isExpected |= found.isExpected;
    if (found.winner) {
      result.winner = std::move(found.winner);
      result.isOfStranger = found.isOfStranger;
      result.reason.clear();
      return result;
    }
    // "no winner for this key" says least; keep what says more.
    bool saysMore = found.reason != "no winner for this key";
    if (result.reason.empty() ||
        (saysMore && result.reason == "no winner for this key")) {
      result.reason = found.reason;
      result.otherMachine = found.otherMachine;
      result.otherBits = found.otherBits;
      result.isUnjudged = found.isUnjudged;
    }
  }
  return result;
}

static llvm::Error noBank() {
  return llvm::createStringError(
      std::make_error_code(std::errc::invalid_argument),
      "no bank to store the winner in: name a folder with --bank=DIR");
}

llvm::Expected<WriteResult> BankStack::write(ModuleOp winner,
                                             StringRef trajectory) {
  for (Bank &bank : banks)
    if (&bank == getWritable())
      return bank.write(winner, trajectory);
  return noBank();
}

const Bank *BankStack::getWritable() const {
  for (const Bank &bank : banks)
    if (!bank.getRemote())
      return &bank;
  return nullptr;
}

bool BankStack::hasRemote() const {
  return llvm::any_of(banks, [](const Bank &bank) { return bank.getRemote(); });
}

void BankStack::lookAhead(bool start) const {
  for (const Bank &bank : banks)
    if (RemoteBank *remote = bank.getRemote())
      remote->lookAhead(start);
}

std::vector<std::string> BankStack::fetchNoted() const {
  std::vector<std::string> keys;
  for (const Bank &bank : banks)
    if (RemoteBank *remote = bank.getRemote())
      llvm::append_range(keys, remote->fetchNoted());
  return keys;
}

std::vector<std::string> BankStack::takeWarnings() const {
  std::vector<std::string> warnings;
  for (const Bank &bank : banks)
    if (RemoteBank *remote = bank.getRemote())
      llvm::append_range(warnings, remote->takeWarnings());
  return warnings;
}

llvm::Error BankStack::reopen() {
  for (Bank &bank : banks)
    // What a server has stays as it was when it was asked.
    if (!bank.getRemote())
      if (llvm::Error error = Bank::open(bank.getDirectory()).moveInto(bank))
        return error;
  return llvm::Error::success();
}

llvm::Error BankStack::checkWrites() const {
  const Bank *bank = getWritable();
  return bank ? bank->checkWrites() : noBank();
}

std::optional<unsigned> BankStack::mostReductions(StringRef target) const {
  // No value is less than any.
  std::optional<unsigned> most;
  for (const Bank &bank : banks)
    most = std::max(most, bank.mostReductions(target));
  return most;
}

std::string BankStack::explainMiss(StringRef key, const WinnerFilter &filter,
                                   StringRef name, StringRef shapes,
                                   MLIRContext *context) const {
  std::string text;
  for (const Bank &bank : banks)
    text += bank.explainMiss(key, filter, name, shapes, context);
  return text;
}
