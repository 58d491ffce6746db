//===- WholeFolder.h - Folders that are whole or not there ------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A folder is made under a hidden name beside its place, and renamed.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_SUPPORT_WHOLEFOLDER_H
#define FASTK_SUPPORT_WHOLEFOLDER_H

#include "llvm/ADT/StringRef.h"
#include <string>
#include <system_error>

namespace fastk {

/// Gives the finished folder \p from the name \p to. What has that name already
/// is called \p from afterwards, by one step: at any moment the old or the new
/// one is there.
std::error_code placeFolder(const std::string &from, const std::string &to);
/// Whether it failed, and changed nothing, because the file system has no such
/// step (NFS, some overlays).
bool cannotExchange(std::error_code code);

/// Removes what processes that died an hour ago or more left in \p folder:
/// folders whose names begin with \p prefix.
void removeDebris(llvm::StringRef folder, llvm::StringRef prefix);

} // namespace fastk

#endif // FASTK_SUPPORT_WHOLEFOLDER_H
