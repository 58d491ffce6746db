//===- Arithmetic.cpp - C for the scalar ops of a body --------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/Emitter.h"

#include "Quotients.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using llvm::ArrayRef;

CValue Scope::literal(Attribute attribute, Type type) {
  auto elem = program.elemOf(type);
  if (!elem) {
    program.fail("a constant of an element type the catalog does not know");
    return {};
  }
  if (auto integer = dyn_cast<IntegerAttr>(attribute)) {
    if (*elem == Elem::I1)
      return {integer.getValue().isZero() ? "0" : "1", *elem, false};
    int64_t v = integer.getValue().getSExtValue();
    if (*elem != Elem::I64)
      return {"(" + std::to_string(v) + ")", *elem, false};
    if (v == INT64_MIN)
      return {"INT64_MIN", *elem, false};
    return {"INT64_C(" + std::to_string(v) + ")", *elem, false};
  }
  auto number = dyn_cast<FloatAttr>(attribute);
  if (!number) {
    program.fail("a constant that is not a number");
    return {};
  }
  double v = number.getValueAsDouble();
  Elem compute = computeElem(*elem);
  std::string text;
  if (v != v)
    text = "NAN";
  else if (std::isinf(v))
    text = v > 0 ? "INFINITY" : "(-INFINITY)";
  else {
    llvm::raw_string_ostream os(text);
    os << llvm::format("%a", v);
    if (compute == Elem::F32)
      os << "f";
    if (v < 0 || text[0] == '-')
      text = "(" + text + ")";
  }
  if (compute == Elem::F64 && !std::isfinite(v))
    text = "(double)" + text;
  return {text, compute, false};
}

CValue Scope::compareFloats(arith::CmpFPredicate predicate, CValue a,
                            CValue b) {
  bool vector = a.vector || b.vector;
  a = unify(a, vector);
  b = unify(b, vector);
  const std::string &x = a.text, &y = b.text;
  std::string text;
  bool negate = false;
  using P = arith::CmpFPredicate;
  switch (predicate) {
  case P::OEQ:
    text = x + " == " + y;
    break;
  case P::OGT:
    text = x + " > " + y;
    break;
  case P::OGE:
    text = x + " >= " + y;
    break;
  case P::OLT:
    text = x + " < " + y;
    break;
  case P::OLE:
    text = x + " <= " + y;
    break;
  case P::ONE:
    text = "(" + x + " < " + y + ") | (" + x + " > " + y + ")";
    break;
  case P::ORD:
    text = "(" + x + " == " + x + ") & (" + y + " == " + y + ")";
    break;
  case P::UEQ:
    text = "(" + x + " < " + y + ") | (" + x + " > " + y + ")";
    negate = true;
    break;
  case P::UGT:
    text = x + " <= " + y;
    negate = true;
    break;
  case P::UGE:
    text = x + " < " + y;
    negate = true;
    break;
  case P::ULT:
    text = x + " >= " + y;
    negate = true;
    break;
  case P::ULE:
    text = x + " > " + y;
    negate = true;
    break;
  case P::UNE:
    text = x + " != " + y;
    break;
  case P::UNO:
    text = "(" + x + " != " + x + ") | (" + y + " != " + y + ")";
    break;
  case P::AlwaysTrue:
    return {"1", Elem::I1, false};
  case P::AlwaysFalse:
    return {"0", Elem::I1, false};
  }
  if (negate)
    text = (vector ? "~(" : "!(") + text + ")";
  if (vector && a.elem == Elem::F64)
    text = "__builtin_convertvector(" + text + ", vi32)";
  return define(Elem::I1, vector, text);
}

/// A function of the C library, lane by lane when the operands are vectors.
CValue Scope::mapCall(const char *name, Elem elem, ArrayRef<CValue> operands) {
  bool vector =
      llvm::any_of(operands, [](const CValue &v) { return v.vector; });
  std::string args;
  for (const CValue &operand : operands)
    args += (args.empty() ? "" : ", ") + unify(operand, vector).text;
  if (!vector)
    return define(elem, false,
                  std::string(name) + (elem == Elem::F32 ? "f" : "") + "(" +
                      args + ")");
  return define(elem, true,
                program.helper("map" + std::to_string(operands.size()) + "_" +
                               name + "_" + suffixOf(elem)) +
                    "(" + args + ")");
}

std::string Scope::arg(const BodyOp &o, unsigned i) {
  return unify(o.in[i], o.vector).text;
}

CValue Scope::infix(const BodyOp &o, const char *symbol) {
  return define(o.elem, o.vector, arg(o, 0) + " " + symbol + " " + arg(o, 1));
}

CValue Scope::call1(const BodyOp &o, const char *vectorName, const char *libm) {
  if (o.elem == Elem::F32 && o.in[0].vector)
    return define(o.elem, true,
                  program.helper(std::string(vectorName) + "_f32") + "(" +
                      o.in[0].text + ")");
  return mapCall(libm, o.elem, o.in);
}

CValue Scope::builtin(const BodyOp &o, const char *name, const char *libm) {
  if (!o.vector)
    return mapCall(libm, o.elem, o.in);
  return define(o.elem, true,
                std::string("__builtin_elementwise_") + name + "(" + arg(o, 0) +
                    ")");
}

CValue Scope::product(const BodyOp &o, const std::string &a,
                      const std::string &b) {
  if (!roundsProducts)
    return define(o.elem, o.vector, a + " * " + b);
  std::string function =
      program.dialect == Program::Dialect::C
          ? program.helper((o.vector ? "product_" : "products_") +
                           std::string(suffixOf(o.elem)))
      : o.elem == Elem::F64 ? "__dmul_rn"
                            : "__fmul_rn";
  return define(o.elem, o.vector, function + "(" + a + ", " + b + ")");
}

/// Nothing: \p o is as exact as it is written.
std::optional<CValue> Scope::inexactQuotient(const BodyOp &o) {
  if (program.dialect != Program::Dialect::Cuda || o.elem != Elem::F32 ||
      !families::mayBeInexact(o.op))
    return std::nullopt;
  if (isa<math::RsqrtOp>(o.op))
    return mapCall("rsqrt", o.elem, o.in);
  Value divisor = o.op->getOperand(1);
  if (std::optional<float> inverse = families::inverseOf(divisor)) {
    auto type = Float32Type::get(o.op->getContext());
    CValue factor = literal(FloatAttr::get(type, *inverse), type);
    return product(o, arg(o, 0), factor.text);
  }
  return define(o.elem, false,
                "fk_divide(" + arg(o, 0) + ", " + arg(o, 1) + ")");
}

/// Of arithmetic on floats.
std::optional<CValue> Scope::floatOp(const BodyOp &o) {
  using Result = std::optional<CValue>;
  return llvm::TypeSwitch<Operation *, Result>(o.op)
      .Case<arith::AddFOp>([&](auto) { return infix(o, "+"); })
      .Case<arith::SubFOp>([&](auto) { return infix(o, "-"); })
      .Case<arith::MulFOp>(
          [&](auto) { return product(o, arg(o, 0), arg(o, 1)); })
      .Case<arith::DivFOp>([&](auto) {
        if (std::optional<CValue> quotient = inexactQuotient(o))
          return *quotient;
        // A division of many by one can be one division and products.
        if (o.in[0].vector && !o.in[1].vector) {
          program.sharedDivisors = true;
          if (program.reciprocals) {
            CValue inverse = define(o.elem, false, "1 / " + o.in[1].text);
            return product(o, arg(o, 0), splat(inverse).text);
          }
        }
        return infix(o, "/");
      })
      .Case<arith::NegFOp>(
          [&](auto) { return define(o.elem, o.vector, "-" + arg(o, 0)); })
      .Case<arith::MaximumFOp>(
          [&](auto) { return combine(CombinerKind::Max, o.in[0], o.in[1]); })
      .Case<arith::MinimumFOp>(
          [&](auto) { return combine(CombinerKind::Min, o.in[0], o.in[1]); })
      .Case<arith::MaxNumFOp>(
          [&](auto) { return combine(CombinerKind::MaxNum, o.in[0], o.in[1]); })
      .Case<arith::MinNumFOp>(
          [&](auto) { return combine(CombinerKind::MinNum, o.in[0], o.in[1]); })
      .Default([](auto) { return std::nullopt; });
}

/// Of arithmetic on integers.
std::optional<CValue> Scope::integerOp(const BodyOp &o) {
  using Result = std::optional<CValue>;
  return llvm::TypeSwitch<Operation *, Result>(o.op)
      .Case<arith::AddIOp, arith::SubIOp, arith::MulIOp>([&](Operation *op) {
        if (o.truth) {
          program.fail("arithmetic on o.truth values");
          return CValue();
        }
        return infix(o, isa<arith::AddIOp>(op)   ? "+"
                        : isa<arith::SubIOp>(op) ? "-"
                                                 : "*");
      })
      .Case<arith::AndIOp>([&](auto) { return infix(o, "&"); })
      .Case<arith::OrIOp>([&](auto) { return infix(o, "|"); })
      .Case<arith::XOrIOp>([&](auto) { return infix(o, "^"); })
      .Case<arith::MaxSIOp>(
          [&](auto) { return combine(CombinerKind::MaxS, o.in[0], o.in[1]); })
      .Case<arith::MinSIOp>(
          [&](auto) { return combine(CombinerKind::MinS, o.in[0], o.in[1]); })
      .Default([](auto) { return std::nullopt; });
}

/// Of comparisons and what they choose.
std::optional<CValue> Scope::choiceOp(const BodyOp &o) {
  using Result = std::optional<CValue>;
  return llvm::TypeSwitch<Operation *, Result>(o.op)
      .Case<arith::CmpFOp>([&](arith::CmpFOp cmp) {
        return compareFloats(cmp.getPredicate(), o.in[0], o.in[1]);
      })
      .Case<arith::CmpIOp>([&](arith::CmpIOp cmp) {
        const char *symbol = nullptr;
        using P = arith::CmpIPredicate;
        bool boolean = o.in[0].elem == Elem::I1;
        switch (cmp.getPredicate()) {
        case P::eq:
          symbol = "==";
          break;
        case P::ne:
          symbol = "!=";
          break;
        case P::slt:
          symbol = "<";
          break;
        case P::sle:
          symbol = "<=";
          break;
        case P::sgt:
          symbol = ">";
          break;
        case P::sge:
          symbol = ">=";
          break;
        default:
          break;
        }
        if (!symbol || (boolean && symbol[1] != '=') ||
            (boolean && symbol[0] != '=' && symbol[0] != '!')) {
          program.fail("an unsigned comparison");
          return CValue();
        }
        std::string text = arg(o, 0) + " " + symbol + " " + arg(o, 1);
        if (o.vector && o.in[0].elem != Elem::I32 && o.in[0].elem != Elem::I1)
          text = "__builtin_convertvector(" + text + ", vi32)";
        return define(Elem::I1, o.vector, text);
      })
      .Case<arith::SelectOp>([&](auto) {
        if (!o.vector)
          return define(o.truth ? Elem::I1 : o.elem, false,
                        o.in[0].text + " ? " + o.in[1].text + " : " +
                            o.in[2].text);
        if (!o.in[0].vector)
          return define(o.truth ? Elem::I1 : o.elem, true,
                        o.in[0].text + " ? " + arg(o, 1) + " : " + arg(o, 2));
        std::string mask = arg(o, 0);
        int64_t width = o.truth ? 4 : bytesOf(o.elem);
        if (width != 4)
          mask = "__builtin_convertvector(" + mask + ", vi" +
                 std::to_string(width * 8) + ")";
        return define(o.truth ? Elem::I1 : o.elem, true,
                      mask + " ? " + arg(o, 1) + " : " + arg(o, 2));
      })
      .Default([](auto) { return std::nullopt; });
}

/// Of conversions between element types.
std::optional<CValue> Scope::conversionOp(const BodyOp &o) {
  using Result = std::optional<CValue>;
  return llvm::TypeSwitch<Operation *, Result>(o.op)
      .Case<arith::ExtFOp, arith::TruncFOp, arith::SIToFPOp, arith::ExtSIOp,
            arith::IndexCastOp>([&](Operation *op) {
        if (o.in[0].elem == Elem::I1 &&
            isa<arith::SIToFPOp, arith::ExtSIOp, arith::IndexCastOp>(op)) {
          program.fail("a sign extension of a o.truth value");
          return CValue();
        }
        return convert(o.in[0], o.elem);
      })
      .Case<arith::UIToFPOp, arith::ExtUIOp>([&](auto) {
        if (o.in[0].elem != Elem::I1) {
          program.fail("an unsigned extension");
          return CValue();
        }
        return convert(o.in[0], o.elem);
      })
      .Case<arith::FPToSIOp, arith::TruncIOp>([&](auto) {
        if (o.truth) {
          program.fail("a truncation to a o.truth value");
          return CValue();
        }
        return convert(o.in[0], o.elem);
      })
      .Default([](auto) { return std::nullopt; });
}

/// Of functions that a library has.
std::optional<CValue> Scope::mathFunction(const BodyOp &o) {
  using Result = std::optional<CValue>;
  return llvm::TypeSwitch<Operation *, Result>(o.op)
      .Case<math::ExpOp>([&](auto) { return call1(o, "exp", "exp"); })
      .Case<math::ErfOp>([&](auto) { return call1(o, "erf", "erf"); })
      .Case<math::TanhOp>([&](auto) { return call1(o, "tanh", "tanh"); })
      .Case<math::LogOp>([&](auto) { return call1(o, "log", "log"); })
      .Case<math::Exp2Op>([&](auto) { return mapCall("exp2", o.elem, o.in); })
      .Case<math::ExpM1Op>([&](auto) { return mapCall("expm1", o.elem, o.in); })
      .Case<math::Log1pOp>([&](auto) { return mapCall("log1p", o.elem, o.in); })
      .Case<math::Log2Op>([&](auto) { return mapCall("log2", o.elem, o.in); })
      .Case<math::Log10Op>([&](auto) { return mapCall("log10", o.elem, o.in); })
      .Case<math::ErfcOp>([&](auto) { return mapCall("erfc", o.elem, o.in); })
      .Case<math::SinOp>([&](auto) { return mapCall("sin", o.elem, o.in); })
      .Case<math::CosOp>([&](auto) { return mapCall("cos", o.elem, o.in); })
      .Case<math::TanOp>([&](auto) { return mapCall("tan", o.elem, o.in); })
      .Case<math::AtanOp>([&](auto) { return mapCall("atan", o.elem, o.in); })
      .Case<math::Atan2Op>([&](auto) { return mapCall("atan2", o.elem, o.in); })
      .Case<math::SinhOp>([&](auto) { return mapCall("sinh", o.elem, o.in); })
      .Case<math::CoshOp>([&](auto) { return mapCall("cosh", o.elem, o.in); })
      .Case<math::CbrtOp>([&](auto) { return mapCall("cbrt", o.elem, o.in); })
      .Case<math::PowFOp>([&](auto) {
        std::optional<int64_t> exponent = smallExponent(o.op);
        return exponent ? power(o, *exponent) : mapCall("pow", o.elem, o.in);
      })
      .Default([](auto) { return std::nullopt; });
}

/// Of functions that are an instruction or a few.
std::optional<CValue> Scope::numberFunction(const BodyOp &o) {
  using Result = std::optional<CValue>;
  return llvm::TypeSwitch<Operation *, Result>(o.op)
      .Case<math::SqrtOp>([&](auto) { return builtin(o, "sqrt", "sqrt"); })
      .Case<math::AbsFOp>([&](auto) { return builtin(o, "abs", "fabs"); })
      .Case<math::FloorOp>([&](auto) { return builtin(o, "floor", "floor"); })
      .Case<math::CeilOp>([&](auto) { return builtin(o, "ceil", "ceil"); })
      .Case<math::TruncOp>([&](auto) { return builtin(o, "trunc", "trunc"); })
      .Case<math::RoundOp>([&](auto) { return builtin(o, "round", "round"); })
      .Case<math::RoundEvenOp>(
          [&](auto) { return builtin(o, "roundeven", "roundeven"); })
      .Case<math::CopySignOp>([&](auto) {
        if (!o.vector)
          return mapCall("copysign", o.elem, o.in);
        return define(o.elem, true,
                      "__builtin_elementwise_copysign(" + arg(o, 0) + ", " +
                          arg(o, 1) + ")");
      })
      .Case<math::RsqrtOp>([&](auto) {
        if (std::optional<CValue> inverse = inexactQuotient(o))
          return *inverse;
        CValue root = builtin(o, "sqrt", "sqrt");
        CValue one = unify(
            {o.elem == Elem::F64 ? "1.0" : "1.0f", o.elem, false}, o.vector);
        return define(o.elem, o.vector, one.text + " / " + root.text);
      })
      .Case<math::FmaOp>([&](auto) {
        return define(o.elem, o.vector,
                      arg(o, 0) + " * " + arg(o, 1) + " + " + arg(o, 2));
      })
      .Case<math::FPowIOp>([&](auto) {
        if (std::optional<int64_t> exponent = smallExponent(o.op))
          return power(o, *exponent);
        program.fail("a power that is not a small constant");
        return CValue();
      })
      .Default([](auto) { return std::nullopt; });
}

CValue Scope::scalarOp(Operation *op, ArrayRef<CValue> in) {
  auto maybeElem = program.elemOf(op->getResult(0).getType());
  bool isKnown =
      maybeElem && llvm::all_of(op->getOperandTypes(), [&](Type type) {
        return program.elemOf(type).has_value();
      });
  if (!isKnown) {
    program.fail("an element type the catalog does not know");
    return {};
  }
  bool vector = llvm::any_of(in, [](const CValue &v) { return v.vector; });
  // Truth values and integers that are stored as themselves.
  BodyOp o = {op, in, computeElem(*maybeElem), *maybeElem == Elem::I1, vector};
  for (auto emit :
       {&Scope::floatOp, &Scope::integerOp, &Scope::choiceOp,
        &Scope::conversionOp, &Scope::mathFunction, &Scope::numberFunction})
    if (std::optional<CValue> value = (this->*emit)(o))
      return *value;
  program.fail("the catalog has no C for " + op->getName().getStringRef());
  return {};
}
