//===- Source.h - The values of one operand ---------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_SOURCE_H
#define FASTK_LIB_WORKER_SOURCE_H

#include "Plan.h"
#include "Random.h"

namespace fastk::worker {

/// Draws the elements of one operand, any part of it, on any thread.
class Source {
public:
  Source(const Job &job, size_t index, const Case &trial);

  /// Elements [begin, end).
  void values(int64_t begin, int64_t end, double *out) const;

  double at(int64_t i) const;

private:
  /// Structural laws are for the data; parameters stay random, so that no
  /// kernel gets away with ignoring them.
  Law lawFor(const Job &job, size_t index) const;

  double integer(uint64_t bits) const;

  /// Into the operand's range: kept where it is in it, else drawn uniformly.
  double inside(double value, uint64_t bits) const;

  /// The law's values, before role and range. One loop per law.
  void draw(int64_t begin, int64_t end, double *out) const;

  const Tensor &tensor;
  const NormalTable &normal = NormalTable::get();
  Case trial;
  uint64_t seed;
  int64_t elements;
  Law law = Law::Normal;
  int64_t row = 1;
  int64_t sample = 1;
  int64_t spike = 0;
  double level = 1;
  double largest = 0;
  /// Of queries and keys: alpha^2 sqrt(D) = 1, D the length of a query.
  double alpha = 1;
  /// Its rows have factors; keys have none.
  bool isQuery = false;
  /// The op multiplies operands with each other: squares must fit.
  bool multiplies = true;
};

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_SOURCE_H
