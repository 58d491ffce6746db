//===- IndexSet.cpp - Sets of tensor and loop indices ---------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IndexSet.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <limits>

using namespace mlir;

namespace fastk {

DimSet DimSet::none(int64_t size) {
  DimSet set(size);
  set.bits.emplace(std::min(size, kTracked));
  return set;
}

void DimSet::insert(int64_t i) {
  if (bits && i >= 0 && i < static_cast<int64_t>(bits->size()))
    bits->set(i);
}

void DimSet::normalize() {
  if (bits && static_cast<int64_t>(bits->count()) == extent)
    bits.reset();
}

int64_t DimSet::countBetween(int64_t low, int64_t high) const {
  low = std::max<int64_t>(low, 0);
  high = std::min(high, extent - 1);
  if (low > high)
    return 0;
  if (!bits)
    return high - low + 1;
  high = std::min<int64_t>(high, static_cast<int64_t>(bits->size()) - 1);
  if (low > high)
    return 0;
  int64_t n = 0;
  for (int i = bits->find_first_in(low, high + 1); i >= 0;
       i = bits->find_first_in(i + 1, high + 1)) {
    ++n;
    if (i == high)
      break;
  }
  return n;
}

bool DimSet::isSubsetOf(const DimSet &other) const {
  if (other.isAll())
    return true;
  if (isAll())
    return other.count() == extent;
  return !bits->test(*other.bits); // No bit that the other lacks.
}

void DimSet::intersect(const DimSet &other) {
  if (other.isAll())
    return;
  if (isAll())
    bits = other.bits;
  else
    *bits &= *other.bits;
  normalize();
}

void DimSet::unite(const DimSet &other) {
  if (isAll())
    return;
  if (other.isAll())
    bits.reset();
  else
    *bits |= *other.bits;
  normalize();
}

SmallVector<int64_t> DimSet::members() const {
  SmallVector<int64_t> result;
  for (int64_t i = 0; i < std::min(extent, kTracked); ++i)
    if (contains(i))
      result.push_back(i);
  return result;
}

LinearForm never(unsigned dims) { return LinearForm::ofConstant(-1, dims); }

void addConstraints(Constraints &to, const Constraints &from) {
  for (const LinearForm &form : from)
    if (llvm::none_of(to, [&](const LinearForm &other) {
          return other.constant == form.constant &&
                 other.coefficients == form.coefficients;
        }))
      to.push_back(form);
}

namespace {

/// Constraints that share dimensions, and those dimensions, smallest last but
/// one: the last one is solved for, the others are enumerated.
struct Component {
  SmallVector<unsigned> dims;
  SmallVector<const LinearForm *> forms;
};

/// More points than this are not enumerated.
constexpr double kMaxPoints = 1 << 25;

} // namespace

static SmallVector<Component> components(const Box &box,
                                         const Constraints &constraints) {
  SmallVector<Component> result;
  for (const LinearForm &form : constraints) {
    Component merged;
    merged.forms.push_back(&form);
    for (unsigned d = 0; d < box.size(); ++d)
      if (form.coefficients[d])
        merged.dims.push_back(d);
    for (auto *it = result.begin(); it != result.end();) {
      bool shares = llvm::any_of(it->dims, [&](unsigned d) {
        return llvm::is_contained(merged.dims, d);
      });
      if (!shares) {
        ++it;
        continue;
      }
      for (unsigned d : it->dims)
        if (!llvm::is_contained(merged.dims, d))
          merged.dims.push_back(d);
      llvm::append_range(merged.forms, it->forms);
      it = result.erase(it);
    }
    result.push_back(std::move(merged));
  }
  for (Component &component : result)
    llvm::sort(component.dims, [&](unsigned a, unsigned b) {
      return box[a].size() < box[b].size();
    });
  return result;
}

/// Calls `visit(indices of all dims but the last, low, high)` with the interval
/// of the last dimension that the constraints leave.
template <typename Visitor>
static void visitIntervals(const Component &component, const Box &box,
                           Visitor visit) {
  unsigned outer = component.dims.size() - 1;
  unsigned last = component.dims.back();
  SmallVector<SmallVector<int64_t>> values;
  for (unsigned i = 0; i < outer; ++i)
    values.push_back(box[component.dims[i]].members());
  if (llvm::any_of(values, [](auto &v) { return v.empty(); }))
    return;
  SmallVector<size_t> at(outer, 0);
  SmallVector<int64_t> point(outer);
  while (true) {
    for (unsigned i = 0; i < outer; ++i)
      point[i] = values[i][at[i]];
    int64_t low = 0, high = box[last].size() - 1;
    for (const LinearForm *form : component.forms) {
      int64_t rest = form->constant;
      for (unsigned i = 0; i < outer; ++i)
        rest += form->coefficients[component.dims[i]] * point[i];
      int64_t c = form->coefficients[last];
      if (c > 0)
        low = std::max(low, llvm::divideCeilSigned(-rest, c));
      else if (c < 0)
        high = std::min(high, llvm::divideFloorSigned(rest, -c));
      else if (rest < 0)
        high = -1;
    }
    visit(ArrayRef<int64_t>(point), low, high);
    unsigned i = 0;
    while (i < outer && ++at[i] == values[i].size())
      at[i++] = 0;
    if (i == outer)
      return;
  }
}

static bool isTooLarge(const Component &component, const Box &box) {
  double points = 1;
  for (unsigned d : ArrayRef(component.dims).drop_back())
    points *= box[d].count();
  return points > kMaxPoints;
}

double countPoints(const Box &box, const Constraints &constraints,
                   const llvm::BitVector &dims) {
  llvm::BitVector rest = dims;
  double result = 1;
  for (const Component &component : components(box, constraints)) {
    if (component.dims.empty()) {
      if (component.forms.front()->constant < 0)
        return 0;
      continue;
    }
    SmallVector<unsigned> counted;
    for (unsigned d : component.dims)
      if (dims.test(d))
        counted.push_back(d);
    if (counted.empty())
      continue;
    for (unsigned d : counted)
      rest.reset(d);
    if (isTooLarge(component, box))
      return 0;
    if (counted.size() == component.dims.size()) {
      double points = 0;
      visitIntervals(
          component, box, [&](ArrayRef<int64_t>, int64_t lo, int64_t hi) {
            points += box[component.dims.back()].countBetween(lo, hi);
          });
      result *= points;
      continue;
    }
    // Part of the component's dimensions: the largest projection to one of them
    // is a lower bound, and exact when there is one.
    Box projected = box;
    project(projected, constraints);
    int64_t largest = 0;
    for (unsigned d : counted)
      largest = std::max(largest, projected[d].count());
    result *= largest;
  }
  for (int d : rest.set_bits())
    result *= box[d].count();
  return result;
}

void project(Box &box, const Constraints &constraints) {
  for (const Component &component : components(box, constraints)) {
    if (component.dims.empty()) {
      if (component.forms.front()->constant < 0)
        for (DimSet &set : box)
          set = DimSet::none(set.size());
      continue;
    }
    if (isTooLarge(component, box)) {
      // Not known: one point, so as never to say too much.
      for (unsigned d : component.dims) {
        DimSet one = DimSet::none(box[d].size());
        one.insert(0);
        box[d] = one;
      }
      continue;
    }
    unsigned last = component.dims.back();
    SmallVector<DimSet> seen;
    for (unsigned d : component.dims)
      seen.push_back(DimSet::none(box[d].size()));
    // Intervals of the last dimension overlap widely; mark each index once.
    int64_t minLow = std::numeric_limits<int64_t>::max(), maxHigh = -1;
    bool contiguous = true;
    SmallVector<std::pair<int64_t, int64_t>> intervals;
    visitIntervals(component, box,
                   [&](ArrayRef<int64_t> point, int64_t low, int64_t high) {
                     if (box[last].countBetween(low, high) == 0)
                       return;
                     for (auto [i, value] : llvm::enumerate(point))
                       seen[i].insert(value);
                     if (maxHigh >= 0 &&
                         (low > maxHigh + 1 || high < minLow - 1))
                       contiguous = false;
                     minLow = std::min(minLow, low);
                     maxHigh = std::max(maxHigh, high);
                     if (!contiguous || intervals.empty() ||
                         intervals.back() != std::pair(low, high))
                       intervals.emplace_back(low, high);
                   });
    if (contiguous) {
      for (int64_t i = minLow; i <= std::min(maxHigh, DimSet::kTracked); ++i)
        seen.back().insert(i);
    } else {
      for (auto [low, high] : intervals)
        for (int64_t i = low; i <= std::min(high, DimSet::kTracked); ++i)
          seen.back().insert(i);
    }
    for (auto [i, d] : llvm::enumerate(component.dims))
      box[d].intersect(seen[i]);
  }
}

} // namespace fastk
