//===- OperandTripwires.cpp - Operands that are true in a call only -------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OperandTripwires.h"
#include "Values/Random.h"
#include <algorithm>
#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace fastk::worker;

OperandTripwires::OperandTripwires(std::vector<const SharedBuffer *> operands,
                                   bool flush)
    : operands(std::move(operands)), flush(flush) {}

void OperandTripwires::set() {
  reveal();
  uint64_t seed = secretSeed();
  for (const SharedBuffer *operand : operands) {
    // The worker's own mapping is writable, as for drawing values.
    char *data = operand->mutableData();
    size_t lines = operand->size() / lineBytes;
    // Of a single line there is no other to take values from.
    if (lines < 2)
      continue;
    size_t count = std::clamp<size_t>(lines / 16, 1, mostLines);
    for (size_t k = 0; k < count; ++k) {
      size_t line = bitsAt(seed, 2 * changed.size()) % lines;
      size_t other = bitsAt(seed, 2 * changed.size() + 1) % (lines - 1);
      other += other >= line;
      Line saved;
      saved.at = data + line * lineBytes;
      std::memcpy(saved.truth, saved.at, lineBytes);
      std::memcpy(saved.at, data + other * lineBytes, lineBytes);
      changed.push_back(saved);
    }
  }
}

void OperandTripwires::reveal() {
  for (size_t k = changed.size(); k-- > 0;)
    std::memcpy(changed[k].at, changed[k].truth, lineBytes);
#if defined(__x86_64__)
  if (flush && !changed.empty()) {
    for (const Line &line : changed)
      _mm_clflush(line.at);
    _mm_mfence();
  }
#endif
  changed.clear();
}
