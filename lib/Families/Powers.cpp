//===- Powers.cpp - Powers that need no library ---------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/Emitter.h"

#include "fastk/Support/PowerBySquaring.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;

std::optional<int64_t> catalog::smallExponent(Operation *op) {
  if (auto power = dyn_cast<math::FPowIOp>(op)) {
    APInt exponent;
    if (matchPattern(power.getRhs(), m_ConstantInt(&exponent)) &&
        exponent.sge(-8) && exponent.sle(8))
      return exponent.getSExtValue();
    return std::nullopt;
  }
  auto power = dyn_cast<math::PowFOp>(op);
  APFloat exponent(0.0);
  if (!power || !matchPattern(power.getRhs(), m_ConstantFloat(&exponent)))
    return std::nullopt;
  for (int64_t whole = power.getType().isF64() ? -1 : -2; whole <= 4; ++whole)
    if (exponent.isExactlyValue(double(whole)))
      return whole;
  return std::nullopt;
}

CValue Scope::power(const BodyOp &o, int64_t exponent) {
  CValue one = {o.elem == Elem::F64 ? "1.0" : "1.0f", o.elem, false};
  if (exponent == 0)
    return one;
  CValue power = powerBySquaring(
      o.in[0], std::abs(exponent), [&](const CValue &a, const CValue &b) {
        return product(o, unify(a, o.vector).text, unify(b, o.vector).text);
      });
  if (exponent > 0)
    return power;
  return define(o.elem, o.vector,
                unify(one, o.vector).text + " / " + power.text);
}
