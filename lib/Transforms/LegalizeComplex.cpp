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
//===----------------------------------------------------------------------===//

#include "LegalizeScalars.h"
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
    return scale({of<math::SinOp>(z.re), of<math::CosOp>(z.re)}, z.im);
  }

  Parts cos(Parts z) {
    Parts parts = scale({of<math::CosOp>(z.re), of<math::SinOp>(z.re)}, z.im);
    return {parts.re, b.negate(parts.im)};
  }

  /// sin z / cos z, of which |cos z|^2 = cos^2 a + sinh^2 b.
  Parts tan(Parts z) {
    Value sinCos = b.mul(of<math::SinOp>(z.re), of<math::CosOp>(z.re));
    Parts turned = ratio(z.im, of<math::CosOp>(z.re), sinCos);
    return {turned.im, turned.re};
  }

  Parts tanh(Parts z) {
    Value sinCos = b.mul(of<math::SinOp>(z.im), of<math::CosOp>(z.im));
    return ratio(z.re, of<math::CosOp>(z.im), sinCos);
  }

  Parts exp(Parts z) {
    Value number =
        complex::CreateOp::create(b, ComplexType::get(element), z.re, z.im);
    Value result = complex::ExpOp::create(b, number);
    return {complex::ReOp::create(b, result), complex::ImOp::create(b, result)};
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
    Value isNear = arith::AndIOp::create(b, b.less(b.abs(z.re), number(0.5)),
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
  Parts powi(Parts z, int64_t n) {
    return powerBySquaring(z, n,
                           [&](Parts x, Parts y) { return multiply(x, y); });
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
  Value isZero(Parts z) {
    Value zero = number(0);
    auto isZero = [&](Value part) -> Value {
      return arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, part, zero);
    };
    return arith::AndIOp::create(b, isZero(z.re), isZero(z.im));
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
    Value isNear =
        arith::AndIOp::create(b, b.less(half, most), b.less(most, number(2)));
    Value infinity = number(std::numeric_limits<double>::infinity());
    auto isInfinite = [&](Value part) -> Value {
      return arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, part,
                                   infinity);
    };
    // Of the other part, too, where one is NaN.
    Value isBeyond = arith::OrIOp::create(b, isInfinite(re), isInfinite(im));
    return b.select(isBeyond, infinity, b.select(isNear, near, far));
  }

  FloatBuilder &b;
  Type element;
};
} // namespace

/// A constant exponent of 1 to 64; 0 for any other.
static int64_t smallExponentOf(complex::PowiOp op) {
  APInt exponent;
  if (!matchPattern(op.getRhs(), m_ConstantInt(&exponent)) ||
      exponent.getSignificantBits() > 8)
    return 0;
  int64_t value = exponent.getSExtValue();
  return value > 0 && value <= 64 ? value : 0;
}

Value fastk::lowerComplexFunction(FloatBuilder &b, Operation *op,
                                  bool hasLibm) {
  auto power = dyn_cast<complex::PowiOp>(op);
  int64_t exponent = power ? smallExponentOf(power) : 0;
  if (hasLibm && !exponent && !isa<complex::Expm1Op, complex::Log1pOp>(op))
    return {};
  using Function = Parts (Functions::*)(Parts);
  auto function =
      llvm::TypeSwitch<Operation *, Function>(op)
          .Case<complex::CosOp>([](auto) { return &Functions::cos; })
          .Case<complex::Expm1Op>([](auto) { return &Functions::expm1; })
          .Case<complex::LogOp>([](auto) { return &Functions::log; })
          .Case<complex::Log1pOp>([](auto) { return &Functions::log1p; })
          .Case<complex::SinOp>([](auto) { return &Functions::sin; })
          .Case<complex::TanOp>([](auto) { return &Functions::tan; })
          .Case<complex::TanhOp>([](auto) { return &Functions::tanh; })
          .Default(Function());
  if (!function && !exponent && !isa<complex::PowOp>(op))
    return {};
  auto type = cast<ComplexType>(op->getResult(0).getType());
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
  Parts result = function   ? (functions.*function)(z)
                 : exponent ? functions.powi(z, exponent)
                            : functions.pow(z, parts(op->getOperand(1)));
  return complex::CreateOp::create(b, type, b.convert(result.re, element),
                                   b.convert(result.im, element));
}
