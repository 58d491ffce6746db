//===- Check.cpp - Results beside the oracle's ----------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Check.h"
#include "fastk/Analysis/NarrowestFloats.h"
#include "fastk/Protocol/ElementType.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace mlir;
using namespace fastk;

/// Bounds of --check, relative to the scale of the output (its root mean
/// square). They are for whole models, which add up the errors of their
/// workloads, and so much looser than what each winner was held to in its
/// evaluation (docs/validation.md). \p narrowest: what the result is computed
/// in; null for one that is no float.
static double checkLimit(Precision precision, FloatType narrowest) {
  if (!narrowest)
    return 0;
  unsigned digits =
      llvm::APFloat::semanticsPrecision(narrowest.getFloatSemantics());
  double roundoff = std::ldexp(1.0, -static_cast<int>(digits));
  // f16 and bf16 are rounded to whatever the class.
  double rounded = 8 * roundoff;
  switch (precision) {
  case Precision::ieee:
    // As many roundings in f64 as in f32.
    return rounded + (narrowest.isF64() ? std::ldexp(1e-4, 24 - 53) : 1e-4);
  case Precision::tf32:
    return rounded + 5e-3;
  case Precision::half:
    return rounded + 1e-2;
  }
  return 0;
}

/// Whether the oracle's value is beyond the result's type by more than the
/// result may be off: then the right result is an infinity.
static bool overflows(double want, double largest, double limit) {
  return std::abs(want) > largest * (1 + limit);
}

/// A result without one finite value proves nothing, whatever it is compared
/// with; right overflows are values.
static bool hasValue(const HostTensor &tensor) {
  for (int64_t i = 0, e = tensor.type().elements(); i < e; ++i)
    if (std::isfinite(tensor.load(i)))
      return true;
  return tensor.type().elements() == 0;
}

/// Largest error of `got` against `want`, relative to the root mean square of
/// what of `want` fits the type of `got`; infinity where one is NaN or infinite
/// and the other is not.
static double relativeError(const HostTensor &got, const HostTensor &want,
                            double limit) {
  double sum = 0, worst = 0, unit = 0;
  int64_t count = got.type().elements();
  if (got.type().shape != want.type().shape)
    return INFINITY;
  bool isFloat = worker::isFloat(got.type().element);
  double largest =
      isFloat ? worker::largestValue(got.type().element) : INFINITY;
  // Squares of large numbers overflow: they are taken of shares of the largest.
  for (int64_t i = 0; i < count; ++i)
    if (double b = std::abs(want.load(i));
        std::isfinite(b) && !overflows(b, largest, limit))
      unit = std::max(unit, b);
  if (unit == 0)
    unit = 1;
  for (int64_t i = 0; i < count; ++i) {
    double a = got.load(i), b = want.load(i);
    if (std::isnan(a) && std::isnan(b))
      continue;
    if (std::isfinite(b) && overflows(b, largest, limit))
      b = std::copysign(INFINITY, b);
    if (std::isfinite(b))
      sum += (b / unit) * (b / unit);
    // Just below the largest number a right result may have been rounded up.
    if (std::isinf(a) && std::isfinite(b) &&
        std::abs(b) * (1 + limit) >= largest &&
        std::signbit(a) == std::signbit(b))
      continue;
    if (!std::isfinite(a) || !std::isfinite(b)) {
      if (a != b)
        return INFINITY;
      continue;
    }
    worst = std::max(worst, std::abs(a / unit - b / unit));
  }
  double scale = std::sqrt(sum / std::max<int64_t>(count, 1));
  return scale > 0 ? worst / scale : worst;
}

int fastk::checkOutputs(func::FuncOp function,
                        const std::vector<HostTensor> &outputs,
                        const std::vector<HostTensor> &expected,
                        StringRef where, Precision precision) {
  SmallVector<FloatType> narrowest = narrowestFloats(function);
  bool right = true;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!hasValue(expected[i])) {
      right = false;
      llvm::outs() << "check: result " << i
                   << ": the oracle has no finite value: these inputs prove "
                      "nothing; give others with --inputs: WRONG\n";
      continue;
    }
    double limit = checkLimit(precision, narrowest[i]);
    double error = relativeError(outputs[i], expected[i], limit);
    bool good = error <= limit;
    right &= good;
    llvm::outs() << llvm::formatv(
        "check: result {0}: largest error {1:e2} of its scale against the f64 "
        "oracle{5}, limit {2:e2} ({3}): {4}\n",
        i, error, limit, stringifyPrecision(precision), good ? "ok" : "WRONG",
        where);
  }
  return right ? 0 : 2;
}
