//===- LegalizeComplex.cpp - Complex functions made of real ones ----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR's own expansions subtract exponentials and take logarithms of numbers
// near 1, so that results near 0 lose all their bits. The formulas here add
// only what has one sign, or what is small beside the other part of the result.
// They follow from Kahan, "Branch cuts for complex elementary functions"
// (1987). Powers with a small constant exponent are products, which may cancel
// in a part, not in the modulus.
//
// Signed zeros, infinities and NaN are those of C's Annex G for sqrt, exp, log,
// sin, cos, tan, tanh, abs and angle: a zero factor makes a zero even of what
// is infinite, and cos y of an infinite y is some number where it is a factor
// of infinity.
//
//===----------------------------------------------------------------------===//

#include "LegalizeScalars.h"
#include "fastk/Support/PowerBySquaring.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fastk;

namespace {
/// A complex number in its two parts.
struct Parts {
  Value re, im;
};

class Functions {
public:
  Functions(FloatBuilder &b, Type element) : b(b), element(element) {}

  Parts sin(Parts z) {
    Value isZero = equals(z.im, 0), isOpen = isNotFinite(z.re);
    // A factor of infinity or of 0.
    Value isAny = b.logicalAnd(isOpen, b.logicalOr(isInfinite(z.im), isZero));
    Value cos = b.select(isAny, number(1), of<math::CosOp>(z.re));
    Parts parts = scale({of<math::SinOp>(z.re), cos}, z.im);
    return {b.select(equals(z.re, 0), z.re, parts.re), parts.im};
  }

  Parts cos(Parts z) {
    Value isOpen = isNotFinite(z.re);
    Value cos = b.select(b.logicalAnd(isOpen, isInfinite(z.im)), number(1),
                         of<math::CosOp>(z.re));
    Value sin = b.select(b.logicalAnd(isOpen, equals(z.im, 0)), number(1),
                         of<math::SinOp>(z.re));
    Parts parts = scale({cos, sin}, z.im);
    Value zero = b.mul(z.re, math::CopySignOp::create(b, number(1), z.im));
    return {parts.re, b.negate(b.select(equals(z.re, 0), zero, parts.im))};
  }

  /// sin z / cos z, of which |cos z|^2 = cos^2 a + sinh^2 b.
  Parts tan(Parts z) {
    Parts turned = tanh({z.im, z.re});
    return {turned.im, turned.re};
  }

  Parts tanh(Parts z) {
    Value cos = of<math::CosOp>(z.im);
    Value sinCos = b.mul(of<math::SinOp>(z.im), cos);
    Value isAny = b.logicalAnd(isNotFinite(z.im), isInfinite(z.re));
    sinCos = b.select(isAny, number(0), sinCos);
    Parts parts = ratio(z.re, cos, sinCos);
    return {parts.re, b.select(equals(z.im, 0), z.im, parts.im)};
  }

  Parts exp(Parts z) {
    // Where e^a overflows it is taken in two steps: the product may not.
    Value isFar = b.less(number(element.isF64() ? 700 : 80), z.re);
    Value size =
        of<math::ExpOp>(b.select(isFar, b.mul(z.re, number(0.5)), z.re));
    auto grow = [&](Value part) {
      part = b.mul(part, size);
      return b.select(isFar, b.mul(part, size), part);
    };
    Value isOpen = isNotFinite(z.im);
    Value cos = b.select(b.logicalAnd(isOpen, isInfinite(z.re)), number(1),
                         of<math::CosOp>(z.im));
    Value isGone = equals(z.re, -std::numeric_limits<double>::infinity());
    Value sin = b.select(b.logicalAnd(isOpen, isGone), number(1),
                         of<math::SinOp>(z.im));
    return {grow(cos), b.select(equals(z.im, 0), z.im, grow(sin))};
  }

  /// Upstream's, but on the axes and at infinity.
  Parts sqrt(Parts z) {
    Value result = complex::SqrtOp::create(b, create(z));
    Parts inner{complex::ReOp::create(b, result),
                complex::ImOp::create(b, result)};
    Value infinity = number(std::numeric_limits<double>::infinity());
    auto withSign = [&](Value value) {
      return math::CopySignOp::create(b, value, z.im);
    };
    // Of a real number, infinite ones too: one part is 0, or NaN as the other.
    Value isReal = b.logicalOr(equals(z.im, 0), isInfinite(z.re));
    Value root = of<math::SqrtOp>(b.abs(z.re));
    Value none = b.select(isNaN(z.im), z.im, withSign(number(0)));
    Value isNegative = b.less(z.re, number(0));
    Parts real{b.select(isNegative, b.abs(none), root),
               b.select(isNegative, withSign(root), none)};
    real.im = b.select(isNaN(z.re), z.re, real.im);
    Value isBeyond = isInfinite(z.im);
    auto choose = [&](Value beyond, Value real, Value inner) {
      return b.select(isBeyond, beyond, b.select(isReal, real, inner));
    };
    return {choose(infinity, real.re, inner.re),
            choose(z.im, real.im, inner.im)};
  }

  /// Infinite where a part is, NaN or not the other.
  Value abs(Parts z) {
    Value isBeyond = b.logicalOr(isInfinite(z.re), isInfinite(z.im));
    return b.select(isBeyond, number(std::numeric_limits<double>::infinity()),
                    complex::AbsOp::create(b, create(z)));
  }

  /// Near 0 by cos b - 1 = -2 sin^2(b/2).
  Parts expm1(Parts z) {
    Value half = of<math::SinOp>(b.mul(z.im, number(0.5)));
    Value less = b.mul(number(2), b.mul(half, half));
    Value near =
        b.sub(b.mul(of<math::ExpM1Op>(z.re), of<math::CosOp>(z.im)), less);
    Parts far = exp(z);
    return {b.select(b.less(b.abs(z.re), number(1)), near,
                     b.sub(far.re, number(1))),
            far.im};
  }

  Parts log(Parts z) { return {logMagnitude(z), angle(z)}; }

  /// Near 0 from |1 + z|^2 - 1 = a (2 + a) + b^2.
  Parts log1p(Parts z) {
    Parts shifted{b.add(z.re, number(1)), z.im};
    Value excess =
        b.add(b.mul(z.re, b.add(z.re, number(2))), b.mul(z.im, z.im));
    Value isNear = b.logicalAnd(b.less(b.abs(z.re), number(0.5)),
                                b.less(b.abs(z.im), number(0.5)));
    return {b.select(isNear, b.mul(number(0.5), of<math::Log1pOp>(excess)),
                     logMagnitude(shifted)),
            angle(shifted)};
  }

  /// exp(w log z). Of z = 0 it is 1 where w is, 0 where Re w > 0, else NaN: a
  /// pole, or no limit at all.
  Parts pow(Parts z, Parts w) {
    Parts l = log(z);
    Parts power = exp({b.sub(b.mul(w.re, l.re), b.mul(w.im, l.im)),
                       b.add(b.mul(w.re, l.im), b.mul(w.im, l.re))});
    Value zero = number(0),
          nan = number(std::numeric_limits<double>::quiet_NaN());
    Value pole = b.select(b.less(zero, w.re), zero, nan);
    Value isOne = isZero(w), base = isZero(z);
    Parts ofZero{b.select(isOne, number(1), pole), b.select(isOne, zero, pole)};
    return {b.select(isOne, number(1), b.select(base, ofZero.re, power.re)),
            b.select(isOne, zero, b.select(base, ofZero.im, power.im))};
  }

  /// z^n by squaring, for n above 0: an angle that is multiplied loses what
  /// products keep.
  Parts positivePower(Parts z, int64_t n) {
    return powerBySquaring(z, n,
                           [&](Parts x, Parts y) { return multiply(x, y); });
  }

  /// For any small n: 1 where it is 0, a quotient where it is below.
  Parts powi(Parts z, int64_t n) {
    if (n == 0)
      return {number(1), number(0)};
    Parts power = positivePower(z, std::abs(n));
    if (n > 0)
      return power;
    Value one = create({number(1), number(0)});
    Value result = complex::DivOp::create(b, one, create(power));
    return {complex::ReOp::create(b, result), complex::ImOp::create(b, result)};
  }

private:
  Parts multiply(Parts x, Parts y) {
    return {b.sub(b.mul(x.re, y.re), b.mul(x.im, y.im)),
            b.add(b.mul(x.re, y.im), b.mul(x.im, y.re))};
  }
  template <typename Op>
  Value of(Value x) {
    return Op::create(b, x);
  }
  Value number(double value) { return b.constant(element, value); }
  Value create(Parts z) {
    return complex::CreateOp::create(b, ComplexType::get(element), z.re, z.im);
  }
  Value compare(arith::CmpFPredicate predicate, Value x, Value y) {
    return arith::CmpFOp::create(b, predicate, x, y);
  }
  Value equals(Value x, double value) {
    return compare(arith::CmpFPredicate::OEQ, x, number(value));
  }
  Value isNaN(Value x) { return compare(arith::CmpFPredicate::UNO, x, x); }
  Value isInfinite(Value x) {
    return equals(b.abs(x), std::numeric_limits<double>::infinity());
  }
  Value isNotFinite(Value x) {
    return compare(arith::CmpFPredicate::UEQ, b.abs(x),
                   number(std::numeric_limits<double>::infinity()));
  }
  Value isZero(Parts z) {
    return b.logicalAnd(equals(z.re, 0), equals(z.im, 0));
  }
  /// (p cosh x, q sinh x). Where those overflow they are e^|x| / 2, taken in
  /// two steps.
  Parts scale(Parts parts, Value x) {
    Value size = b.abs(x), half = of<math::ExpOp>(b.mul(size, number(0.5)));
    auto grow = [&](Value part) {
      return b.mul(b.mul(part, half), b.mul(half, number(0.5)));
    };
    Value isFar = b.less(number(far()), size);
    Value near = b.select(isFar, number(0), x);
    return {b.select(isFar, grow(parts.re),
                     b.mul(parts.re, of<math::CoshOp>(near))),
            b.select(isFar,
                     b.mul(grow(parts.im),
                           math::CopySignOp::create(b, number(1), x)),
                     b.mul(parts.im, of<math::SinhOp>(near)))};
  }
  /// Beyond it e^-2x is below a quarter of the last bit.
  double far() { return element.isF64() ? 20 : 10; }
  Value angle(Parts z) { return math::Atan2Op::create(b, z.im, z.re); }

  /// sinh x cosh x and `sinCos`, both over sinh^2 x + `cos`^2. Far from 0,
  /// where the squares overflow, sinh and cosh are e^|x| / 2 to the last bit.
  Parts ratio(Value x, Value cos, Value sinCos) {
    Value isFar = b.less(number(far()), b.abs(x));
    Value near = b.select(isFar, number(far()), x);
    Value sinh = of<math::SinhOp>(near), cosh = of<math::CoshOp>(near);
    Value size = b.add(b.mul(sinh, sinh), b.mul(cos, cos));
    Value ofFar = b.mul(b.mul(number(4), sinCos),
                        of<math::ExpOp>(b.mul(number(-2), b.abs(x))));
    Value one = math::CopySignOp::create(b, number(1), x);
    return {b.select(isFar, one, b.div(b.mul(sinh, cosh), size)),
            b.select(isFar, ofFar, b.div(sinCos, size))};
  }

  /// log |z|. With m the larger and n the smaller part, near |z| = 1 from
  /// |z|^2 - 1 = (m - 1) (m + 1) + n^2, else from log m + log(1 + (n/m)^2) / 2.
  Value logMagnitude(Parts z) {
    Value re = b.abs(z.re), im = b.abs(z.im);
    Value isSmaller = b.less(re, im);
    Value most = b.select(isSmaller, im, re);
    Value least = b.select(isSmaller, re, im);
    Value excess = b.add(b.mul(b.sub(most, number(1)), b.add(most, number(1))),
                         b.mul(least, least));
    Value half = number(0.5);
    Value near = b.mul(half, of<math::Log1pOp>(excess));
    // 0 / 0 of a zero, which has the logarithm -inf.
    Value zero = number(0);
    Value ratio = b.select(b.less(zero, most), b.div(least, most), zero);
    Value far = b.add(of<math::LogOp>(most),
                      b.mul(half, of<math::Log1pOp>(b.mul(ratio, ratio))));
    Value isNear = b.logicalAnd(b.less(half, most), b.less(most, number(2)));
    Value infinity = number(std::numeric_limits<double>::infinity());
    // Of the other part, too, where one is NaN.
    Value isBeyond = b.logicalOr(isInfinite(re), isInfinite(im));
    Value isUnordered = compare(arith::CmpFPredicate::UNO, re, im);
    Value nan = number(std::numeric_limits<double>::quiet_NaN());
    return b.select(isBeyond, infinity,
                    b.select(isUnordered, nan, b.select(isNear, near, far)));
  }

  FloatBuilder &b;
  Type element;
};
} // namespace

/// A constant exponent of at most 64, whatever its sign.
static std::optional<int64_t> smallExponentOf(complex::PowiOp op) {
  APInt exponent;
  if (!matchPattern(op.getRhs(), m_ConstantInt(&exponent)) ||
      exponent.getSignificantBits() > 8)
    return std::nullopt;
  int64_t value = exponent.getSExtValue();
  return std::abs(value) <= 64 ? std::optional(value) : std::nullopt;
}

/// The real number that an integer is, as a complex one.
static Value toComplex(FloatBuilder &b, Value integer, ComplexType type) {
  Type element = type.getElementType();
  Value zero = b.constant(element, 0.0);
  Value real = arith::SIToFPOp::create(b, element, integer);
  return complex::CreateOp::create(b, type, real, zero);
}

Value fastk::lowerComplexFunction(FloatBuilder &b, Operation *op,
                                  bool hasLibm) {
  std::optional<int64_t> exponent;
  Value power;
  if (auto powi = dyn_cast<complex::PowiOp>(op)) {
    exponent = smallExponentOf(powi);
    if (!exponent)
      power = toComplex(b, powi.getRhs(), cast<ComplexType>(powi.getType()));
    if (power && hasLibm)
      return complex::PowOp::create(b, powi.getLhs(), power);
  } else if (auto pow = dyn_cast<complex::PowOp>(op)) {
    power = pow.getRhs();
  }
  // C's library has no exp of MLIR's, nor the two that C lacks.
  if (hasLibm && !exponent &&
      !isa<complex::ExpOp, complex::Expm1Op, complex::Log1pOp>(op))
    return {};
  using Function = Parts (Functions::*)(Parts);
  auto function =
      llvm::TypeSwitch<Operation *, Function>(op)
          .Case<complex::CosOp>([](auto) { return &Functions::cos; })
          .Case<complex::ExpOp>([](auto) { return &Functions::exp; })
          .Case<complex::Expm1Op>([](auto) { return &Functions::expm1; })
          .Case<complex::LogOp>([](auto) { return &Functions::log; })
          .Case<complex::Log1pOp>([](auto) { return &Functions::log1p; })
          .Case<complex::SinOp>([](auto) { return &Functions::sin; })
          .Case<complex::SqrtOp>([](auto) { return &Functions::sqrt; })
          .Case<complex::TanOp>([](auto) { return &Functions::tan; })
          .Case<complex::TanhOp>([](auto) { return &Functions::tanh; })
          .Default(Function());
  auto isAbs = isa<complex::AbsOp>(op);
  if (!function && !exponent && !power && !isAbs)
    return {};
  auto type = cast<ComplexType>(op->getOperand(0).getType());
  // The squares of halves overflow early: they are computed in f32.
  Type element = type.getElementType();
  Type wide =
      element.getIntOrFloatBitWidth() == 16 ? Type(b.getF32Type()) : element;
  auto parts = [&](Value z) {
    return Parts{b.convert(complex::ReOp::create(b, z), wide),
                 b.convert(complex::ImOp::create(b, z), wide)};
  };
  Functions functions(b, wide);
  Parts z = parts(op->getOperand(0));
  if (isAbs)
    return b.convert(functions.abs(z), element);
  Parts result = function   ? (functions.*function)(z)
                 : exponent ? functions.powi(z, *exponent)
                            : functions.pow(z, parts(power));
  return complex::CreateOp::create(b, type, b.convert(result.re, element),
                                   b.convert(result.im, element));
}
