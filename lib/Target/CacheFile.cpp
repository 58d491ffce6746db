//===- CacheFile.cpp - Files in the user's cache --------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CacheFile.h"
#include <filesystem>

std::string fastk::writeCacheFile(const std::string &path,
                                  const std::string &text) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  fs::create_directories(fs::path(path).parent_path(), ignored);
  std::error_code error = writeWholeFile(path, text);
  return error ? path + ": cannot write: " + error.message() : "";
}
