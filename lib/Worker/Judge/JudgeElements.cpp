//===- JudgeElements.cpp - Errors as shares of each element's bound -------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Judge.h"
#include "Values/Parallel.h"
#include <algorithm>
#include <cmath>
#include <limits>

using namespace fastk::worker;

/// Elements read at a time: such pieces stay in the first-level caches.
static constexpr int64_t pieceLength = 1024;

namespace {

/// One row, element by element. What it finds is kept here and added once: its
/// members are registers of the loop.
struct RowJudge {
  const ErrorRule rule;
  const double mean;
  Shares own = {};
  double errors = 0, bounds = 0, fourths = 0;
  ErrorSums squares = {};

  void add(int64_t at, double y, double r, double condition) {
    ElementError e = judgeElement(rule, y, r, condition, mean);
    if (e.judged != Judged::Finite) {
      if (e.judged == Judged::Mismatch && own.mismatches++ == 0)
        own.where = at;
      ++(e.judged == Judged::Masked ? own.masked : own.judged);
      return;
    }
    ++own.judged;
    double error = std::fabs(y - r), size = std::fabs(r);
    squares.errors += error * error;
    squares.references += r * r;
    errors += e.error * e.error;
    double square = e.bound * e.bound;
    bounds += square;
    fourths += square * square;
    if (e.error > own.ieee * e.ieee && own.mismatches == 0)
      own.where = at;
    raiseShare(own.ieee, e.error, e.ieee);
    raiseShare(own.tf32, e.error, e.tf32);
    raiseShare(own.half, e.error, e.half);
    raiseShare(own.max, e.error, size + mean);
    // Of what is next to nothing no multiple says anything.
    if (size > rule.tiny) {
      double condition = e.bound / rule.ieee;
      raiseShare(own.relativeCondition, condition, size);
      raiseShare(own.rowCondition, condition, size + mean);
    }
  }
};

} // namespace

static void merge(Shares &into, const Shares &part) {
  if (into.mismatches == 0 && (part.mismatches > 0 || part.ieee > into.ieee))
    into.where = part.where;
  into.ieee = std::max(into.ieee, part.ieee);
  into.tf32 = std::max(into.tf32, part.tf32);
  into.max = std::max(into.max, part.max);
  into.half = std::max(into.half, part.half);
  into.masked += part.masked;
  into.judged += part.judged;
  into.mismatches += part.mismatches;
  into.relativeCondition =
      std::max(into.relativeCondition, part.relativeCondition);
  into.rowCondition = std::max(into.rowCondition, part.rowCondition);
}

/// The mean magnitude of the finite elements [first, last).
static double meanOf(const Reader &reference, int64_t first, int64_t last) {
  double total = 0, values[pieceLength];
  int64_t finite = 0;
  for (int64_t at = first; at < last; at += pieceLength) {
    int64_t stop = std::min(at + pieceLength, last);
    reference(at, stop, values);
    for (int64_t i = 0; i < stop - at; ++i)
      if (std::isfinite(values[i])) {
        total += std::fabs(values[i]);
        ++finite;
      }
  }
  return finite ? total / double(finite) : 0;
}

Shares fastk::worker::judgeElements(const Tensor &tensor, const Reader &output,
                                    const Reader &reference,
                                    const Reader &condition,
                                    const ErrorRule &rule, int64_t from) {
  int64_t row = scaleRowOf(tensor);
  std::vector<Shares> partials(static_cast<size_t>(maxParts()));
  std::vector<ErrorSums> squares(static_cast<size_t>(maxParts()));
  parallelFor(tensor.elements() - from, row,
              [&](int64_t part, int64_t begin, int64_t end) {
                Shares &sum = partials[size_t(part)];
                double y[pieceLength], r[pieceLength], k[pieceLength] = {};
                begin += from;
                end += from;
                for (int64_t first = begin; first < end; first += row) {
                  int64_t last = std::min(first + row, end);
                  RowJudge judge{rule, meanOf(reference, first, last)};
                  for (int64_t at = first; at < last; at += pieceLength) {
                    int64_t stop = std::min(at + pieceLength, last);
                    output(at, stop, y);
                    reference(at, stop, r);
                    if (!rule.relative)
                      condition(at, stop, k);
                    for (int64_t i = 0; i < stop - at; ++i)
                      judge.add(at + i, y[i], r[i], k[i]);
                  }
                  if (rule.rows)
                    judge.own.ieee = std::max(
                        judge.own.ieee,
                        rowShareOf(judge.errors, judge.bounds, judge.fourths));
                  merge(sum, judge.own);
                  squares[size_t(part)].errors += judge.squares.errors;
                  squares[size_t(part)].references += judge.squares.references;
                }
              });
  Shares result;
  for (const Shares &part : partials)
    merge(result, part);
  ErrorSums total;
  for (const ErrorSums &part : squares) {
    total.errors += part.errors;
    total.references += part.references;
  }
  Measure means;
  setMeans(means, total, tensor.type, tensor.elements() - from);
  result.frobenius = means.frobenius;
  return result;
}
