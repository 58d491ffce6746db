//===- CacheFile.h - Files in the user's cache ------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_TARGET_CACHEFILE_H
#define FASTK_LIB_TARGET_CACHEFILE_H

#include "fastk/System/WholeFile.h"

namespace fastk {

/// writeWholeFile, which makes the folder. Returns why it could not, with the
/// file's name; empty for success.
std::string writeCacheFile(const std::string &path, const std::string &text);

} // namespace fastk

#endif // FASTK_LIB_TARGET_CACHEFILE_H
