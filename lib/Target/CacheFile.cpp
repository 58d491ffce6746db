//===- CacheFile.cpp - Files of the user's cache folder -------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CacheFile.h"
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <unistd.h>

namespace fs = std::filesystem;

std::string fastk::userCacheFolder() {
  if (const char *set = std::getenv("FASTK_CACHE_DIR"); set && *set)
    return set;
  if (const char *cache = std::getenv("XDG_CACHE_HOME"); cache && *cache)
    return std::string(cache) + "/fastk";
  if (const char *home = std::getenv("HOME"); home && *home)
    return std::string(home) + "/.cache/fastk";
  return "";
}

std::string fastk::writeCacheFile(const std::string &path,
                                  const std::string &text) {
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  std::string temporary = path + "." + std::to_string(getpid());
  errno = 0;
  bool isWritten = false;
  {
    std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
    file << text;
    file.flush();
    isWritten = bool(file);
  }
  int problem = errno;
  if (isWritten) {
    fs::rename(temporary, path, error);
    if (!error)
      return "";
    problem = error.value();
  }
  fs::remove(temporary, error);
  return path + ": cannot write: " +
         (problem ? std::strerror(problem) : "the disk refuses");
}
