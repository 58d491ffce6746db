//===- WholeFile.h - Files that are whole or not there ----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For what has no LLVM: caches, and the verdicts of a worker.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_SYSTEM_WHOLEFILE_H
#define FASTK_SYSTEM_WHOLEFILE_H

#include <string>
#include <string_view>
#include <system_error>

namespace fastk {

/// Where fastk keeps what it could find out again: $FASTK_CACHE_DIR, or the
/// folder fastk in the user's cache folder. Empty when there is neither.
std::string userCacheFolder();

/// Writes \p text beside \p path and renames it: readers find the old file or
/// the new one. With \p flush it is on the disk before it is renamed. Any
/// number of threads and processes may write the same path.
std::error_code writeWholeFile(const std::string &path, std::string_view text,
                               bool flush = false);

/// The same where no file is called \p path: one that is stays as it is, which
/// is no error.
std::error_code writeFirstFile(const std::string &path, std::string_view text,
                               bool flush = false);

} // namespace fastk

#endif // FASTK_SYSTEM_WHOLEFILE_H
