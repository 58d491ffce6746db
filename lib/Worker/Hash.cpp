//===- Hash.cpp - Hashes of buffers ---------------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Hash.h"
#include "Parallel.h"
#include "Random.h"
#include <cstring>

using namespace fastk::worker;

/// FNV-1a over words; inputs are read at memory speed.
static uint64_t hashPart(const char *data, size_t bytes) {
  uint64_t hash[4] = {1, 2, 3, 4};
  size_t i = 0;
  for (; i + 32 <= bytes; i += 32) {
    uint64_t words[4];
    std::memcpy(words, data + i, 32);
    for (int k = 0; k < 4; ++k)
      hash[k] = (hash[k] ^ words[k]) * 0x9fb21c651e98df25u + (hash[k] >> 29);
  }
  uint64_t tail = 0xcbf29ce484222325u;
  for (; i < bytes; ++i)
    tail = (tail ^ static_cast<unsigned char>(data[i])) * 0x100000001b3u;
  return mix(mix(mix(mix(hash[0]) + hash[1]) + hash[2]) + hash[3]) ^ tail;
}

/// The hash of the hashes of its pieces, which several threads compute.
uint64_t fastk::worker::hashBytes(const char *data, size_t bytes) {
  constexpr size_t piece = size_t(1) << 20;
  size_t pieces = (bytes + piece - 1) / piece;
  std::vector<uint64_t> hashes(pieces);
  parallelFor(int64_t(bytes), int64_t(piece),
              [&](int64_t, int64_t begin, int64_t end) {
                for (size_t at = size_t(begin); at < size_t(end); at += piece)
                  hashes[at / piece] =
                      hashPart(data + at, std::min(piece, size_t(end) - at));
              });
  return hashPart(reinterpret_cast<const char *>(hashes.data()),
                  pieces * sizeof(uint64_t));
}
