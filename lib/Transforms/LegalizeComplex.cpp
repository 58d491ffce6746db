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
// (1987).
//
//===----------------------------------------------------------------------===//

#include "LegalizeScalars.h"
#include "mlir/Dialect/Complex/IR/Complex.h"

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
    return {b.mul(of<math::SinOp>(z.re), of<math::CoshOp>(z.im)),
            b.mul(of<math::CosOp>(z.re), of<math::SinhOp>(z.im))};
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
    Value scale = of<math::ExpOp>(z.re);
    return {b.mul(scale, of<math::CosOp>(z.im)),
            b.mul(scale, of<math::SinOp>(z.im))};
  }

  /// cos b - 1 = -2 sin^2(b/2).
  Parts expm1(Parts z) {
    Value half = of<math::SinOp>(b.mul(z.im, number(0.5)));
    Value less = b.mul(number(2), b.mul(half, half));
    return {b.sub(b.mul(of<math::ExpM1Op>(z.re), of<math::CosOp>(z.im)), less),
            b.mul(of<math::ExpOp>(z.re), of<math::SinOp>(z.im))};
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

  /// exp(w log z); 0 to the 0 is 1, to anything else 0.
  Parts pow(Parts z, Parts w) {
    Parts l = log(z);
    Parts power = exp({b.sub(b.mul(w.re, l.re), b.mul(w.im, l.im)),
                       b.add(b.mul(w.re, l.im), b.mul(w.im, l.re))});
    Value zero = number(0);
    Value ofZero = b.select(isZero(w), number(1), zero);
    Value base = isZero(z);
    return {b.select(base, ofZero, power.re), b.select(base, zero, power.im)};
  }

private:
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
  Value angle(Parts z) { return math::Atan2Op::create(b, z.im, z.re); }

  /// sinh x cosh x and `sinCos`, both over sinh^2 x + `cos`^2. Far from 0,
  /// where the squares overflow, sinh and cosh are e^|x| / 2 to the last bit.
  Parts ratio(Value x, Value cos, Value sinCos) {
    // e^-2x is below a quarter of the last bit.
    double far = element.isF64() ? 20 : 10;
    Value isFar = b.less(number(far), b.abs(x));
    Value near = b.select(isFar, number(far), x);
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
    return b.select(isNear, near, far);
  }

  FloatBuilder &b;
  Type element;
};
} // namespace

Value fastk::lowerComplexFunction(FloatBuilder &b, Operation *op,
                                  bool hasLibm) {
  if (!isa<complex::Expm1Op, complex::Log1pOp>(op) &&
      (hasLibm || !isa<complex::LogOp, complex::PowOp, complex::SinOp,
                       complex::TanOp, complex::TanhOp>(op)))
    return {};
  auto type = cast<ComplexType>(op->getResult(0).getType());
  auto parts = [&](Value z) {
    return Parts{complex::ReOp::create(b, z), complex::ImOp::create(b, z)};
  };
  Functions functions(b, type.getElementType());
  Parts z = parts(op->getOperand(0)), result;
  if (isa<complex::Expm1Op>(op))
    result = functions.expm1(z);
  else if (isa<complex::Log1pOp>(op))
    result = functions.log1p(z);
  else if (isa<complex::LogOp>(op))
    result = functions.log(z);
  else if (isa<complex::SinOp>(op))
    result = functions.sin(z);
  else if (isa<complex::TanOp>(op))
    result = functions.tan(z);
  else if (isa<complex::TanhOp>(op))
    result = functions.tanh(z);
  else
    result = functions.pow(z, parts(op->getOperand(1)));
  return complex::CreateOp::create(b, type, result.re, result.im);
}
