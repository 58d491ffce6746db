//===- RemoteCache.h - What this machine has of remote banks ----*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In the user's cache folder, banks/: the root of each bank by its address, and
// what has a digest once for all of them. It is a cache: whatever is removed of
// it is asked for again, judgements excepted, which are made again.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_BANK_REMOTE_REMOTECACHE_H
#define FASTK_LIB_BANK_REMOTE_REMOTECACHE_H

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <vector>

namespace fastk {

class RemoteCache {
public:
  /// Of the bank at this URL. Makes nothing yet.
  explicit RemoteCache(llvm::StringRef url);
  RemoteCache(const RemoteCache &) = delete;
  RemoteCache &operator=(const RemoteCache &) = delete;
  ~RemoteCache();

  /// False where there is no folder for caches: nothing is kept.
  bool isThere() const { return !folder.empty(); }

  /// What is kept of this bank alone.
  const std::string &bankFolder() const { return own; }

  struct Root {
    std::string etag, text;
    /// Since the server was asked; infinite where the clock went back.
    double ageSeconds = 0;
  };
  std::optional<Root> readRoot() const;
  /// Failures to write are none: it is asked for again.
  void writeRoot(llvm::StringRef etag, llvm::StringRef text);

  /// Why the server was not there a moment ago, in any process.
  std::optional<std::string> whyDown() const;
  void setDown(llvm::StringRef problem);

  std::optional<std::string> readObject(llvm::StringRef digest) const;
  void writeObject(llvm::StringRef digest, llvm::StringRef text);

  /// Where the winner with this digest lies, or would.
  std::string winnerFolder(llvm::StringRef digest) const;
  /// Whether it does. What a power cut left of one is removed.
  bool hasWinner(llvm::StringRef digest);
  /// Unpacks an object there, in one step.
  llvm::Error storeWinner(llvm::StringRef digest, llvm::StringRef object);

  /// What the judge said of a winner on a machine (Machine::str()): empty, it
  /// holds; else why not. Nothing: it was not asked.
  std::optional<std::string> readJudgement(llvm::StringRef digest,
                                           llvm::StringRef machine) const;
  llvm::Error writeJudgement(llvm::StringRef digest, llvm::StringRef machine,
                             llvm::StringRef problem);

  /// Winners of this bank that a compile could not use, as nobody judged them.
  void markWanted(llvm::StringRef digest);
  bool isWanted(llvm::StringRef digest) const;

private:
  llvm::Error makeTemporary();
  std::string judgementPath(llvm::StringRef digest,
                            llvm::StringRef machine) const;
  std::string wantedPath(llvm::StringRef digest) const;

  /// Winners that were seen to be whole.
  llvm::StringSet<> here;
  /// "" or CACHE/banks, and the bank's own folder in it.
  std::string folder, own;
  /// Where this object unpacks winners; empty until the first.
  std::string temporary;
};

} // namespace fastk

#endif // FASTK_LIB_BANK_REMOTE_REMOTECACHE_H
