//===- ProcessFolder.cpp - A folder that goes with its process ------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/System/ProcessFolder.h"
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <filesystem>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

using namespace fastk;

/// The folders that are there, for a signal handler. One that finds no place
/// is left behind by a signal.
static std::array<std::atomic<char *>, 256> folders;
/// Who made them: what it forks has the list, too, and must leave them alone.
static std::atomic<pid_t> owner;

void fastk::removeAtEnd(const std::string &path) {
  if (owner.exchange(getpid()) != getpid())
    for (std::atomic<char *> &entry : folders)
      entry = nullptr;
  char *copy = strdup(path.c_str());
  for (std::atomic<char *> &entry : folders) {
    char *free = nullptr;
    if (entry.compare_exchange_strong(free, copy))
      return;
  }
  std::free(copy);
}

void fastk::keepAtEnd(const std::string &path) {
  for (std::atomic<char *> &entry : folders) {
    char *known = entry.load();
    if (known && path == known && entry.compare_exchange_strong(known, nullptr))
      return std::free(known);
  }
}

static std::string defaultPlace() {
  const char *set = std::getenv("TMPDIR");
  return set && *set ? set : "/tmp";
}

/// Removes what is called \p name in the open folder \p parent; false where it
/// stays. As it is called in signal handlers it uses the kernel's list of
/// entries: readdir allocates.
static bool removeTree(int parent, const char *name, int depth) {
  if (unlinkat(parent, name, 0) == 0)
    return true;
  // The stack of a signal handler is small.
  constexpr int kDeepest = 16;
  int folder = depth > kDeepest
                   ? -1
                   : openat(parent, name,
                            O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0)
    return false;
  alignas(dirent64) char entries[1024];
  // Removing while listing may skip entries: again until nothing more goes.
  for (bool isProgress = true; isProgress;) {
    isProgress = false;
    lseek(folder, 0, SEEK_SET);
    for (long size;
         (size = syscall(SYS_getdents64, folder, entries, sizeof entries)) > 0;)
      for (long at = 0; at < size;) {
        auto *entry = reinterpret_cast<dirent64 *>(entries + at);
        at += entry->d_reclen;
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
          isProgress |= removeTree(folder, entry->d_name, depth + 1);
      }
  }
  close(folder);
  return unlinkat(parent, name, AT_REMOVEDIR) == 0;
}

void fastk::removeTemporaryFolders() {
  if (owner != getpid())
    return;
  int before = errno;
  for (std::atomic<char *> &entry : folders)
    // Not freed: that is not safe here, and the process is about to end.
    if (char *path = entry.exchange(nullptr))
      removeTree(AT_FDCWD, path, 0);
  errno = before;
}

std::string fastk::explainTemporaryFileError(std::error_code code) {
  bool isFull = code == std::errc::no_space_on_device ||
                code == std::error_code(EDQUOT, std::generic_category());
  const char *remedy =
      isFull ? "free some space there, or set TMPDIR to another folder"
      : code == std::errc::file_too_large
          ? "raise the file size limit of this shell (ulimit -f)"
          : "set TMPDIR to a folder that you may write to";
  return "cannot write temporary files in " + defaultPlace() + ": " +
         code.message() + "; " + remedy;
}

std::error_code ProcessFolder::create(const std::string &prefix,
                                      const std::string &place) {
  std::string pattern =
      (place.empty() ? defaultPlace() : place) + "/" + prefix + "-XXXXXX";
  if (!mkdtemp(pattern.data()))
    return {errno, std::generic_category()};
  folder = pattern;
  removeAtEnd(folder);
  return {};
}

ProcessFolder::ProcessFolder(ProcessFolder &&other) noexcept
    : folder(std::exchange(other.folder, {})) {}

ProcessFolder &ProcessFolder::operator=(ProcessFolder &&other) noexcept {
  std::swap(folder, other.folder);
  return *this;
}

ProcessFolder::~ProcessFolder() {
  if (folder.empty())
    return;
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  keepAtEnd(folder);
}
