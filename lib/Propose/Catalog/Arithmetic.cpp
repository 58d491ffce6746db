//===- Arithmetic.cpp - C for the scalar ops of a body --------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using llvm::ArrayRef;

CValue Scope::literal(Attribute attribute, Type type) {
  auto elem = elemOf(type);
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

CValue Scope::scalarOp(Operation *op, ArrayRef<CValue> in) {
  Type resultType = op->getResult(0).getType();
  auto maybeElem = elemOf(resultType);
  if (!maybeElem) {
    program.fail("an element type the catalog does not know");
    return {};
  }
  for (Type type : op->getOperandTypes())
    if (!elemOf(type)) {
      program.fail("an element type the catalog does not know");
      return {};
    }
  Elem elem = computeElem(*maybeElem);
  bool vector = llvm::any_of(in, [](const CValue &v) { return v.vector; });
  auto arg = [&](unsigned i) { return unify(in[i], vector).text; };
  auto infix = [&](const char *symbol) {
    return define(elem, vector, arg(0) + " " + symbol + " " + arg(1));
  };
  auto call1 = [&](const char *vectorName, const char *libm) {
    if (elem == Elem::F32 && in[0].vector)
      return define(elem, true,
                    program.helper(std::string(vectorName) + "_f32") + "(" +
                        in[0].text + ")");
    return mapCall(libm, elem, in);
  };
  auto builtin = [&](const char *name, const char *libm) {
    if (!vector)
      return mapCall(libm, elem, in);
    return define(elem, true,
                  std::string("__builtin_elementwise_") + name + "(" + arg(0) +
                      ")");
  };
  // Truth values and integers that are stored as themselves.
  bool truth = *maybeElem == Elem::I1;

  return llvm::TypeSwitch<Operation *, CValue>(op)
      .Case<arith::AddFOp>([&](auto) { return infix("+"); })
      .Case<arith::SubFOp>([&](auto) { return infix("-"); })
      .Case<arith::MulFOp>([&](auto) { return infix("*"); })
      .Case<arith::DivFOp>([&](auto) {
        // A division of many by one can be one division and products.
        if (in[0].vector && !in[1].vector) {
          program.sharedDivisors = true;
          if (program.reciprocals) {
            CValue inverse = define(elem, false, "1 / " + in[1].text);
            return define(elem, true, arg(0) + " * " + splat(inverse).text);
          }
        }
        return infix("/");
      })
      .Case<arith::NegFOp>(
          [&](auto) { return define(elem, vector, "-" + arg(0)); })
      .Case<arith::MaximumFOp>(
          [&](auto) { return combine(CombinerKind::Max, in[0], in[1]); })
      .Case<arith::MinimumFOp>(
          [&](auto) { return combine(CombinerKind::Min, in[0], in[1]); })
      .Case<arith::MaxNumFOp>(
          [&](auto) { return combine(CombinerKind::MaxNum, in[0], in[1]); })
      .Case<arith::MinNumFOp>(
          [&](auto) { return combine(CombinerKind::MinNum, in[0], in[1]); })
      .Case<arith::AddIOp, arith::SubIOp, arith::MulIOp>([&](Operation *o) {
        if (truth) {
          program.fail("arithmetic on truth values");
          return CValue();
        }
        return infix(isa<arith::AddIOp>(o)   ? "+"
                     : isa<arith::SubIOp>(o) ? "-"
                                             : "*");
      })
      .Case<arith::AndIOp>([&](auto) { return infix("&"); })
      .Case<arith::OrIOp>([&](auto) { return infix("|"); })
      .Case<arith::XOrIOp>([&](auto) { return infix("^"); })
      .Case<arith::MaxSIOp>(
          [&](auto) { return combine(CombinerKind::MaxS, in[0], in[1]); })
      .Case<arith::MinSIOp>(
          [&](auto) { return combine(CombinerKind::MinS, in[0], in[1]); })
      .Case<arith::CmpFOp>([&](arith::CmpFOp cmp) {
        return compareFloats(cmp.getPredicate(), in[0], in[1]);
      })
      .Case<arith::CmpIOp>([&](arith::CmpIOp cmp) {
        const char *symbol = nullptr;
        using P = arith::CmpIPredicate;
        bool boolean = in[0].elem == Elem::I1;
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
        std::string text = arg(0) + " " + symbol + " " + arg(1);
        if (vector && in[0].elem != Elem::I32 && in[0].elem != Elem::I1)
          text = "__builtin_convertvector(" + text + ", vi32)";
        return define(Elem::I1, vector, text);
      })
      .Case<arith::SelectOp>([&](auto) {
        if (!vector)
          return define(truth ? Elem::I1 : elem, false,
                        in[0].text + " ? " + in[1].text + " : " + in[2].text);
        if (!in[0].vector)
          return define(truth ? Elem::I1 : elem, true,
                        in[0].text + " ? " + arg(1) + " : " + arg(2));
        std::string mask = arg(0);
        int64_t width = truth ? 4 : bytesOf(elem);
        if (width != 4)
          mask = "__builtin_convertvector(" + mask + ", vi" +
                 std::to_string(width * 8) + ")";
        return define(truth ? Elem::I1 : elem, true,
                      mask + " ? " + arg(1) + " : " + arg(2));
      })
      .Case<arith::ExtFOp, arith::TruncFOp, arith::SIToFPOp, arith::ExtSIOp,
            arith::IndexCastOp>([&](Operation *o) {
        if (in[0].elem == Elem::I1 &&
            isa<arith::SIToFPOp, arith::ExtSIOp, arith::IndexCastOp>(o)) {
          program.fail("a sign extension of a truth value");
          return CValue();
        }
        return convert(in[0], elem);
      })
      .Case<arith::UIToFPOp, arith::ExtUIOp>([&](auto) {
        if (in[0].elem != Elem::I1) {
          program.fail("an unsigned extension");
          return CValue();
        }
        return convert(in[0], elem);
      })
      .Case<arith::FPToSIOp, arith::TruncIOp>([&](auto) {
        if (truth) {
          program.fail("a truncation to a truth value");
          return CValue();
        }
        return convert(in[0], elem);
      })
      .Case<math::ExpOp>([&](auto) { return call1("exp", "exp"); })
      .Case<math::ErfOp>([&](auto) { return call1("erf", "erf"); })
      .Case<math::TanhOp>([&](auto) { return call1("tanh", "tanh"); })
      .Case<math::LogOp>([&](auto) { return call1("log", "log"); })
      .Case<math::Exp2Op>([&](auto) { return mapCall("exp2", elem, in); })
      .Case<math::ExpM1Op>([&](auto) { return mapCall("expm1", elem, in); })
      .Case<math::Log1pOp>([&](auto) { return mapCall("log1p", elem, in); })
      .Case<math::Log2Op>([&](auto) { return mapCall("log2", elem, in); })
      .Case<math::Log10Op>([&](auto) { return mapCall("log10", elem, in); })
      .Case<math::ErfcOp>([&](auto) { return mapCall("erfc", elem, in); })
      .Case<math::SinOp>([&](auto) { return mapCall("sin", elem, in); })
      .Case<math::CosOp>([&](auto) { return mapCall("cos", elem, in); })
      .Case<math::TanOp>([&](auto) { return mapCall("tan", elem, in); })
      .Case<math::AtanOp>([&](auto) { return mapCall("atan", elem, in); })
      .Case<math::Atan2Op>([&](auto) { return mapCall("atan2", elem, in); })
      .Case<math::SinhOp>([&](auto) { return mapCall("sinh", elem, in); })
      .Case<math::CoshOp>([&](auto) { return mapCall("cosh", elem, in); })
      .Case<math::CbrtOp>([&](auto) { return mapCall("cbrt", elem, in); })
      .Case<math::PowFOp>([&](auto) { return mapCall("pow", elem, in); })
      .Case<math::SqrtOp>([&](auto) { return builtin("sqrt", "sqrt"); })
      .Case<math::AbsFOp>([&](auto) { return builtin("abs", "fabs"); })
      .Case<math::FloorOp>([&](auto) { return builtin("floor", "floor"); })
      .Case<math::CeilOp>([&](auto) { return builtin("ceil", "ceil"); })
      .Case<math::TruncOp>([&](auto) { return builtin("trunc", "trunc"); })
      .Case<math::RoundOp>([&](auto) { return builtin("round", "round"); })
      .Case<math::RoundEvenOp>(
          [&](auto) { return builtin("roundeven", "roundeven"); })
      .Case<math::CopySignOp>([&](auto) {
        if (!vector)
          return mapCall("copysign", elem, in);
        return define(elem, true,
                      "__builtin_elementwise_copysign(" + arg(0) + ", " +
                          arg(1) + ")");
      })
      .Case<math::RsqrtOp>([&](auto) {
        CValue root = builtin("sqrt", "sqrt");
        CValue one =
            unify({elem == Elem::F64 ? "1.0" : "1.0f", elem, false}, vector);
        return define(elem, vector, one.text + " / " + root.text);
      })
      .Case<math::FmaOp>([&](auto) {
        return define(elem, vector, arg(0) + " * " + arg(1) + " + " + arg(2));
      })
      .Case<math::FPowIOp>([&](math::FPowIOp power) {
        auto exponent = power.getRhs().getDefiningOp<arith::ConstantOp>();
        auto value =
            exponent ? dyn_cast<IntegerAttr>(exponent.getValue()) : nullptr;
        int64_t n = value ? value.getInt() : 1000;
        if (n < -8 || n > 8) {
          program.fail("a power that is not a small constant");
          return CValue();
        }
        if (n == 0)
          return CValue{elem == Elem::F64 ? "1.0" : "1.0f", elem, false};
        CValue base = in[0], product = base;
        for (int64_t i = 1; i < std::abs(n); ++i)
          product = combine(CombinerKind::Mul, product, base);
        if (n < 0) {
          CValue one = unify({elem == Elem::F64 ? "1.0" : "1.0f", elem, false},
                             base.vector);
          product = define(elem, base.vector, one.text + " / " + product.text);
        }
        return product;
      })
      .Default([&](Operation *o) {
        program.fail("the catalog has no C for " + o->getName().getStringRef());
        return CValue();
      });
}
