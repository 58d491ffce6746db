//===- AttentionMacros.cpp - What headers of attention share --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionMacros.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using families::AttentionMacros;

void AttentionMacros::writeSizes() {
  os << "// Attention: weights of keys are a softmax over n of score(sum "
        "over d of Q[b, m, d] * K[b, n, d]);\n// out[b, m, e] = sum over n "
        "of weight[b, m, n] * V[b, n, e].\n";
  define("BATCH", attention.batchSize);
  define("M", attention.mSize);
  define("N", attention.nSize);
  define("D", attention.dSize);
  define("E", attention.eSize);
}

CValue AttentionMacros::resultOf(Program &of, Scope &scope) const {
  const bool isVector = scope.vectorVar.has_value();
  scope.onOpaque = [&of, isVector, this](Scope &, Value value,
                                         ArrayRef<Lin>) -> CValue {
    if (value.getDefiningOp() == attention.valuesOp)
      return {"acc", Elem::F32, isVector};
    if (value == attention.divisor)
      return {"1.0f", Elem::F32, false};
    of.fail("what surrounds the sums is not elementwise");
    return {};
  };
  return scope.at(attention.result, attention.index);
}
