//===- WriteWinner.cpp - Storing one winner atomically --------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BankLock.h"
#include "BankPlaces.h"
#include "Rivals.h"
#include "fastk/Bank/Bank.h"
#include "fastk/Support/OutputPlace.h"
#include "fastk/Support/Sha256.h"
#include "fastk/Support/WholeFolder.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <cerrno>
#include <cstdio>
#include <unistd.h>

using namespace mlir;
using namespace fastk;

/// A write takes milliseconds; whoever holds the lock longer is in trouble.
static constexpr double kLockSeconds = 30;

/// A gain below this is noise (docs/formats/bank.md).
static constexpr double kSmallestGain = 1.01;

static std::string winnerName(LoweringOp lowering, const WinnerRecord &record,
                              unsigned keyDigits) {
  std::string name =
      winnerNamePrefix(record.name) +
      fileNamePart(record.shapes.empty() ? describeShapes(lowering)
                                         : record.shapes,
                   80) +
      "-" + lowering.getKey().take_front(keyDigits).str();
  if (lowering.getPrecision() != Precision::ieee)
    name += "-" + stringifyPrecision(lowering.getPrecision()).str();
  return name;
}

StoredWinner fastk::decideBetween(const Rival &stored, const Rival &fresh,
                                  bool isSameProgram, WriteRule rule) {
  if (isSameProgram) {
    // What gave other bits once is not deterministic, whatever comes later.
    bool tellsMore = fresh.bitwiseDeterministic &&
                     stored.bitwiseDeterministic != false &&
                     fresh.bitwiseDeterministic != stored.bitwiseDeterministic;
    return rule == WriteRule::Replace || tellsMore ? StoredWinner::Yields
                                                   : StoredWinner::Stays;
  }
  bool storedRepeats = stored.bitwiseDeterministic == true;
  bool freshRepeats = fresh.bitwiseDeterministic == true;
  if (rule == WriteRule::KeepFaster &&
      stored.medianNs <= fresh.medianNs * kSmallestGain)
    return freshRepeats && !storedRepeats ? StoredWinner::StandsBeside
                                          : StoredWinner::Stays;
  return storedRepeats && !freshRepeats ? StoredWinner::StandsBeside
                                        : StoredWinner::Yields;
}

static StoredWinner decide(LoweringOp storedOp, const WinnerRecord &stored,
                           LoweringOp freshOp, const WinnerRecord &fresh,
                           WriteRule rule) {
  // Key, target and precision are the same: so is the seal of the same program
  // with the same workspace and plan.
  bool isSameProgram =
      storedOp.getSeal() && storedOp.getSeal() == freshOp.getSeal();
  return decideBetween({stored.medianNs, stored.bitwiseDeterministic},
                       {fresh.medianNs, fresh.bitwiseDeterministic},
                       isSameProgram, rule);
}

/// Where the winner may go, the best place first. The plain name may be taken
/// by a key that shares eight digits, or by another machine's winner of this
/// key.
static SmallVector<std::string> namesFor(LoweringOp lowering,
                                         const WinnerRecord &record) {
  std::string machine = "-m" + sha256(record.getMachine().str()).substr(0, 8);
  SmallVector<std::string> names;
  for (unsigned digits : {8, 16, 64}) {
    names.push_back(winnerName(lowering, record, digits));
    names.push_back(names.back() + machine);
  }
  return names;
}

/// True when nothing stands at `path`, or a folder that holds no usable winner,
/// whatever is wrong with it. Links are left alone: what they name is not the
/// bank's.
static bool isFreeOrStale(StringRef path, MLIRContext *context) {
  llvm::sys::fs::file_type type =
      llvm::sys::fs::get_file_type(path, /*Follow=*/false);
  if (type == llvm::sys::fs::file_type::file_not_found ||
      type == llvm::sys::fs::file_type::status_error)
    return true; // What else is wrong with the path shows when it is written.
  if (type != llvm::sys::fs::file_type::directory_file)
    return false;
  llvm::Expected<std::unique_ptr<Winner>> present = Bank::load(path, context);
  if (present)
    return false;
  llvm::consumeError(present.takeError());
  return true;
}

/// Puts the finished folder `temporary` in the place of `final`. With an
/// existing winner the two are exchanged in one step; the old one is then under
/// `temporary`.
static llvm::Error moveIntoPlace(const std::string &temporary,
                                 const std::string &final) {
  std::error_code code = placeFolder(temporary, final);
  if (!code)
    return llvm::Error::success();
  if (!cannotExchange(code))
    return fileError(final, "store the winner", code.value());
  // The old winner is out of sight for a moment: a reader takes that for a
  // miss.
  std::string old = temporary + ".old";
  if (::rename(final.c_str(), old.c_str()) != 0 && errno != ENOENT)
    return fileError(final, "replace", errno);
  if (::rename(temporary.c_str(), final.c_str()) != 0) {
    int errnum = errno;
    (void)::rename(old.c_str(), final.c_str());
    return fileError(final, "store the winner", errnum);
  }
  return llvm::Error::success();
}

llvm::Expected<FileLock> fastk::lockBank(StringRef directory) {
  return FileLock::acquire((directory + "/.lock").str(),
                           ("the bank " + directory).str(), kLockSeconds);
}

std::vector<std::string> fastk::findDebris(StringRef directory) {
  std::vector<std::string> paths;
  std::error_code code;
  for (llvm::sys::fs::directory_iterator it(directory, code), end;
       !code && it != end; it.increment(code))
    if (llvm::sys::path::filename(it->path()).starts_with(".tmp-"))
      paths.push_back(it->path());
  return paths;
}

std::string fastk::temporaryFolder(StringRef directory) {
  return (directory + "/.tmp-" + std::to_string(::getpid())).str();
}

/// Writes the winner into `folder`. What is stored must be what can be read: it
/// is refused before anyone sees it.
static llvm::Error writeWhole(LoweringOp lowering, StringRef trajectory,
                              const std::string &folder) {
  if (llvm::Error error = createDirectories(folder))
    return error;
  if (lowering.getLanguage() != Language::generic)
    if (llvm::Error error = writeNewFile(
            folder + "/" + lowering.getFile()->str(), *lowering.getSource()))
      return error;
  if (llvm::Error error = writeNewFile(folder + "/trajectory.json", trajectory))
    return error;
  if (llvm::Error error =
          writeNewFile(folder + "/lowering.mlir", printLoweringFile(lowering)))
    return error;
  if (llvm::Error error = syncDirectory(folder))
    return error;
  return Bank::load(folder, lowering.getContext()).takeError();
}

/// Where it lies among spread ones.
static std::string placeOf(LoweringOp lowering) {
  llvm::Expected<WinnerHeader> head =
      parseWinnerHeader(printLoweringFile(lowering));
  // What was just printed is whole.
  unsigned reductions = head ? head->reductions : 0;
  llvm::consumeError(head.takeError());
  return spreadPlace(lowering.getTarget(), reductions, lowering.getKey());
}

bool Bank::isMany(StringRef target) const {
  return llvm::count_if(entries, [&](const IndexEntry &entry) {
           return llvm::sys::path::parent_path(entry.folder) == target;
         }) >= ptrdiff_t(kMostBeforeSpreading);
}

/// What a compile may not do to a remote bank.
static llvm::Error refuseRemote(const RemoteBank &bank) {
  return llvm::createStringError(
      std::make_error_code(std::errc::operation_not_permitted),
      "bank " + bank.shown() +
          ": winners are stored in folders; name one with --bank=DIR, and add "
          "--bank-push to send them on");
}

llvm::Error Bank::checkWrites() const {
  if (remote)
    return refuseRemote(*remote);
  // Of a winner: its program, its lowering and the way to it.
  constexpr uint64_t kRoom = 16 << 20;
  if (llvm::Error error = createDirectories(directory))
    return error;
  llvm::Expected<FileLock> lock = lockBank(directory);
  if (!lock)
    return lock.takeError();
  return checkFolder(directory, "write", kRoom);
}

llvm::Expected<WriteResult> Bank::write(ModuleOp module, StringRef trajectory,
                                        WriteRule rule) {
  if (remote)
    return refuseRemote(*remote);
  auto lowerings = module.getOps<LoweringOp>();
  assert(llvm::hasSingleElement(lowerings) && "made by buildWinner()");
  LoweringOp lowering = *lowerings.begin();
  assert(
      (lowering.getLanguage() == Language::generic || lowering.getSource()) &&
      "a winner comes with its program");
  WinnerRecord record = WinnerRecord::fromAttribute(lowering.getRecordAttr());

  if (llvm::Error error = createDirectories(directory))
    return error;
  llvm::Expected<FileLock> lock = lockBank(directory);
  if (!lock)
    return lock.takeError();
  for (const std::string &path : findDebris(directory))
    llvm::sys::fs::remove_directories(path);

  // Look again under the lock: another process may have written since open().
  llvm::Expected<Bank> now = Bank::open(directory);
  if (!now)
    return now.takeError();
  *this = std::move(*now);

  WriteResult result;
  std::string replaced, staleOne;
  for (BankEntry &entry : entriesOf(lowering.getKey())) {
    if (!entry.header || entry.header->key != lowering.getKey() ||
        entry.header->target != lowering.getTarget() ||
        entry.header->precision != lowering.getPrecision())
      continue;
    llvm::Expected<std::unique_ptr<Winner>> stored =
        load(entry.folder, module.getContext());
    if (!stored) {
      // The new one replaces it, unless a usable one of this machine is there.
      llvm::consumeError(stored.takeError());
      if (staleOne.empty())
        staleOne = entry.folder;
      continue;
    }
    if (!(*stored)->getRecord().getMachine().isComparable(record.getMachine()))
      continue;
    switch (decide((*stored)->getLowering(), (*stored)->getRecord(), lowering,
                   record, rule)) {
    case StoredWinner::Stays:
      result.outcome = WriteOutcome::KeptExisting;
      result.folder = entry.folder;
      return result;
    case StoredWinner::Yields:
      if (replaced.empty())
        replaced = entry.folder;
      break;
    case StoredWinner::StandsBeside:
      break;
    }
  }
  if (replaced.empty())
    replaced = staleOne;

  std::string target = directory + "/" + targetFolder(lowering.getTarget());
  if (replaced.empty() && isMany(target))
    target = directory + "/" + placeOf(lowering);
  std::string final = replaced;
  for (StringRef name : namesFor(lowering, record)) {
    if (!final.empty())
      break;
    std::string path = (target + "/" + name).str();
    if (!isFreeOrStale(path, module.getContext()))
      continue;
    final = path;
    if (llvm::sys::fs::exists(path))
      replaced = path;
  }
  if (final.empty())
    return llvm::createStringError(
        std::make_error_code(std::errc::file_exists),
        target +
            ": every name for the winner is taken; move away what begins "
            "with " +
            winnerName(lowering, record, 8));

  std::string temporary = temporaryFolder(directory);
  llvm::scope_exit cleanUp([&] {
    llvm::sys::fs::remove_directories(temporary);
    llvm::sys::fs::remove_directories(temporary + ".old");
  });
  target = llvm::sys::path::parent_path(final);
  if (llvm::Error error = createDirectories(target))
    return error;
  if (llvm::Error error = writeWhole(lowering, trajectory, temporary))
    return nameInstead(std::move(error), temporary, final);
  if (llvm::Error error = moveIntoPlace(temporary, final))
    return error;
  if (llvm::Error error = syncDirectory(target))
    return error;
  index(final);
  result.outcome =
      replaced.empty() ? WriteOutcome::Stored : WriteOutcome::Replaced;
  result.folder = final;
  return result;
}
