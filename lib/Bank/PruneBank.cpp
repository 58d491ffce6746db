//===- PruneBank.cpp - What no compile will use ---------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Bank/PruneBank.h"
#include "BankLock.h"
#include "BankPlaces.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/VersionTuple.h"
#include <cerrno>
#include <unistd.h>
#include <vector>

using namespace mlir;
using namespace fastk;

namespace {
/// What is known of one folder.
struct Folder {
  std::string path;
  WinnerHeader head;
};
} // namespace

/// Why a winner that cannot be used is kept all the same; empty when it may go.
static std::string whyKept(const BankEntry &entry, std::error_code problem) {
  if (llvm::sys::fs::get_file_type(entry.folder, /*Follow=*/false) !=
      llvm::sys::fs::file_type::directory_file)
    return "what it names is not the bank's; remove it yourself";
  // What the message advises to restore is not taken away.
  if (problem == std::errc::bad_message)
    return "remove the folder yourself if there is nothing to restore it from";
  // The disk or the permissions, not the winner.
  if (problem != std::errc::invalid_argument &&
      problem != std::errc::no_such_file_or_directory &&
      problem != std::errc::too_many_symbolic_link_levels &&
      problem != std::errc::file_too_large)
    return "nothing is known of the winner itself";
  if (!entry.header)
    return "";
  if (entry.header->formatVersion > LoweringOp::kFormatVersion)
    return "a newer fastk wrote it, and reads it";
  llvm::VersionTuple measured, here;
  if (!measured.tryParse(entry.header->mlirVersion) &&
      !here.tryParse(LLVM_VERSION_STRING) &&
      std::make_pair(measured.getMajor(), measured.getMinor()) >
          std::make_pair(here.getMajor(), here.getMinor()))
    return "a newer fastk measured it, and reads it";
  return "";
}

/// True when every lookup that could take `loser` takes `winner` before it: on
/// their machine the faster one, elsewhere the one that gained more.
static bool supersedes(const Folder &winner, const Folder &loser) {
  const WinnerHeader &a = winner.head, &b = loser.head;
  if (a.key != b.key || a.target != b.target || a.precision > b.precision ||
      a.machine != b.machine || a.threads != b.threads ||
      !(a.cpu.empty() || a.cpu == b.cpu) ||
      (a.bitwiseDeterministic != true && b.bitwiseDeterministic == true))
    return false;
  auto here = [](const Folder &folder) {
    return std::tie(folder.head.medianNs, folder.head.precision, folder.path);
  };
  auto elsewhere = [](const Folder &folder) {
    return std::make_tuple(-folder.head.speedup, folder.head.precision,
                           StringRef(folder.path));
  };
  return here(winner) < here(loser) && elsewhere(winner) < elsewhere(loser);
}

/// Under a hidden name the folder is no winner any more; whatever comes between
/// that and its end, the next writer removes it.
static llvm::Error removeFolder(StringRef directory, const std::string &path) {
  std::string hidden = temporaryFolder(directory);
  if (::rename(path.c_str(), hidden.c_str()) != 0)
    return fileError(path, "remove", errno);
  if (std::error_code code = llvm::sys::fs::remove_directories(hidden, false))
    return fileError(hidden, "remove", code.value());
  // The places of spread winners say what patterns there are.
  StringRef place = llvm::sys::path::parent_path(path);
  StringRef part = llvm::sys::path::parent_path(place);
  if (spreadReductions(llvm::sys::path::filename(part))) {
    // Others may lie there.
    (void)::rmdir(place.str().c_str());
    (void)::rmdir(part.str().c_str());
  }
  return llvm::Error::success();
}

llvm::Expected<PruneResult> fastk::pruneBank(StringRef directory, bool remove,
                                             MLIRContext *context) {
  PruneResult result;
  std::optional<FileLock> lock;
  if (remove && llvm::sys::fs::exists(directory)) {
    llvm::Expected<FileLock> acquired = lockBank(directory);
    if (!acquired)
      return acquired.takeError();
    lock.emplace(std::move(*acquired));
  }
  llvm::Expected<Bank> bank = Bank::open(directory);
  if (!bank)
    return bank.takeError();

  for (const std::string &path : findDebris(directory))
    // Without the lock it may be a writer's at work.
    result.removed.push_back({path, "left by a writer that died"});
  llvm::StringMap<std::vector<Folder>> usable;
  for (BankEntry &entry : bank->list()) {
    llvm::Expected<std::unique_ptr<Winner>> winner =
        Bank::load(entry.folder, context);
    if (winner && entry.header) {
      usable[entry.header->key].push_back({entry.folder, *entry.header});
      continue;
    }
    if (winner) {
      result.kept.push_back(
          {entry.folder, entry.problem + ": the winner is whole; put it "
                                         "where it belongs, or give the folder "
                                         "another name"});
      continue;
    }
    std::error_code problem = std::make_error_code(std::errc::invalid_argument);
    std::string reason;
    llvm::handleAllErrors(winner.takeError(),
                          [&](const llvm::ErrorInfoBase &error) {
                            problem = error.convertToErrorCode();
                            reason = error.message();
                          });
    if (std::string why = whyKept(entry, problem); !why.empty())
      result.kept.push_back({entry.folder, reason + ": " + why});
    else
      result.removed.push_back({entry.folder, "stale: " + reason});
  }
  for (auto &entry : usable) {
    const std::vector<Folder> &folders = entry.second;
    for (const Folder &folder : folders) {
      auto better = llvm::find_if(folders, [&](const Folder &other) {
        return supersedes(other, folder);
      });
      if (better == folders.end())
        ++result.usable;
      else
        result.removed.push_back(
            {folder.path, "superseded by " +
                              llvm::sys::path::filename(better->path).str() +
                              ", as exact and as fast on the same machine"});
    }
  }
  llvm::sort(result.removed, [](const PrunedWinner &a, const PrunedWinner &b) {
    return a.folder < b.folder;
  });
  if (!remove)
    return result;
  for (const PrunedWinner &each : result.removed)
    if (llvm::Error error = removeFolder(directory, each.folder))
      return std::move(error);
  return result;
}
