//===- ApproximateMath.cpp - Elementary functions on the host -------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Conversion/Passes.h"
#include "fastk/Transforms/FloatBuilder.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fastk;

/// What MLIR has a polynomial for that is right to 5 units in the last place.
/// Not cbrt, which gives NaN at infinities, and asin, which is off by 8 near 1:
/// those are calls of C's library.
static bool hasGoodPolynomial(StringRef name) {
  static const llvm::StringSet<> names = {
      math::TanhOp::getOperationName(), math::LogOp::getOperationName(),
      math::Log2Op::getOperationName(), math::Log1pOp::getOperationName(),
      math::ErfOp::getOperationName(),  math::ErfcOp::getOperationName(),
      math::ExpOp::getOperationName(),  math::ExpM1Op::getOperationName(),
      math::AcosOp::getOperationName(), math::RsqrtOp::getOperationName()};
  return names.contains(name);
}

/// And the functions that have one here: MLIR's own sin and cos reduce no
/// argument, its atan is off by 17 units in the last place, atan2 gives NaN at
/// the origin. Of halves all are computed in f32.
static bool isWidened(StringRef name) {
  static const llvm::StringSet<> own = {
      math::SinOp::getOperationName(), math::CosOp::getOperationName(),
      math::AtanOp::getOperationName(), math::Atan2Op::getOperationName()};
  return own.contains(name) || hasGoodPolynomial(name);
}

/// c0 + x (c1 + x (c2 + ...)).
static Value evaluate(FloatBuilder &b, Value x, ArrayRef<double> coefficients) {
  Value sum = b.constant(x.getType(), coefficients.back());
  for (double coefficient : llvm::reverse(coefficients.drop_back()))
    sum = math::FmaOp::create(b, x, sum, b.constant(x.getType(), coefficient));
  return sum;
}

static Type withElements(Type type, Type element) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.clone(element);
  return element;
}

//===----------------------------------------------------------------------===//
// sin and cos
//===----------------------------------------------------------------------===//

namespace {
/// x = quarter pi/2 + rest, |rest| up to pi/4 and a little.
struct Turned {
  Value quarter, rest;
};
} // namespace

/// Beyond it the reduction below is not exact, and reduceFar's is taken.
static constexpr double kFar = 0x1p16;

/// For 0 <= x < kFar. The first of pi/2's three parts is subtracted exactly
/// (k has 16 bits, what is left is a multiple of 2^-24 below 1), and each
/// further one with one rounding.
static Turned reduceNear(FloatBuilder &b, Value x, Type integer) {
  Type type = x.getType();
  Value k = math::RoundEvenOp::create(
      b, b.mul(x, b.constant(type, 2 / llvm::numbers::pi)));
  Value rest = x, minusK = b.negate(k);
  for (double part : {0x1.921fb6p+0, -0x1.777a5cp-25, -0x1.ee59dap-50})
    rest = math::FmaOp::create(b, minusK, b.constant(type, part), rest);
  return {arith::FPToSIOp::create(b, integer, k), rest};
}

/// For x >= kFar: Payne and Hanek, "Radian reduction for trigonometric
/// functions" (1983). With x = m 2^e, only 96 bits of 2/pi matter to x 2/pi
/// modulo 4: those behind the bits whose product is a multiple of 4.
static Turned reduceFar(FloatBuilder &b, Value x, Type integer) {
  // 32 zeros, and the first 224 bits of 2/pi.
  static constexpr int64_t kBits[] = {0,          0xA2F9836E, 0x4E441529,
                                      0xFC2757D1, 0xF534DDC0, 0xDB629599,
                                      0x3C439041, 0xFE5163AB};
  constexpr int kWindows = 5;
  Type wide = withElements(integer, b.getI64Type());
  auto word = [&](int64_t value) { return b.constant(wide, value); };
  auto add = [&](Value lhs, Value rhs) -> Value {
    return arith::AddIOp::create(b, lhs, rhs);
  };
  auto times = [&](Value lhs, Value rhs) -> Value {
    return arith::MulIOp::create(b, lhs, rhs);
  };
  auto mask = [&](Value value, int64_t bits) -> Value {
    return arith::AndIOp::create(b, value, word(bits));
  };
  auto left = [&](Value value, Value count) -> Value {
    return arith::ShLIOp::create(b, value, count);
  };
  auto right = [&](Value value, Value count) -> Value {
    return arith::ShRUIOp::create(b, value, count);
  };
  Value bits =
      arith::ExtUIOp::create(b, wide, arith::BitcastOp::create(b, integer, x));
  Value m = arith::OrIOp::create(b, mask(bits, 0x7fffff), word(0x800000));
  // Of m 2^(biased - 150); the window begins behind e - 2 bits, 32 zeros more.
  Value start = add(right(bits, word(23)), word(-150 - 2 + 32));
  Value first = right(start, word(5)), offset = mask(start, 31);
  std::array<Value, 4> words;
  for (int i = 0; i < 4; ++i) {
    words[i] = word(kBits[i]);
    for (int window = 1; window < kWindows; ++window) {
      Value isIt = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, first,
                                         word(window));
      words[i] = b.select(isIt, word(kBits[i + window]), words[i]);
    }
  }
  Value rightOffset = arith::SubIOp::create(b, word(32), offset);
  std::array<Value, 3> window;
  for (int i = 0; i < 3; ++i) {
    Value pair =
        arith::OrIOp::create(b, left(words[i], word(32)), words[i + 1]);
    window[i] = mask(right(pair, rightOffset), 0xffffffff);
  }
  // x 2/pi modulo 4, in units of 2^-62.
  Value product =
      add(add(left(times(m, window[0]), word(32)), times(m, window[1])),
          right(times(m, window[2]), word(32)));
  Value quarter = right(add(product, word(int64_t(1) << 61)), word(62));
  Value rest = arith::SubIOp::create(b, product, left(quarter, word(62)));
  // In halves: few processors convert vectors of 64-bit integers.
  Type f64 = withElements(integer, b.getF64Type());
  auto convert = [&](Value half, bool isSigned) -> Value {
    half = arith::TruncIOp::create(b, integer, half);
    if (isSigned)
      return arith::SIToFPOp::create(b, f64, half);
    return arith::UIToFPOp::create(b, f64, half);
  };
  Value sum = b.add(
      b.mul(convert(right(rest, word(32)), true), b.constant(f64, 0x1p32)),
      convert(rest, false));
  Value radians = b.mul(sum, b.constant(f64, llvm::numbers::pi / 2 * 0x1p-62));
  return {arith::TruncIOp::create(b, integer, quarter),
          arith::TruncFOp::create(b, x.getType(), radians)};
}

/// Without a branch, so that loops of scalars become vectors, too. Polynomials
/// on [-pi/4, pi/4] from Cephes (Moshier, sinf.c).
static void expandSinOrCos(Operation *op) {
  FloatBuilder b(op->getLoc(), op);
  Value x = op->getOperand(0);
  Type type = x.getType(), integer = withElements(type, b.getI32Type());
  bool isSin = isa<math::SinOp>(op);
  Value size = b.abs(x), isNear = b.less(size, b.constant(type, kFar));
  Turned near = reduceNear(b, size, integer), far = reduceFar(b, size, integer);
  Value rest = b.select(isNear, near.rest, far.rest);
  Value quarter = b.select(isNear, near.quarter, far.quarter);
  if (!isSin)
    quarter =
        arith::AddIOp::create(b, quarter, b.constant(integer, int64_t(1)));
  Value square = b.mul(rest, rest);
  Value sin = math::FmaOp::create(
      b, b.mul(rest, square),
      evaluate(b, square,
               {-1.6666654611e-1, 8.3321608736e-3, -1.9515295891e-4}),
      rest);
  Value cos = evaluate(b, square,
                       {1, -0.5, 4.166664568298827e-2, -1.388731625493765e-3,
                        2.443315711809948e-5});
  Value zero = b.constant(integer, int64_t(0));
  auto hasBit = [&](int64_t bit) -> Value {
    return arith::CmpIOp::create(
        b, arith::CmpIPredicate::ne,
        arith::AndIOp::create(b, quarter, b.constant(integer, bit)), zero);
  };
  Value result = b.select(hasBit(1), cos, sin);
  result = b.select(hasBit(2), b.negate(result), result);
  if (isSin) {
    // Of -0, too.
    Value isNegative =
        b.less(math::CopySignOp::create(b, b.constant(type, 1.0), x),
               b.constant(type, 0.0));
    result = b.select(isNegative, b.negate(result), result);
  }
  // NaN of NaN and of infinities.
  Value isFinite =
      b.less(size, b.constant(type, APFloat::getInf(APFloat::IEEEsingle())));
  result = b.select(isFinite, result, b.sub(x, x));
  op->getResult(0).replaceAllUsesWith(result);
  op->erase();
}

//===----------------------------------------------------------------------===//
// atan and atan2
//===----------------------------------------------------------------------===//

/// atan(n / m) for 0 <= n <= m, m > 0. Beyond tan(pi/8) from
/// atan(q) = pi/4 + atan((q - 1) / (q + 1)); the polynomial is of Cephes
/// (atanf.c).
static Value atanOfRatio(FloatBuilder &b, Value n, Value m) {
  Type type = n.getType();
  auto number = [&](double value) { return b.constant(type, value); };
  Value q = b.div(n, m);
  Value isUpper = b.less(number(0.4142135623730950), q);
  Value x =
      b.select(isUpper, b.div(b.sub(q, number(1.0)), b.add(q, number(1.0))), q);
  Value square = b.mul(x, x);
  Value sum = evaluate(b, square,
                       {-3.33329491539e-1, 1.99777106478e-1, -1.38776856032e-1,
                        8.05374449538e-2});
  Value result = math::FmaOp::create(b, b.mul(x, square), sum, x);
  return b.add(b.select(isUpper, number(llvm::numbers::pi / 4), number(0.0)),
               result);
}

static void expandAtan(math::AtanOp op) {
  FloatBuilder b(op.getLoc(), op);
  Value x = op.getOperand(), one = b.constant(x.getType(), 1.0);
  Value size = b.abs(x), isLarge = b.less(one, size);
  // 1/x of a large x: of infinity, too.
  Value result = atanOfRatio(b, b.select(isLarge, b.div(one, size), size), one);
  Value turned = b.sub(b.constant(x.getType(), llvm::numbers::pi / 2), result);
  result = math::CopySignOp::create(b, b.select(isLarge, turned, result), x);
  op.getResult().replaceAllUsesWith(result);
  op.erase();
}

static void expandAtan2(math::Atan2Op op) {
  FloatBuilder b(op.getLoc(), op);
  Value y = op.getLhs(), x = op.getRhs();
  Type type = y.getType();
  auto number = [&](double value) { return b.constant(type, value); };
  Value height = b.abs(y), width = b.abs(x);
  Value isSteep = b.less(width, height);
  Value n = b.select(isSteep, width, height);
  Value m = b.select(isSteep, height, width);
  // Both zero: the angle 0 of the half plane. Both infinite: pi/4 of it.
  auto isEqual = [&](Value value, double to) -> Value {
    return arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, value,
                                 number(to));
  };
  double infinity = std::numeric_limits<double>::infinity();
  Value bothInfinite = isEqual(n, infinity);
  n = b.select(bothInfinite, number(1.0), n);
  m = b.select(bothInfinite, number(1.0), m);
  m = b.select(isEqual(m, 0), number(1.0), m);
  Value angle = atanOfRatio(b, n, m);
  angle = b.select(isSteep, b.sub(number(llvm::numbers::pi / 2), angle), angle);
  // By sign: x may be -0.
  Value isLeft =
      b.less(math::CopySignOp::create(b, number(1.0), x), number(0.0));
  angle = b.select(isLeft, b.sub(number(llvm::numbers::pi), angle), angle);
  // NaN of an operand that no comparison chose.
  Value isUnordered = arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, y, x);
  angle = b.select(isUnordered, b.add(y, x), angle);
  Value result = math::CopySignOp::create(b, angle, y);
  op.getResult().replaceAllUsesWith(result);
  op.erase();
}

//===----------------------------------------------------------------------===//
// Around MLIR's polynomials
//===----------------------------------------------------------------------===//

/// log x = log (2^25 x) - log 2^25 for denormals, of which the polynomial reads
/// the exponent only.
static void scaleDenormals(Operation *log) {
  FloatBuilder b(log->getLoc(), log);
  Value x = log->getOperand(0);
  Type type = x.getType();
  Value isDenormal = b.less(x, b.constant(type, 0x1p-126));
  log->setOperand(0,
                  b.select(isDenormal, b.mul(x, b.constant(type, 0x1p25)), x));
  b.setInsertionPointAfter(log);
  double lost = isa<math::Log2Op>(log) ? 25 : 25 * llvm::numbers::ln2;
  Value result = log->getResult(0);
  Value shifted = b.sub(result, b.constant(type, lost));
  Value chosen = b.select(isDenormal, shifted, result);
  result.replaceUsesWithIf(chosen, [&](OpOperand &use) {
    return use.getOwner() != chosen.getDefiningOp() &&
           use.getOwner() != shifted.getDefiningOp();
  });
}

/// erf is odd: of -0, too, where the polynomial gives 0.
static void keepSign(math::ErfOp erf) {
  OpBuilder b(erf);
  b.setInsertionPointAfter(erf);
  auto result = math::CopySignOp::create(b, erf.getLoc(), erf.getResult(),
                                         erf.getOperand());
  erf.getResult().replaceAllUsesExcept(result, result);
}

namespace fastk {
#define GEN_PASS_DEF_FASTKAPPROXIMATEMATHPASS
#define GEN_PASS_DEF_FASTKCALLEXACTFUNCTIONSPASS
#include "fastk/Conversion/Passes.h.inc"

namespace {
struct FastkApproximateMathPass
    : impl::FastkApproximateMathPassBase<FastkApproximateMathPass> {
  using Base::Base;
  void runOnOperation() override {
    RewritePatternSet wider(&getContext());
    populateMathF32ExpansionPatterns(wider, isWidened);
    if (failed(applyPatternsGreedily(getOperation(), std::move(wider))))
      return signalPassFailure();
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa<math::MathDialect>(op->getDialect()) &&
          op->getNumResults() == 1 &&
          getElementTypeOrSelf(op->getResult(0).getType()).isF32())
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      if (auto erf = dyn_cast<math::ErfOp>(op))
        keepSign(erf);
      else if (isa<math::LogOp, math::Log2Op>(op))
        scaleDenormals(op);
      else if (isa<math::SinOp, math::CosOp>(op))
        expandSinOrCos(op);
      else if (auto atan = dyn_cast<math::AtanOp>(op))
        expandAtan(atan);
      else if (auto atan2 = dyn_cast<math::Atan2Op>(op))
        expandAtan2(atan2);
    }
    RewritePatternSet patterns(&getContext());
    populateMathPolynomialApproximationPatterns(patterns, hasGoodPolynomial);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

struct FastkCallExactFunctionsPass
    : impl::FastkCallExactFunctionsPassBase<FastkCallExactFunctionsPass> {
  using Base::Base;
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateMathToLibmConversionPatterns(patterns);
    ConversionTarget target(getContext());
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    target.addIllegalOp<math::ExpM1Op, math::Log1pOp>();
    if (failed(applyPartialConversion(getOperation(), target,
                                      std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
} // namespace fastk
