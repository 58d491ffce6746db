//===- Demand.cpp - What of a value is needed -----------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Demand.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include <algorithm>

using namespace mlir;

namespace fastk {

Demand Demand::all(ArrayRef<int64_t> shape) {
  Demand result;
  for (int64_t size : shape)
    result.box.push_back(DimSet::all(size));
  return result;
}

double Demand::points() const {
  llvm::BitVector dims(box.size(), true);
  return countPoints(box, constraints, dims) * fraction;
}

void mergeDemand(std::optional<Demand> &into, const Demand &use) {
  if (!into) {
    into = use;
    return;
  }
  // What one use may do without, another may need.
  double needed =
      std::max(into->points() * into->certain, use.points() * use.certain);
  llvm::scope_exit setCertain([&] {
    double points = into->points();
    into->certain = points > 0 ? std::min(1.0, needed / points) : 1;
  });
  bool intoSmaller = true, useSmaller = true;
  SmallVector<unsigned> different;
  for (unsigned d = 0; d < use.box.size(); ++d) {
    bool ab = into->box[d].isSubsetOf(use.box[d]);
    bool ba = use.box[d].isSubsetOf(into->box[d]);
    intoSmaller &= ab;
    useSmaller &= ba;
    if (!ab || !ba)
      different.push_back(d);
  }
  bool intoWhole = into->constraints.empty() && into->fraction == 1;
  bool useWhole = use.constraints.empty() && use.fraction == 1;
  if (useSmaller && intoWhole)
    return;
  if (intoSmaller && useWhole) {
    into = use;
    return;
  }
  if (different.size() == 1 && intoWhole && useWhole) {
    into->box[different.front()].unite(use.box[different.front()]);
    return;
  }
  if (use.points() > into->points())
    into = use;
}

DimSet image(const LinearForm &form, const Box &box, int64_t size) {
  SmallVector<unsigned> dims;
  for (unsigned d = 0; d < box.size(); ++d)
    if (form.coefficients[d])
      dims.push_back(d);
  if (dims.size() == 1 && form.coefficients[dims[0]] == 1 &&
      form.constant == 0 && box[dims[0]].isAll() && box[dims[0]].size() == size)
    return DimSet::all(size);
  DimSet values = DimSet::none(size);
  SmallVector<int64_t> reached = {form.constant};
  for (unsigned d : dims) {
    SmallVector<int64_t> next;
    for (int64_t from : reached)
      for (int64_t i : box[d].members())
        next.push_back(from + form.coefficients[d] * i);
    llvm::sort(next);
    next.erase(llvm::unique(next), next.end());
    reached = std::move(next);
  }
  for (int64_t value : reached)
    values.insert(value);
  values.normalize();
  return values;
}

} // namespace fastk
