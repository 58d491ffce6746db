//===- Hash.h - Hashes of buffers -------------------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_VALUES_HASH_H
#define FASTK_LIB_WORKER_VALUES_HASH_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fastk::worker {

/// Depends on every byte; computed by several threads, at the speed of memory.
/// Without a secret: two buffers with the same hash can be made.
uint64_t hashBytes(const char *data, size_t bytes);

/// A hash with a secret. Nobody who does not know it can change bytes so that
/// the hash stays, whatever else is changed to make up for it: pieces of 8 KB
/// go through NH (Black et al., UMAC, 1999), whose collisions have a
/// probability of 2^-64 over its keys, and their hashes, with their places,
/// through mix(). As fast as hashBytes().
class KeyedHash {
public:
  KeyedHash();
  explicit KeyedHash(uint64_t secret);
  uint64_t of(const char *data, size_t bytes) const;

private:
  uint64_t pieceHash(const char *data, size_t bytes, uint64_t number) const;

  static constexpr size_t keyWords = 1024;
  std::vector<uint64_t> keys;
  uint64_t secret;
};

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_VALUES_HASH_H
