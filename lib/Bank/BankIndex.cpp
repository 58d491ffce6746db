//===- BankIndex.cpp - Which winners a bank has ---------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BankPlaces.h"
#include "HeadCache.h"
#include "ReadEntry.h"
#include "fastk/Bank/Bank.h"
#include "fastk/Support/DurableFile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <limits>
#include <sys/stat.h>

using namespace mlir;
using namespace fastk;

/// Enough for the attributes of any lowering that fastk writes.
static constexpr size_t kHeaderBytes = 32 * 1024;

/// Whether nothing stands at `path`, not even a link.
static bool isMissing(const std::string &path) {
  struct stat status;
  return ::lstat(path.c_str(), &status) != 0 && errno == ENOENT;
}

/// Links are listed, so that they are reported, and not followed.
static bool isFolderOrLink(const dirent &entry, StringRef path) {
  using llvm::sys::fs::file_type;
  if (entry.d_type != DT_UNKNOWN)
    return entry.d_type == DT_DIR || entry.d_type == DT_LNK;
  file_type type = llvm::sys::fs::get_file_type(path, /*Follow=*/false);
  return type == file_type::directory_file || type == file_type::symlink_file;
}

using IsWanted = llvm::function_ref<bool(StringRef name)>;

static bool isAny(StringRef) { return true; }

/// Calls `visit` with every folder in `directory` that is not hidden and whose
/// name is wanted. llvm::sys::fs::directory_iterator makes a path of every
/// name, and a lookup passes by hundreds.
static llvm::Error visitFolders(StringRef directory,
                                llvm::function_ref<void(StringRef path)> visit,
                                IsWanted isWanted = isAny) {
  DIR *stream = ::opendir(directory.str().c_str());
  if (!stream)
    return fileError(directory, "list the folder", errno);
  llvm::scope_exit close([&] { ::closedir(stream); });
  errno = 0;
  while (const dirent *entry = ::readdir(stream)) {
    StringRef name = entry->d_name;
    if (!name.starts_with(".") && isWanted(name)) {
      SmallString<256> path(directory);
      llvm::sys::path::append(path, name);
      if (isFolderOrLink(*entry, path))
        visit(path);
    }
    errno = 0;
  }
  if (errno != 0)
    return fileError(directory, "list the folder", errno);
  return llvm::Error::success();
}

/// The same of a folder that others may change meanwhile: what is moved within
/// it while it is listed may be in no listing.
static llvm::Error
visitSettled(StringRef directory,
             llvm::function_ref<void(StringRef path)> visit) {
  constexpr int kAttempts = 4;
  std::vector<std::string> folders;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    folders.clear();
    llvm::sys::fs::file_status before, after;
    (void)llvm::sys::fs::status(directory, before);
    if (llvm::Error error = visitFolders(directory, [&](StringRef folder) {
          folders.push_back(folder.str());
        }))
      return error;
    (void)llvm::sys::fs::status(directory, after);
    if (before.getLastModificationTime() == after.getLastModificationTime())
      break;
  }
  llvm::for_each(folders, visit);
  return llvm::Error::success();
}

BankEntry fastk::readBankEntry(StringRef folder) {
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
  // BANK/TARGET/reductions-N/ABC/WINNER.
  constexpr size_t kSpreadDepth = 4;
  if (folder.drop_front(directory.size()).count('/') == kSpreadDepth) {
    StringRef part =
        llvm::sys::path::parent_path(llvm::sys::path::parent_path(folder));
    if (llvm::none_of(spread, [&](auto &each) { return each.path == part; }))
      spread.push_back(
          {part.str(), *spreadReductions(llvm::sys::path::filename(part))});
    return;
  }
  auto [at, isNew] = positions.try_emplace(folder, entries.size());
  if (!isNew)
    return;
  std::string key8 = keyDigitsOfName(llvm::sys::path::filename(folder)).str();
  byDigits[key8].push_back(entries.size());
  entries.push_back({folder.str(), std::move(key8)});
}

llvm::Expected<Bank> Bank::openRemote(StringRef text, Patience patience) {
  Bank bank;
  bank.directory = text.str();
  if (llvm::Error error =
          RemoteBank::open(text, patience).moveInto(bank.remote))
    return error;
  return bank;
}

llvm::Expected<Bank> Bank::open(StringRef directory, Patience patience) {
  if (isRemoteBank(directory))
    return openRemote(directory, patience);
  Bank bank;
  // Folders of winners are told by their paths below it.
  while (directory.size() > 1 && directory.ends_with("/"))
    directory = directory.drop_back();
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
    llvm::Error error = visitSettled(target, [&](StringRef folder) {
      std::optional<unsigned> reductions =
          spreadReductions(llvm::sys::path::filename(folder));
      if (reductions && !llvm::sys::fs::exists(folder + "/lowering.mlir"))
        bank.spread.push_back({folder.str(), *reductions});
      else
        folders.push_back(folder.str());
    });
    inner = llvm::joinErrors(std::move(inner), std::move(error));
  });
  if (llvm::Error error = llvm::joinErrors(std::move(outer), std::move(inner)))
    return error;
  llvm::sort(folders);
  for (const std::string &folder : folders)
    bank.index(folder);
  llvm::sort(bank.spread, [](const SpreadFolder &a, const SpreadFolder &b) {
    return a.path < b.path;
  });
  return bank;
}

/// The folders in `directory` whose names are wanted, in their order; none
/// where it is not there, as most of those that a key may lie in are not. One
/// that cannot be listed is in the list itself: what reads it says why.
static std::vector<std::string> foldersIn(const std::string &directory,
                                          IsWanted isWanted = isAny) {
  std::vector<std::string> folders;
  llvm::Error error = visitFolders(
      directory, [&](StringRef folder) { folders.push_back(folder.str()); },
      isWanted);
  if (error && !isMissing(directory))
    folders.push_back(directory);
  llvm::consumeError(std::move(error));
  llvm::sort(folders);
  return folders;
}

/// Whether that would be any.
static bool hasFolders(const std::string &directory) {
  bool has = false;
  llvm::Error error = visitFolders(
      directory, [&](StringRef) { has = true; },
      [&](StringRef) { return !has; });
  has |= error && !isMissing(directory);
  llvm::consumeError(std::move(error));
  return has;
}

void Bank::visitSpread(
    llvm::function_ref<void(const IndexEntry &entry)> visit) const {
  for (const SpreadFolder &part : spread)
    for (const std::string &digits : foldersIn(part.path))
      for (const std::string &folder : foldersIn(digits))
        visit(
            {folder, keyDigitsOfName(llvm::sys::path::filename(folder)).str()});
}

size_t Bank::size() const {
  if (remote)
    return remote->size();
  size_t count = entries.size();
  visitSpread([&](const IndexEntry &) { ++count; });
  return count;
}

/// Asks `bank`, and where some of what it knows of is gone, as another process
/// has moved or removed it, once more the bank as it is now.
template <typename Ask>
static auto askSettled(const Bank &bank, Ask ask) {
  bool isGone = false;
  auto answer = ask(bank, isGone);
  if (!isGone)
    return answer;
  llvm::Expected<Bank> now = Bank::open(bank.getDirectory());
  if (now)
    return ask(*now, isGone);
  llvm::consumeError(now.takeError());
  return answer;
}

std::vector<BankEntry> Bank::entriesOf(StringRef key) const {
  return askSettled(*this, [&](const Bank &bank, bool &isGone) {
    return bank.entriesNow(key, isGone);
  });
}

std::vector<BankEntry> Bank::entriesNow(StringRef key, bool &isGone) const {
  // Of folders without a key in their names the heads are read, once.
  if (!unnamed) {
    unnamed.emplace();
    if (auto found = byDigits.find(""); found != byDigits.end())
      for (unsigned position : found->second)
        if (BankEntry read = readBankEntry(entries[position].folder);
            read.header)
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
  auto add = [&](const IndexEntry &entry) {
    BankEntry read = readBankEntry(entry.folder);
    bool isHere = read.header || !isMissing(entry.folder);
    isGone |= !isHere;
    if (isHere &&
        (!entry.key8.empty() || (read.header && read.header->key == key)))
      result.push_back(std::move(read));
  };
  for (unsigned position : positions)
    add(entries[position]);
  auto mayBeOfKey = [&](StringRef name) {
    StringRef digits = keyDigitsOfName(name);
    return digits.empty() || key.starts_with(digits);
  };
  for (const SpreadFolder &part : spread) {
    std::string place = part.path + "/" + spreadDigits(key).str();
    for (const std::string &folder : foldersIn(place, mayBeOfKey))
      // The place itself where it cannot be listed: that is said.
      if (folder == place)
        result.push_back(readBankEntry(folder));
      else
        add({folder, keyDigitsOfName(llvm::sys::path::filename(folder)).str()});
  }
  return result;
}

/// Fewer heads are read faster than a cache is.
static constexpr size_t kWorthCaching = 100;

std::optional<unsigned> Bank::mostReductions(StringRef target) const {
  if (remote)
    return remote->mostReductions(target);
  return askSettled(*this, [&](const Bank &bank, bool &isGone) {
    return bank.mostReductionsNow(target, isGone);
  });
}

std::optional<unsigned> Bank::mostReductionsNow(StringRef target,
                                                bool &isGone) const {
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
    BankEntry read = readBankEntry(entry.folder);
    if (!read.header) {
      isGone |= isMissing(entry.folder);
      continue;
    }
    count(read.header->target, read.header->reductions);
    if (stamp) {
      known[name] = {*stamp, read.header->target, read.header->reductions};
      ++readAnew;
    }
  }
  if (readAnew > 0)
    cache->replaceBy(std::move(known));
  for (const SpreadFolder &part : spread)
    if (llvm::sys::path::filename(llvm::sys::path::parent_path(part.path)) ==
            targetFolder(target) &&
        hasFolders(part.path))
      most = std::max(most.value_or(0), part.reductions);
  return most;
}

/// What lies where its key, pattern or target does not belong is not found, or
/// not looked for.
static void checkSpread(BankEntry &entry, StringRef directory) {
  // Of a pattern that was cut nobody knows the number.
  if (!entry.header ||
      entry.header->reductions == std::numeric_limits<unsigned>::max())
    return;
  std::string place = spreadPlace(entry.header->target,
                                  entry.header->reductions, entry.header->key);
  if (llvm::sys::path::parent_path(entry.folder) ==
      (directory + "/" + place).str())
    return;
  entry.problem = "lies where no compile looks for it, or not every one that "
                  "could use it: move it to " +
                  place;
  entry.header.reset();
}

BankEntry Bank::readListed(const IndexEntry &entry) {
  BankEntry read = readBankEntry(entry.folder);
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
  return read;
}

std::vector<BankEntry> Bank::listUnspread() const {
  std::vector<BankEntry> result;
  for (const IndexEntry &entry : entries)
    result.push_back(readListed(entry));
  return result;
}

std::vector<BankEntry> Bank::list() const {
  std::vector<BankEntry> result = listUnspread();
  visitSpread([&](const IndexEntry &entry) {
    result.push_back(readListed(entry));
    checkSpread(result.back(), directory);
  });
  return result;
}

std::vector<BankEntry> Bank::listNamed(StringRef name, StringRef key) const {
  std::vector<BankEntry> result;
  std::string prefix = winnerNamePrefix(name);
  auto add = [&](const IndexEntry &entry) {
    StringRef folder = llvm::sys::path::filename(entry.folder);
    if (entry.key8.empty() || folder.starts_with(prefix) ||
        (!key.empty() && key.starts_with(entry.key8)))
      result.push_back(readListed(entry));
  };
  llvm::for_each(entries, add);
  visitSpread(add);
  return result;
}
