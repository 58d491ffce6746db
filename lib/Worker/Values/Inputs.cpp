//===- Inputs.cpp - Filling operands --------------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Inputs.h"
#include "OperandGenerator.h"
#include "Parallel.h"
#include <algorithm>
#include <cmath>
#include <cstring>

using namespace fastk::worker;

/// Elements made at a time: they stay in the first-level cache.
static constexpr int64_t pieceLength = 1024;

void fastk::worker::fillInput(const Job &job, size_t index, const Trial &trial,
                              void *data) {
  OperandGenerator source(job, index, trial);
  ElementType type = job.inputs[index].type;
  parallelFor(job.inputs[index].elements(), 64,
              [&](int64_t, int64_t begin, int64_t end) {
                double piece[pieceLength];
                for (int64_t at = begin; at < end; at += pieceLength) {
                  int64_t stop = std::min(at + pieceLength, end);
                  source.values(at, stop, piece);
                  storeElements(type, data, at, piece, stop - at);
                }
              });
}

void fastk::worker::perturb(const Tensor &tensor, uint64_t seed, double delta,
                            const void *from, void *to) {
  if (!isFloat(tensor.type)) {
    if (from != to)
      std::memcpy(to, from, size_t(tensor.bytes()));
    return;
  }
  double limit = largestValue(tensor.type);
  uint64_t stream = streamOf(seed);
  double up = 1 + delta, down = 1 - delta;
  // One draw gives the signs of 64 elements.
  parallelFor(tensor.elements(), 64, [&](int64_t, int64_t begin, int64_t end) {
    double piece[pieceLength];
    for (int64_t at = begin; at < end; at += pieceLength) {
      int64_t stop = std::min(at + pieceLength, end);
      loadElements(tensor.type, from, at, piece, stop - at);
      for (int64_t k = 0; k < stop - at; k += 64) {
        uint64_t signs = mix(stream + uint64_t((at + k) / 64));
        int64_t last = std::min<int64_t>(k + 64, stop - at);
        for (int64_t i = k; i < last; ++i, signs >>= 1) {
          double moved = piece[i] * (signs & 1 ? up : down);
          // Written so that NaN and infinities stay.
          if (std::fabs(moved) <= limit)
            piece[i] = moved;
        }
      }
      storeElements(tensor.type, to, at, piece, stop - at);
    }
  });
}

void fastk::worker::mutate(const Job &job, size_t index, const Trial &trial,
                           uint64_t seed, void *data) {
  const Tensor &tensor = job.inputs[index];
  Trial fresh = trial;
  fresh.seed = seed;
  OperandGenerator source(job, index, fresh);
  int64_t elements = tensor.elements();
  int64_t count = mutationsOf(elements);
  for (int64_t k = 0; k < count; ++k) {
    int64_t i =
        count == elements
            ? k
            : int64_t(bitsAt(seed ^ index, uint64_t(k)) % uint64_t(elements));
    storeElement(tensor.type, data, i, source.at(i));
  }
}

bool fastk::worker::roundToHalf(const Tensor &tensor, void *data) {
  if (tensor.type != ElementType::F32 && tensor.type != ElementType::F64)
    return false;
  parallelFor(tensor.elements(), 64, [&](int64_t, int64_t begin, int64_t end) {
    double piece[pieceLength];
    for (int64_t at = begin; at < end; at += pieceLength) {
      int64_t stop = std::min(at + pieceLength, end);
      loadElements(tensor.type, data, at, piece, stop - at);
      for (int64_t k = 0; k < stop - at; ++k)
        piece[k] = fromHalfBits(toHalfBits(piece[k]));
      storeElements(tensor.type, data, at, piece, stop - at);
    }
  });
  return true;
}
