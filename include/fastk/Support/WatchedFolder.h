//===- WatchedFolder.h - A folder where answers are waited for --*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_SUPPORT_WATCHEDFOLDER_H
#define FASTK_SUPPORT_WATCHEDFOLDER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace fastk {

/// What a user writes as DIR or DIR?wait=SECONDS.
struct WatchedFolder {
  std::string directory;
  /// Seconds without an answer after which nobody waits any longer; 0: nobody
  /// waits at all.
  double waitSeconds = 0;
};

/// Reads `text`, which follows `kind` and a colon: "spool", "mailbox". An error
/// says what to write, and begins with the kind.
llvm::Expected<WatchedFolder> parseWatchedFolder(llvm::StringRef kind,
                                                 llvm::StringRef text);

} // namespace fastk

#endif // FASTK_SUPPORT_WATCHEDFOLDER_H
