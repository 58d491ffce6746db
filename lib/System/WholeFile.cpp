//===- WholeFile.cpp - Files that are whole or not there ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/System/WholeFile.h"
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <random>
#include <unistd.h>

std::string fastk::userCacheFolder() {
  if (const char *set = std::getenv("FASTK_CACHE_DIR"); set && *set)
    return set;
  if (const char *cache = std::getenv("XDG_CACHE_HOME"); cache && *cache)
    return std::string(cache) + "/fastk";
  if (const char *home = std::getenv("HOME"); home && *home)
    return std::string(home) + "/.cache/fastk";
  return "";
}

/// Returns errno, or 0.
static int writeAll(int fd, std::string_view text, bool flush) {
  while (!text.empty()) {
    ssize_t count = write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return count < 0 ? errno : EIO;
    text.remove_prefix(size_t(count));
  }
  return flush && fsync(fd) != 0 ? errno : 0;
}

/// Gives the file \p temporary the name \p path, where no file has it yet.
static int nameOnce(const std::string &temporary, const std::string &path) {
  if (link(temporary.c_str(), path.c_str()) == 0 || errno == EEXIST) {
    unlink(temporary.c_str());
    return 0;
  }
  // A file system without hard links: of two at the same moment the later one
  // stays.
  if (access(path.c_str(), F_OK) == 0) {
    unlink(temporary.c_str());
    return 0;
  }
  return std::rename(temporary.c_str(), path.c_str()) == 0 ? 0 : errno;
}

static int nameInstead(const std::string &temporary, const std::string &path) {
  return std::rename(temporary.c_str(), path.c_str()) == 0 ? 0 : errno;
}

static std::error_code writeBeside(const std::string &path,
                                   std::string_view text, bool flush,
                                   int (*name)(const std::string &temporary,
                                               const std::string &path)) {
  static std::atomic<unsigned> counter;
  // Another machine that writes to the folder may have this process's number.
  static const unsigned tag = std::random_device()();
  std::string temporary = path + ".tmp-" + std::to_string(tag) + "-" +
                          std::to_string(getpid()) + "-" +
                          std::to_string(counter++);
  int fd =
      open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0)
    return {errno, std::generic_category()};
  int problem = writeAll(fd, text, flush);
  // Some file systems report a full disk only here.
  if (close(fd) != 0 && problem == 0)
    problem = errno;
  if (problem == 0)
    problem = name(temporary, path);
  if (problem != 0)
    unlink(temporary.c_str());
  return {problem, std::generic_category()};
}

std::error_code fastk::writeWholeFile(const std::string &path,
                                      std::string_view text, bool flush) {
  return writeBeside(path, text, flush, nameInstead);
}

std::error_code fastk::writeFirstFile(const std::string &path,
                                      std::string_view text, bool flush) {
  return writeBeside(path, text, flush, nameOnce);
}
