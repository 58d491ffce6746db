//===- RemoteIndex.h - Which winners a remote bank has ----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The root is the one object of a remote bank that changes. It has, of each
// target, its winners or, where they are many, the digests of shards: objects
// with the winners whose keys begin with the same digits. Shards never change.
// docs/formats/remote-bank.md.
//
// All of this is a hint: what an index says of a winner proves nothing.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_BANK_REMOTE_REMOTEINDEX_H
#define FASTK_LIB_BANK_REMOTE_REMOTEINDEX_H

#include "fastk/Bank/RemoteBank.h"
#include "llvm/Support/Error.h"
#include <map>
#include <string>
#include <vector>

namespace fastk {

/// What the root says of a target.
struct RemoteTarget {
  /// The most reductions of any pattern.
  unsigned reductions = 0;
  uint64_t count = 0;
  /// How many digits of a key choose its shard; 0: there are none, and
  /// `winners` are all.
  unsigned digits = 0;
  std::vector<RemoteWinner> winners;
  /// Digits to the digest of the shard; a missing one is empty.
  std::map<std::string, std::string> shards;
};

struct RemoteRoot {
  /// Random, of the day that the bank was made.
  std::string id;
  /// One more with every change.
  uint64_t generation = 0;
  std::map<std::string, RemoteTarget> targets;
};

/// Where the root is: "/ac/" and 64 hex digits, as bazel-remote wants it.
std::string remoteRootPath();
/// Where the object with this digest is.
std::string remoteObjectPath(llvm::StringRef digest);
/// 64 lower-case hex digits.
bool isDigest(llvm::StringRef text);

/// With more winners a target has shards, of about twice as many.
constexpr size_t kMostInRoot = 128;
/// The digits for so many winners.
unsigned shardDigits(uint64_t winners);

/// Who reads: a compile leaves out winners that are unknown to this fastk; for
/// who writes what was read they are an error.
enum class IndexReader { Compile, Writer };

std::string printRemoteRoot(const RemoteRoot &root);
llvm::Expected<RemoteRoot>
parseRemoteRoot(llvm::StringRef text,
                IndexReader reader = IndexReader::Compile);
/// `winners` are of one target, in any order; equal ones give equal bytes.
std::string printRemoteShard(llvm::StringRef target,
                             std::vector<RemoteWinner> winners);
/// Winners whose keys do not begin with `digits` are an error.
llvm::Expected<std::vector<RemoteWinner>>
parseRemoteShard(llvm::StringRef text, llvm::StringRef target,
                 llvm::StringRef digits,
                 IndexReader reader = IndexReader::Compile);

} // namespace fastk

#endif // FASTK_LIB_BANK_REMOTE_REMOTEINDEX_H
