//===- CanonicalFormMaps.cpp - An order of indexing maps ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CanonicalFormMaps.h"
#include "llvm/Support/raw_ostream.h"
#include <limits>

using namespace mlir;

/// Number of the outermost loop in the expression.
static unsigned outermostLoop(AffineExpr expr) {
  unsigned loop = std::numeric_limits<unsigned>::max();
  expr.walk([&](AffineExpr part) {
    if (auto dim = dyn_cast<AffineDimExpr>(part))
      loop = std::min(loop, dim.getPosition());
  });
  return loop;
}

static std::string print(AffineExpr expr) {
  std::string text;
  llvm::raw_string_ostream os(text);
  expr.print(os);
  return text;
}

int fastk::canonical::compareMaps(AffineMap a, AffineMap b) {
  if (a == b)
    return 0;
  for (auto [x, y] : llvm::zip(a.getResults(), b.getResults())) {
    if (x == y)
      continue;
    unsigned loopX = outermostLoop(x), loopY = outermostLoop(y);
    if (loopX != loopY)
      return loopX < loopY ? -1 : 1;
    return print(x) < print(y) ? -1 : 1;
  }
  return a.getNumResults() > b.getNumResults() ? -1 : 1;
}
