//===- SizeClasses.cpp - Which dimensions belong together -----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SizeClasses.h"
#include "llvm/ADT/STLExtras.h"
#include <numeric>

using namespace llvm;
using namespace fastk;

/// Far more steps than a workload has classes; a bound.
static constexpr int kMaxSteps = 1000;

unsigned SizeClasses::add(int64_t size) {
  unsigned number = parents.size();
  parents.push_back(number);
  sizes.push_back(size);
  kept.push_back(false);
  return number;
}

unsigned SizeClasses::find(unsigned a) const {
  while (parents[a] != a)
    a = parents[a] = parents[parents[a]];
  return a;
}

void SizeClasses::unite(unsigned a, unsigned b) {
  a = find(a);
  b = find(b);
  if (a == b)
    return;
  if (sizes[a] != sizes[b]) {
    kept[a] = kept[b] = true;
    return;
  }
  parents[b] = a;
  kept[a] |= kept[b];
}

void SizeClasses::keep(unsigned a) { kept[find(a)] = true; }

void SizeClasses::bind(ArrayRef<std::pair<unsigned, int64_t>> terms) {
  sums.emplace_back(terms.begin(), terms.end());
}

void SizeClasses::bindProduct(unsigned whole, ArrayRef<unsigned> parts) {
  // What is 1 has no part in it, and cannot become less.
  SmallVector<unsigned> factors;
  for (unsigned part : parts)
    if (sizeOf(part) != 1)
      factors.push_back(part);
  if (factors.size() == 1)
    unite(whole, factors.front());
  else if (!factors.empty())
    products.emplace_back(whole, std::move(factors));
}

void SizeClasses::shrinkTo(int64_t limit) {
  for (int step = 0; step < kMaxSteps && shrinkOnce(limit); ++step)
    ;
}

/// Divides a row by what all its numbers have in common.
static void normalise(MutableArrayRef<int64_t> row) {
  int64_t common = 0;
  for (int64_t value : row)
    common = std::gcd(common, value);
  if (common > 1)
    for (int64_t &value : row)
      value /= common;
}

/// Makes `row` 0 at `column`, where `pivot` is not.
static void eliminate(MutableArrayRef<int64_t> row, ArrayRef<int64_t> pivot,
                      size_t column) {
  if (row[column] == 0)
    return;
  int64_t common = std::gcd(row[column], pivot[column]);
  int64_t own = pivot[column] / common, other = row[column] / common;
  for (auto [value, from] : zip_equal(row, pivot))
    value = value * own - from * other;
  normalise(row);
}

/// One step down for one class, with all that depends on it. False where there
/// is none left.
bool SizeClasses::shrinkOnce(int64_t limit) {
  SmallVector<bool> still(kept.begin(), kept.end());
  for (auto [at, size] : enumerate(sizes))
    still[at] = still[at] || size <= limit;
  // One factor of a product changes at a time: then it is a sum, too.
  SmallVector<SmallVector<std::pair<unsigned, int64_t>>> rows = sums;
  for (const auto &[whole, parts] : products) {
    unsigned leading = find(whole), largest = leading;
    for (unsigned part : parts)
      if (!still[find(part)] &&
          (largest == leading || sizes[find(part)] > sizes[largest]))
        largest = find(part);
    for (unsigned part : parts)
      if (find(part) != largest)
        still[find(part)] = true;
    if (largest == leading || count_if(parts, [&](unsigned part) {
                                return find(part) == largest;
                              }) > 1) {
      still[leading] = true;
      still[largest] = true;
      continue;
    }
    rows.push_back({{leading, 1}, {largest, -sizes[leading] / sizes[largest]}});
  }

  // The larger a class is, the more depends on others.
  SmallVector<unsigned> columns;
  for (unsigned at = 0, e = sizes.size(); at < e; ++at)
    if (find(at) == at && !still[at])
      columns.push_back(at);
  sort(columns, [&](unsigned a, unsigned b) {
    return std::pair(-sizes[a], a) < std::pair(-sizes[b], b);
  });
  SmallVector<SmallVector<int64_t>> matrix;
  for (const auto &row : rows) {
    SmallVector<int64_t> &numbers = matrix.emplace_back(columns.size(), 0);
    for (auto [number, factor] : row)
      if (const auto *at = find_if(
              columns, [&, n = number](unsigned c) { return c == find(n); });
          at != columns.end())
        numbers[at - columns.begin()] += factor;
  }
  SmallVector<int> pivotOf(columns.size(), -1);
  size_t done = 0;
  for (size_t column = 0; column < columns.size(); ++column) {
    size_t row = done;
    while (row < matrix.size() && matrix[row][column] == 0)
      ++row;
    if (row == matrix.size())
      continue;
    std::swap(matrix[done], matrix[row]);
    for (size_t other = 0; other < matrix.size(); ++other)
      if (other != done)
        eliminate(matrix[other], matrix[done], column);
    pivotOf[column] = int(done++);
  }
  for (size_t column = columns.size(); column-- > 0;) {
    if (pivotOf[column] >= 0)
      continue;
    // The others follow the free class: d = -factor / pivot times its own.
    int64_t scale = 1;
    for (size_t other = 0; other < columns.size(); ++other)
      if (pivotOf[other] >= 0 && matrix[pivotOf[other]][column] != 0) {
        ArrayRef<int64_t> row = matrix[pivotOf[other]];
        scale = std::lcm(scale, row[other] / std::gcd(row[other], row[column]));
      }
    Step step = {{columns[column], scale}};
    for (size_t other = 0; other < columns.size(); ++other)
      if (pivotOf[other] >= 0 && matrix[pivotOf[other]][column] != 0) {
        ArrayRef<int64_t> row = matrix[pivotOf[other]];
        step.emplace_back(columns[other], -row[column] * scale / row[other]);
      }
    if (apply(step, columns[column], limit))
      return true;
  }
  return false;
}

bool SizeClasses::apply(const Step &step, unsigned leading, int64_t limit) {
  int64_t most = INT64_MAX, unit = 1;
  for (auto [at, change] : step) {
    // What would grow is another way of shrinking something else.
    if (change < 0)
      return false;
    most = std::min(most, (sizes[at] - 1) / change);
    if (at == leading)
      unit = change;
  }
  int64_t times = (sizes[leading] - limit + unit - 1) / unit;
  // Tiles end where they ended: what is left of a multiple of 32 stays.
  int64_t period = std::min<int64_t>(32, limit / 2);
  if (period > 1)
    for (int64_t more = times; more < times + period; ++more)
      if (more * unit % period == 0) {
        times = more;
        break;
      }
  times = std::min(times, most);
  if (times <= 0)
    return false;
  for (auto [at, change] : step)
    sizes[at] -= times * change;
  return true;
}
