//===- SpreadBank.cpp - A bank of very many winners -----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Bank/SpreadBank.h"
#include "BankLock.h"
#include "BankPlaces.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <cerrno>
#include <fcntl.h>
#include <set>
#include <stdio.h>

using namespace mlir;
using namespace fastk;

/// Why `entry` has to stay; empty where it may move.
static std::string whyStays(const BankEntry &entry) {
  if (!entry.header)
    return entry.problem;
  StringRef digits = keyDigitsOfName(llvm::sys::path::filename(entry.folder));
  // Its folder alone tells nobody which key it is of.
  return digits.empty() ? "its name does not end in its key" : "";
}

/// Moves `from` to `final`, where nothing may stand; whether it did.
static llvm::Expected<bool> move(const std::string &from,
                                 const std::string &final) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, final.c_str(),
                  RENAME_NOREPLACE) == 0)
    return true;
  if (errno == EEXIST)
    return false;
  // A file system without this flag (NFS, some overlays). Who holds the lock is
  // the only one to store.
  if (errno != EINVAL && errno != ENOSYS)
    return fileError(from, "move to " + final, errno);
  if (llvm::sys::fs::get_file_type(final, /*Follow=*/false) !=
      llvm::sys::fs::file_type::file_not_found)
    return false;
  if (::rename(from.c_str(), final.c_str()) != 0)
    return fileError(from, "move to " + final, errno);
  return true;
}

/// Moves all; `changed` are the folders that a name came into or went from.
static llvm::Error moveAll(const Bank &bank, SpreadResult &result,
                           std::set<std::string> &changed) {
  for (const BankEntry &entry : bank.listUnspread()) {
    if (std::string why = whyStays(entry); !why.empty()) {
      result.kept.push_back({entry.folder, why});
      continue;
    }
    std::string place =
        bank.getDirectory().str() + "/" +
        spreadPlace(entry.header->target, entry.header->reductions,
                    entry.header->key);
    std::string final =
        (place + "/" + llvm::sys::path::filename(entry.folder)).str();
    if (llvm::Error error = createDirectories(place))
      return error;
    llvm::Expected<bool> isMoved = move(entry.folder, final);
    if (!isMoved)
      return isMoved.takeError();
    if (!*isMoved) {
      result.kept.push_back({entry.folder, final + " is there already"});
      continue;
    }
    changed.insert(llvm::sys::path::parent_path(entry.folder).str());
    changed.insert(place);
    ++result.moved;
  }
  return llvm::Error::success();
}

llvm::Expected<SpreadResult> fastk::spreadBank(StringRef directory) {
  if (!llvm::sys::fs::exists(directory))
    return fileError(directory, "open the bank", ENOENT);
  llvm::Expected<FileLock> lock = lockBank(directory);
  if (!lock)
    return lock.takeError();
  llvm::Expected<Bank> bank = Bank::open(directory);
  if (!bank)
    return bank.takeError();
  SpreadResult result;
  std::set<std::string> changed;
  llvm::Error error = moveAll(*bank, result, changed);
  // What was moved stays moved.
  for (const std::string &folder : changed)
    error = llvm::joinErrors(std::move(error), syncDirectory(folder));
  if (error)
    return std::move(error);
  return result;
}
