//===- CacheFile.h - Files of the user's cache folder -----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_TARGET_CACHEFILE_H
#define FASTK_LIB_TARGET_CACHEFILE_H

#include <string>

namespace fastk {

/// $FASTK_CACHE_DIR, $XDG_CACHE_HOME/fastk or ~/.cache/fastk; empty where none
/// of them is set.
std::string userCacheFolder();

/// Into a temporary file beside it, then in one step: a reader finds the old
/// file or the new one. Makes the folder. Returns why it could not, with the
/// file's name; empty for success.
std::string writeCacheFile(const std::string &path, const std::string &text);

} // namespace fastk

#endif // FASTK_LIB_TARGET_CACHEFILE_H
