//===- ResultWatch.cpp - Who writes results, and when ---------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ResultWatch.h"
#include "Values/Random.h"
#include <algorithm>
#include <cstring>

using namespace fastk::worker;

ResultWatch::ResultWatch(const std::vector<const SharedBuffer *> &buffers) {
  uint64_t seed = secretSeed();
  size_t total = 0;
  for (const SharedBuffer *buffer : buffers)
    total += (buffer->size() + lineBytes - 1) / lineBytes;
  size_t count = std::min(total, mostLines);
  for (const SharedBuffer *buffer : buffers) {
    size_t own = (buffer->size() + lineBytes - 1) / lineBytes;
    size_t share = count == total ? own : count * own / total + 1;
    if (own == 0)
      continue;
    for (size_t k = 0; k < share; ++k) {
      size_t line = count == total ? k : bitsAt(seed, lines.size()) % own;
      size_t offset = line * lineBytes;
      lines.push_back(
          {buffer, offset, std::min(lineBytes, buffer->size() - offset)});
    }
  }
  // The quick ones are the first: any of them.
  for (size_t i = lines.size(); i > 1; --i)
    std::swap(lines[i - 1], lines[bitsAt(seed ^ 1, i) % i]);
}

void ResultWatch::copy(size_t count, std::vector<unsigned char> &to) const {
  count = std::min(count, lines.size());
  to.resize(count * lineBytes);
  for (size_t k = 0; k < count; ++k)
    std::memcpy(to.data() + k * lineBytes,
                lines[k].buffer->data() + lines[k].offset, lines[k].bytes);
}

void ResultWatch::beforeCall() {
  outside = false;
  for (size_t k = 0; k < std::min(earlyLines, lines.size()); ++k)
    outside |= !lines[k].buffer->isPoisoned(lines[k].offset, lines[k].bytes);
}

void ResultWatch::atReturn() { copy(quickLines, first); }

void ResultWatch::whenStopped() {
  copy(lines.size(), last);
  outside |= !std::equal(first.begin(), first.end(), last.begin());
}

bool ResultWatch::changedSinceStop() const {
  if (last.empty())
    return false;
  std::vector<unsigned char> now = last;
  copy(lines.size(), now);
  return now != last;
}
