//===- PatternTest.cpp - Secrets that programs cannot keep up with ------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Host/SharedBuffer.h"
#include "Values/Hash.h"
#include "Values/Patterns.h"
#include "fastk/Protocol/ElementType.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <set>

using namespace fastk::worker;

static uint64_t wordAt(Pattern pattern, uint64_t key, uint64_t index) {
  return patternWord(pattern, patternLine(key, index / 8), index);
}

/// What nobody has written is NaN for whoever reads it, of any type.
TEST(Pattern, PoisonIsNaNInEveryType) {
  std::vector<uint64_t> words;
  for (uint64_t i = 0; i < 1000; ++i)
    words.push_back(wordAt(Pattern::Poison, 99, i));
  for (ElementType type : {ElementType::F64, ElementType::F32, ElementType::F16,
                           ElementType::BF16})
    for (int64_t i = 0; i < 8000 / byteSize(type); ++i)
      ASSERT_TRUE(std::isnan(loadElement(type, words.data(), i)))
          << toString(type) << " " << i;
  EXPECT_GT(std::set<uint64_t>(words.begin(), words.end()).size(), 990u);
}

namespace {
/// Lines of a workspace that are of one kind.
struct Lines {
  int nan = 0, subnormal = 0;
};
} // namespace

/// Of 1000 lines, read as a type.
static Lines linesOf(uint64_t key, ElementType type) {
  double least = type == ElementType::F64   ? 0x1p-1022
                 : type == ElementType::F16 ? 0x1p-14
                                            : 0x1p-126;
  Lines lines;
  int64_t count = 64 / byteSize(type);
  for (uint64_t line = 0; line < 1000; ++line) {
    uint64_t words[8];
    for (uint64_t i = 0; i < 8; ++i)
      words[i] = wordAt(Pattern::Undefined, key, 8 * line + i);
    int64_t nans = 0, subnormals = 0;
    for (int64_t i = 0; i < count; ++i) {
      double x = loadElement(type, words, i);
      nans += std::isnan(x);
      subnormals += x != 0 && std::abs(x) < least;
    }
    lines.nan += nans == count;
    lines.subnormal += subnormals == count;
  }
  return lines;
}

/// A workspace has NaN and any bits, or what is slow and any bits: of any type.
TEST(Pattern, WorkspacesHaveNaNOrSubnormals) {
  for (ElementType type : {ElementType::F64, ElementType::F32, ElementType::F16,
                           ElementType::BF16}) {
    int calls = 0;
    for (uint64_t key = 1000; key < 1080; ++key) {
      Lines lines = linesOf(key, type);
      calls += lines.nan > 0;
      EXPECT_NEAR(lines.nan, lines.nan ? 500 : 0, 100) << toString(type);
      EXPECT_NEAR(lines.subnormal, lines.nan ? 0 : 750, 100) << toString(type);
    }
    EXPECT_EQ(calls, 30);
  }
}

/// Every key gives other bytes, and so does every place.
TEST(Pattern, DependsOnKeyAndPlace) {
  for (Pattern pattern :
       {Pattern::Canary, Pattern::Poison, Pattern::Undefined}) {
    std::set<uint64_t> all;
    for (uint64_t key = 0; key < 50; ++key)
      for (uint64_t i = 0; i < 50; ++i)
        all.insert(wordAt(pattern, key, i));
    EXPECT_GT(all.size(), 2450u);
  }
}

/// Any byte around a tensor, wherever it begins and ends.
TEST(Pattern, CanariesAreByteByByte) {
  SharedBuffer buffer;
  std::string error;
  ASSERT_TRUE(buffer.create(777, true, error)) << error;
  for (Placement placement : {Placement::Start, Placement::End}) {
    buffer.place(placement);
    buffer.poison(Pattern::Poison, 4711);
    EXPECT_TRUE(buffer.canariesAlive());
    EXPECT_TRUE(buffer.isPoisoned(0, 777));
    EXPECT_TRUE(buffer.isPoisoned(13, 100));
    char *begin = buffer.data() - buffer.fileOffset();
    for (size_t i = 0; i < buffer.fileSize(); ++i) {
      bool isInside = i >= buffer.fileOffset() && i < buffer.fileOffset() + 777;
      begin[i] ^= 1;
      EXPECT_EQ(buffer.canariesAlive(), isInside) << i;
      EXPECT_EQ(buffer.isPoisoned(0, 777), !isInside) << i;
      begin[i] ^= 1;
    }
    EXPECT_TRUE(buffer.canariesAlive());
    // Another call, other bytes.
    std::vector<char> before(begin, begin + buffer.fileSize());
    buffer.poison(Pattern::Poison, 4712);
    EXPECT_NE(std::memcmp(before.data(), begin, before.size()), 0);
  }
}

/// Two changes that a hash without a secret lets cancel: a bit of one word and
/// what it does to the next ones.
TEST(KeyedHash, ChangesDoNotCancel) {
  std::vector<uint64_t> words(4096);
  for (size_t i = 0; i < words.size(); ++i)
    words[i] = i * 0x9e3779b97f4a7c15u;
  auto bytes = [&] { return reinterpret_cast<const char *>(words.data()); };
  auto unkeyed = [&] { return hashBytes(bytes(), words.size() * 8); };
  KeyedHash hash(1), other(2);
  uint64_t plain = unkeyed(), first = hash.of(bytes(), words.size() * 8);
  EXPECT_NE(first, other.of(bytes(), words.size() * 8));
  EXPECT_EQ(first, hash.of(bytes(), words.size() * 8));
  // Lanes of four words; the last two changes are tried with both carries.
  bool cancelled = false;
  uint64_t top = uint64_t(1) << 63;
  for (uint64_t middle = 0; middle < 4096 && !cancelled; ++middle) {
    std::vector<uint64_t> saved = words;
    size_t at = 4 * (middle % 64);
    words[at] ^= top;
    words[at + 4] ^= top;
    words[at + 8] ^= ((uint64_t(2) << (middle / 64 % 8)) - 1) << 34;
    words[at + 12] ^= ((uint64_t(2) << (middle / 512)) - 1) << 5;
    cancelled = unkeyed() == plain;
    EXPECT_NE(hash.of(bytes(), words.size() * 8), first);
    words = saved;
  }
  EXPECT_TRUE(cancelled) << "the attack is no longer one";
  // Exchanged words, a shorter buffer, each byte.
  std::swap(words[0], words[1]);
  EXPECT_NE(hash.of(bytes(), words.size() * 8), first);
  std::swap(words[0], words[1]);
  std::swap(words[0], words[2048]);
  EXPECT_NE(hash.of(bytes(), words.size() * 8), first);
  std::swap(words[0], words[2048]);
  std::set<uint64_t> all;
  for (size_t length = 0; length < 200; ++length)
    all.insert(hash.of(bytes(), length));
  EXPECT_EQ(all.size(), 200u);
}
