//===- WatchedFolder.cpp - A folder where answers are waited for ----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Support/WatchedFolder.h"
#include <cmath>

using namespace llvm;
using namespace fastk;

Expected<WatchedFolder> fastk::parseWatchedFolder(StringRef kind,
                                                  StringRef text) {
  WatchedFolder folder;
  if (auto [directory, wait] = text.rsplit("?wait="); directory != text) {
    text = directory;
    if (wait.getAsDouble(folder.waitSeconds) ||
        !std::isfinite(folder.waitSeconds) || folder.waitSeconds <= 0)
      return createStringError(
          kind + ":DIR?wait=" + wait + ": write seconds above 0, as " + kind +
          ":DIR?wait=600: without an answer for so long the run ends as "
          "pending");
  }
  if (text.empty())
    return createStringError(kind + ": names no folder: write " + kind +
                             ":DIR");
  folder.directory = text.str();
  return folder;
}
