//===- Measure.cpp - How wrong is an output -------------------------------===//
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
#include <cstring>
#include <limits>

using namespace fastk::worker;

static constexpr double infinity = std::numeric_limits<double>::infinity();

/// Rows shorter than this are taken together: the mean of a few elements is no
/// scale (three zeros of a ReLU would be one).
static constexpr int64_t shortestRow = 32;

Reader fastk::worker::readerOf(ElementType type, const void *data) {
  if (type == ElementType::F64)
    return [=](int64_t begin, int64_t end, double *out) {
      std::memcpy(out, static_cast<const double *>(data) + begin,
                  size_t(end - begin) * sizeof(double));
    };
  if (type == ElementType::F32)
    return [=](int64_t begin, int64_t end, double *out) {
      const auto *values = static_cast<const float *>(data);
      for (int64_t i = begin; i < end; ++i)
        out[i - begin] = values[i];
    };
  return [=](int64_t begin, int64_t end, double *out) {
    loadElements(type, data, begin, out, end - begin);
  };
}

int64_t fastk::worker::scaleRowOf(const Tensor &tensor) {
  int64_t row = 1;
  for (size_t i = tensor.shape.size(); i-- > 0 && row < shortestRow;)
    row *= tensor.shape[i];
  return row;
}

namespace {

struct Partial {
  Measure measure;
  ErrorSums squares;
};

} // namespace

/// Elements read at a time: two such pieces stay in the first-level caches.
static constexpr int64_t pieceLength = 1024;

/// Sums kept side by side, so that the compiler can use vectors.
static constexpr int64_t lanes = 8;

/// The sum of |r|; not finite where an element is not.
static double sumOfMagnitudes(const double *ref, int64_t count) {
  double sums[lanes] = {};
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    for (int64_t l = 0; l < lanes; ++l)
      sums[l] += std::fabs(ref[i + l]);
  double total = 0;
  for (double sum : sums)
    total += sum;
  for (; i < count; ++i)
    total += std::fabs(ref[i]);
  return total;
}

/// Adds a piece to \p sum. False, with \p sum as it was, where an element is
/// not finite or an error sets a new maximum: such pieces are rare, and are
/// looked at one element after the other.
static bool addUneventful(const double *out, const double *ref, int64_t count,
                          double mean, double tiny, Partial &sum) {
  double errors[lanes] = {}, squares[lanes] = {}, fourths[lanes] = {};
  double largest[lanes] = {};
  auto add = [&](int64_t i, int64_t l) {
    double magnitude = std::fabs(ref[i]);
    double error = std::fabs(out[i] - ref[i]);
    double square = magnitude * magnitude, scaled = square * 0x1p-64;
    errors[l] += error * error;
    squares[l] += square;
    fourths[l] += scaled * scaled;
    double normalized = error > tiny ? error / (magnitude + mean) : 0;
    largest[l] = normalized > largest[l] ? normalized : largest[l];
  };
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    for (int64_t l = 0; l < lanes; ++l)
      add(i + l, l);
  for (int64_t l = 0; i < count; ++i, ++l)
    add(i, l);
  double error = 0, square = 0, fourth = 0, most = 0;
  for (int64_t l = 0; l < lanes; ++l) {
    error += errors[l];
    square += squares[l];
    fourth += fourths[l];
    most = std::max(most, largest[l]);
  }
  // NaN and infinities of either side are in these sums.
  if (!std::isfinite(error) || !std::isfinite(square) || most > sum.measure.max)
    return false;
  sum.squares.errors += error;
  sum.squares.references += square;
  sum.squares.referenceFourths += fourth;
  return true;
}

void fastk::worker::setMeans(Measure &measure, const ErrorSums &squares,
                             ElementType type, int64_t elements) {
  double scaled = squares.references * 0x1p-64;
  if (squares.referenceFourths > 0 && std::isfinite(squares.referenceFourths))
    measure.carriers =
        std::max(1.0, scaled * scaled / squares.referenceFourths);
  double tiny = smallestNormal(type);
  if (squares.errors <= tiny * tiny * double(elements))
    measure.frobenius = 0;
  else
    measure.frobenius = squares.references > 0
                            ? std::sqrt(squares.errors / squares.references)
                            : infinity;
}

Measure fastk::worker::measure(const Tensor &tensor, const Reader &output,
                               const Reader &reference, int64_t from) {
  int64_t elements = tensor.elements() - from;
  int64_t row = scaleRowOf(tensor);
  // Denormals are as good as zero: 0 against 1e-42 is no error.
  double tiny = smallestNormal(tensor.type);
  std::vector<Partial> partials(static_cast<size_t>(maxParts()));
  parallelFor(elements, row, [&](int64_t part, int64_t begin, int64_t end) {
    Partial &sum = partials[size_t(part)];
    double out[pieceLength], ref[pieceLength];
    begin += from;
    end += from;
    for (int64_t first = begin; first < end; first += row) {
      int64_t last = std::min(first + row, end);
      double total = 0;
      int64_t finite = 0;
      for (int64_t at = first; at < last; at += pieceLength) {
        int64_t stop = std::min(at + pieceLength, last);
        reference(at, stop, ref);
        double piece = sumOfMagnitudes(ref, stop - at);
        if (std::isfinite(piece)) {
          total += piece;
          finite += stop - at;
          continue;
        }
        for (int64_t i = 0; i < stop - at; ++i)
          if (std::isfinite(ref[i])) {
            total += std::fabs(ref[i]);
            ++finite;
          }
      }
      double mean = finite ? total / double(finite) : 0;
      for (int64_t at = first; at < last; at += pieceLength) {
        int64_t stop = std::min(at + pieceLength, last);
        reference(at, stop, ref);
        output(at, stop, out);
        if (addUneventful(out, ref, stop - at, mean, tiny, sum))
          continue;
        for (int64_t i = 0; i < stop - at; ++i) {
          double y = out[i], r = ref[i];
          if (!std::isfinite(r) || !std::isfinite(y)) {
            bool alike =
                (std::isnan(r) && std::isnan(y)) || (std::isinf(r) && r == y);
            if (!alike && sum.measure.mismatches++ == 0)
              sum.measure.where = at + i;
            continue;
          }
          double error = std::fabs(y - r);
          sum.squares.errors += error * error;
          sum.squares.references += r * r;
          sum.squares.referenceFourths += (r * r) * 0x1p-64 * (r * r) * 0x1p-64;
          if (error <= tiny)
            continue;
          double scale = std::fabs(r) + mean;
          double normalized = scale > 0 ? error / scale : infinity;
          if (normalized > sum.measure.max) {
            sum.measure.max = normalized;
            if (sum.measure.mismatches == 0)
              sum.measure.where = at + i;
          }
        }
      }
    }
  });
  Measure result;
  ErrorSums squares;
  for (const Partial &sum : partials) {
    squares.errors += sum.squares.errors;
    squares.references += sum.squares.references;
    squares.referenceFourths += sum.squares.referenceFourths;
    if ((result.mismatches == 0 && sum.measure.mismatches > 0) ||
        (result.mismatches == 0 && sum.measure.max > result.max))
      result.where = sum.measure.where;
    result.mismatches += sum.measure.mismatches;
    result.max = std::max(result.max, sum.measure.max);
  }
  setMeans(result, squares, tensor.type, elements);
  return result;
}

Measure fastk::worker::compareExact(const Tensor &tensor, const void *output,
                                    const void *reference) {
  Measure result;
  int64_t size = byteSize(tensor.type);
  const char *y = static_cast<const char *>(output);
  const char *r = static_cast<const char *>(reference);
  std::vector<Measure> partials(static_cast<size_t>(maxParts()));
  parallelFor(tensor.elements(), 64,
              [&](int64_t part, int64_t begin, int64_t end) {
                Measure &own = partials[size_t(part)];
                if (std::memcmp(y + begin * size, r + begin * size,
                                size_t((end - begin) * size)) == 0)
                  return;
                for (int64_t i = begin; i < end; ++i)
                  if (std::memcmp(y + i * size, r + i * size, size_t(size)) &&
                      own.mismatches++ == 0)
                    own.where = i;
              });
  for (const Measure &own : partials) {
    if (result.mismatches == 0)
      result.where = own.where;
    result.mismatches += own.mismatches;
  }
  if (result.mismatches) {
    result.max = infinity;
    result.frobenius = infinity;
  }
  return result;
}

bool fastk::worker::fits(const Tensor &tensor, const Reader &reference) {
  double limit = largestValue(tensor.type);
  std::vector<char> bad(size_t(maxParts()), 0);
  parallelFor(tensor.elements(), 64,
              [&](int64_t part, int64_t begin, int64_t end) {
                double ref[pieceLength];
                for (int64_t at = begin; at < end; at += pieceLength) {
                  int64_t stop = std::min(at + pieceLength, end);
                  reference(at, stop, ref);
                  bool over = false;
                  for (int64_t i = 0; i < stop - at; ++i) {
                    double magnitude = std::fabs(ref[i]);
                    over |= magnitude > limit && magnitude < infinity;
                  }
                  if (over)
                    bad[size_t(part)] = 1;
                }
              });
  return std::count(bad.begin(), bad.end(), 1) == 0;
}
