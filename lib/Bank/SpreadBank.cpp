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
  for (const BankEntry &entry : bank->listUnspread()) {
    if (std::string why = whyStays(entry); !why.empty()) {
      result.kept.push_back({entry.folder, why});
      continue;
    }
    StringRef target = llvm::sys::path::parent_path(entry.folder);
    std::string place =
        (target + "/" +
         spreadPlace(entry.header->reductions, entry.header->key))
            .str();
    std::string final =
        (place + "/" + llvm::sys::path::filename(entry.folder)).str();
    if (llvm::Error error = createDirectories(place))
      return error;
    if (::renameat2(AT_FDCWD, entry.folder.c_str(), AT_FDCWD, final.c_str(),
                    RENAME_NOREPLACE) != 0) {
      if (errno != EEXIST)
        return fileError(entry.folder, "move to " + place, errno);
      result.kept.push_back({entry.folder, final + " is there already"});
      continue;
    }
    changed.insert(target.str());
    changed.insert(place);
    ++result.moved;
  }
  for (const std::string &folder : changed)
    if (llvm::Error error = syncDirectory(folder))
      return error;
  return result;
}
