//===- Bank.cpp - Indexing and looking up winners -------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Bank/Bank.h"
#include "HeadCache.h"
#include "fastk/Support/DurableFile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <fcntl.h>
#include <limits>

using namespace mlir;
using namespace fastk;

/// Enough for the attributes of any lowering that fastk writes.
static constexpr size_t kHeaderBytes = 32 * 1024;

/// The eight hex digits that end "softmax-64x128xf32-1f3a9c0b" or
/// "...-1f3a9c0b-tf32" or "...-1f3a9c0b-m0a1b2c3d"; empty for other names.
static StringRef keyDigitsOfName(StringRef name) {
  auto [head, machine] = name.rsplit('-');
  if (machine.size() == 9 && machine.consume_front("m") &&
      llvm::all_of(machine, llvm::isHexDigit))
    name = head;
  for (const char *suffix : {"-tf32", "-half"})
    if (name.consume_back(suffix))
      break;
  StringRef tail = name.rsplit('-').second;
  bool isKey =
      tail.size() >= 8 && tail.size() <= 64 && llvm::all_of(tail, [](char c) {
        return llvm::isDigit(c) || (c >= 'a' && c <= 'f');
      });
  return isKey ? tail.take_front(8) : "";
}

/// Calls `visit` with every folder in `directory` that is not hidden.
static llvm::Error
visitFolders(StringRef directory,
             llvm::function_ref<void(StringRef path)> visit) {
  std::error_code code;
  // Links are listed, so that they are reported, and not followed.
  llvm::sys::fs::directory_iterator it(directory, code,
                                       /*follow_symlinks=*/false);
  for (llvm::sys::fs::directory_iterator end; !code && it != end;
       it.increment(code)) {
    if (llvm::sys::path::filename(it->path()).starts_with("."))
      continue;
    llvm::sys::fs::file_type type = it->type();
    if (type == llvm::sys::fs::file_type::type_unknown)
      type = llvm::sys::fs::get_file_type(it->path(), /*Follow=*/false);
    if (type == llvm::sys::fs::file_type::directory_file ||
        type == llvm::sys::fs::file_type::symlink_file)
      visit(it->path());
  }
  if (code)
    return fileError(directory, "list the folder", code.value());
  return llvm::Error::success();
}

static BankEntry readEntry(StringRef folder) {
  BankEntry entry;
  entry.folder = folder.str();
  if (llvm::sys::fs::get_file_type(folder, /*Follow=*/false) ==
      llvm::sys::fs::file_type::symlink_file) {
    entry.problem = "is a symbolic link; a bank holds its winners itself";
    return entry;
  }
  SmallString<256> path(folder);
  llvm::sys::path::append(path, "lowering.mlir");
  llvm::Expected<std::string> text =
      readRegularFile(AT_FDCWD, path, path, kHeaderBytes, /*prefixOnly=*/true);
  if (!text) {
    entry.problem = llvm::toString(text.takeError());
    return entry;
  }
  llvm::Expected<WinnerHeader> header = parseWinnerHeader(*text);
  if (!header) {
    entry.problem = (path + ": " + llvm::toString(header.takeError())).str();
    return entry;
  }
  entry.header = std::move(*header);
  // A pattern that was cut may have any number.
  if (text->size() == kHeaderBytes)
    entry.header->reductions = std::numeric_limits<unsigned>::max();
  return entry;
}

void Bank::index(StringRef folder) {
  auto [at, isNew] = positions.try_emplace(folder, entries.size());
  if (!isNew)
    return;
  std::string key8 = keyDigitsOfName(llvm::sys::path::filename(folder)).str();
  byDigits[key8].push_back(entries.size());
  entries.push_back({folder.str(), std::move(key8)});
}

llvm::Expected<Bank> Bank::open(StringRef directory) {
  Bank bank;
  bank.directory = directory.str();
  if (!llvm::sys::fs::exists(directory))
    return bank;
  if (!llvm::sys::fs::is_directory(directory))
    return llvm::createStringError(
        std::make_error_code(std::errc::not_a_directory),
        directory + ": not a folder; a bank is a folder of winners, see "
                    "docs/formats/bank.md");
  std::vector<std::string> folders;
  llvm::Error inner = llvm::Error::success();
  llvm::Error outer = visitFolders(directory, [&](StringRef target) {
    llvm::Error error = visitFolders(
        target, [&](StringRef folder) { folders.push_back(folder.str()); });
    inner = llvm::joinErrors(std::move(inner), std::move(error));
  });
  if (llvm::Error error = llvm::joinErrors(std::move(outer), std::move(inner)))
    return error;
  llvm::sort(folders);
  for (const std::string &folder : folders)
    bank.index(folder);
  return bank;
}

std::vector<BankEntry> Bank::entriesOf(StringRef key) const {
  // Of folders without a key in their names the heads are read, once.
  if (!unnamed) {
    unnamed.emplace();
    if (auto found = byDigits.find(""); found != byDigits.end())
      for (unsigned position : found->second)
        if (BankEntry read = readEntry(entries[position].folder); read.header)
          (*unnamed)[read.header->key].push_back(position);
  }
  SmallVector<unsigned> positions;
  if (auto found = byDigits.find(key.take_front(8)); found != byDigits.end())
    positions.append(found->second);
  if (auto found = unnamed->find(key); found != unnamed->end())
    positions.append(found->second);
  // In the order of the folders: the same bank gives the same answer.
  llvm::sort(positions);
  std::vector<BankEntry> result;
  for (unsigned position : positions) {
    const IndexEntry &entry = entries[position];
    BankEntry read = readEntry(entry.folder);
    if (!entry.key8.empty() || (read.header && read.header->key == key))
      result.push_back(std::move(read));
  }
  return result;
}

/// Fewer heads are read faster than a cache is.
static constexpr size_t kWorthCaching = 100;

std::optional<unsigned> Bank::mostReductions(StringRef target) const {
  bool caches = entries.size() >= kWorthCaching;
  std::optional<HeadCache> cache;
  if (caches)
    cache.emplace(directory);
  std::optional<unsigned> most;
  llvm::StringMap<HeadCache::Head> known;
  size_t readAnew = 0;
  auto count = [&](StringRef ofTarget, unsigned reductions) {
    if (ofTarget == target)
      most = std::max(most.value_or(0), reductions);
  };
  for (const IndexEntry &entry : entries) {
    // The stamp before the content: what is written in between is read again.
    std::optional<FileStamp> stamp;
    StringRef name = StringRef(entry.folder).drop_front(directory.size());
    if (caches) {
      stamp = FileStamp::of(entry.folder + "/lowering.mlir");
      if (const HeadCache::Head *head =
              stamp ? cache->find(name, *stamp) : nullptr) {
        count(head->target, head->reductions);
        known[name] = *head;
        continue;
      }
    }
    BankEntry read = readEntry(entry.folder);
    if (!read.header)
      continue;
    count(read.header->target, read.header->reductions);
    if (stamp) {
      known[name] = {*stamp, read.header->target, read.header->reductions};
      ++readAnew;
    }
  }
  if (readAnew > 0)
    cache->replaceBy(std::move(known));
  return most;
}

std::vector<BankEntry> Bank::list() const {
  std::vector<BankEntry> result;
  for (const IndexEntry &entry : entries) {
    result.push_back(readEntry(entry.folder));
    BankEntry &read = result.back();
    if (read.header && !entry.key8.empty() &&
        !StringRef(read.header->key).starts_with(entry.key8)) {
      read.problem = "the folder is named for key " + entry.key8 +
                     "... but lowering.mlir says " +
                     StringRef(read.header->key).take_front(8).str() +
                     "...: the key was edited or the folder renamed";
      read.header.reset();
    }
    if (read.header && !read.header->hasTime()) {
      read.problem = read.header->timeProblem();
      read.header.reset();
    }
  }
  return result;
}

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
  for (BankEntry &entry : entriesOf(key)) {
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
    return result;
  }
  if (!result.stale.empty()) {
    result.reason = "stale: " + result.stale.front().folder + ": " +
                    result.stale.front().reason;
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
    if (found.winner)
      return found;
  }
  BankLookup result;
  if (banks.empty())
    result.reason = "no bank";
  for (const Bank &bank : banks) {
    BankLookup found = bank.lookup(key, filter, context);
    llvm::append_range(result.stale, found.stale);
    if (found.winner) {
      result.winner = std::move(found.winner);
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
    }
  }
  return result;
}

static llvm::Error noBank() {
  return llvm::createStringError(
      std::make_error_code(std::errc::invalid_argument),
      "no bank to store the winner in; give one with --bank=DIR");
}

llvm::Expected<WriteResult> BankStack::write(ModuleOp winner,
                                             StringRef trajectory) {
  if (banks.empty())
    return noBank();
  return banks.front().write(winner, trajectory);
}

llvm::Error BankStack::reopen() {
  for (Bank &bank : banks)
    if (llvm::Error error = Bank::open(bank.getDirectory()).moveInto(bank))
      return error;
  return llvm::Error::success();
}

llvm::Error BankStack::checkWrites() const {
  return banks.empty() ? noBank() : banks.front().checkWrites();
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
