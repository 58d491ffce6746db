//===- HeadCache.h - What was read of many heads ----------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A compile must know how large the patterns of a bank get, which every head
// says. Reading ten thousand heads takes ten times as long as asking the file
// system whether they changed. So what they said is kept in the user's cache:
// never in the bank, which people commit, and never trusted, for each file's
// inode, size and times must be those that were read.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_BANK_HEADCACHE_H
#define FASTK_LIB_BANK_HEADCACHE_H

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

namespace fastk {

/// Which bytes a file holds, as far as the file system tells.
struct FileStamp {
  uint64_t inode = 0;
  int64_t size = 0;
  /// Of the content and of the inode, in nanoseconds.
  int64_t modified = 0, changed = 0;

  /// Of `path`, which is not followed. Nothing when it is no regular file, or
  /// when it changed so lately that it may change again within one tick of the
  /// file system's clock.
  static std::optional<FileStamp> of(const std::string &path);
  bool operator==(const FileStamp &other) const {
    return std::tie(inode, size, modified, changed) ==
           std::tie(other.inode, other.size, other.modified, other.changed);
  }
};

class HeadCache {
public:
  /// What is kept of one head.
  struct Head {
    FileStamp stamp;
    std::string target;
    unsigned reductions = 0;
  };

  /// What was kept of the bank in `directory`: nothing when there is no cache
  /// folder, or when the file was cut, edited or is of another bank.
  explicit HeadCache(llvm::StringRef directory);

  /// What the head of a folder said, if it is still the same file.
  const Head *find(llvm::StringRef folder, const FileStamp &stamp) const;

  /// Keeps these instead. A cache that cannot be written costs time only.
  void replaceBy(llvm::StringMap<Head> heads);

  /// The text of the file, and back; an empty map for any other text.
  static std::string print(llvm::StringRef directory,
                           const llvm::StringMap<Head> &heads);
  static llvm::StringMap<Head> parse(llvm::StringRef directory,
                                     llvm::StringRef text);

private:
  /// The bank's real path, and the cache's file; empty when there is none.
  std::string bank, path;
  llvm::StringMap<Head> heads;
};

} // namespace fastk

#endif // FASTK_LIB_BANK_HEADCACHE_H
