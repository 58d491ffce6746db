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

KeyedHash::KeyedHash() : KeyedHash(secretSeed()) {}

KeyedHash::KeyedHash(uint64_t secret) : secret(secret) {
  for (size_t i = 0; i < keyWords; ++i)
    keys.push_back(bitsAt(secret, i));
}

/// Of at most keyWords words; what is missing of the last two counts as zero.
uint64_t KeyedHash::pieceHash(const char *data, size_t bytes,
                              uint64_t number) const {
  unsigned __int128 sum = 0;
  auto add = [&](const char *from, size_t count, size_t at) {
    uint64_t words[2] = {0, 0};
    std::memcpy(words, from, count);
    sum += static_cast<unsigned __int128>(words[0] + keys[at]) *
           (words[1] + keys[at + 1]);
  };
  size_t i = 0;
  for (; i + 16 <= bytes; i += 16)
    add(data + i, 16, i / 8);
  if (i < bytes)
    add(data + i, bytes - i, i / 8);
  uint64_t stream = bitsAt(~secret, number);
  return mix(mix(uint64_t(sum) ^ stream) + uint64_t(sum >> 64)) ^
         mix(stream + bytes);
}

uint64_t KeyedHash::of(const char *data, size_t bytes) const {
  constexpr size_t piece = keyWords * 8;
  size_t pieces = (bytes + piece - 1) / piece;
  std::vector<uint64_t> hashes(pieces);
  parallelFor(int64_t(bytes), int64_t(piece),
              [&](int64_t, int64_t begin, int64_t end) {
                for (size_t at = size_t(begin); at < size_t(end); at += piece)
                  hashes[at / piece] = pieceHash(
                      data + at, std::min(piece, size_t(end) - at), at / piece);
              });
  uint64_t all = mix(secret + bytes);
  for (uint64_t hash : hashes)
    all = mix(all ^ hash);
  return all;
}
