//===- WholeFolder.cpp - Folders that are whole or not there --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Support/WholeFolder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>

using namespace llvm;
using namespace fastk;

/// Whoever makes a folder is done with it long before.
static constexpr std::chrono::hours kDebrisAge(1);

std::error_code fastk::placeFolder(const std::string &from,
                                   const std::string &to) {
  if (::rename(from.c_str(), to.c_str()) == 0)
    return {};
  bool isTaken = errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR;
  if (isTaken && ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(),
                             RENAME_EXCHANGE) == 0)
    return {};
  return {errno, std::generic_category()};
}

bool fastk::cannotExchange(std::error_code code) {
  // The last one of folders in a lower layer of an overlay.
  return code == std::errc::invalid_argument ||
         code == std::errc::cross_device_link ||
         code == std::errc::function_not_supported;
}

void fastk::removeDebris(StringRef folder, StringRef prefix) {
  auto latest = std::chrono::system_clock::now() - kDebrisAge;
  std::error_code code;
  for (sys::fs::directory_iterator it(folder, code), end; !code && it != end;
       it.increment(code)) {
    sys::fs::file_status status;
    if (sys::path::filename(it->path()).starts_with(prefix) &&
        !sys::fs::status(it->path(), status, /*follow=*/false) &&
        status.type() == sys::fs::file_type::directory_file &&
        status.getLastModificationTime() < latest) {
      // LLVM's would follow links.
      std::error_code ignored;
      std::filesystem::remove_all(it->path(), ignored);
    }
  }
}
