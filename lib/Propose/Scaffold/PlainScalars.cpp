//===- PlainScalars.cpp - Scalar ops in a plain program -------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// f16 and bf16 are floats in registers: what is rounded is what is stored.
// Integers wrap around: C leaves that open for signed ones, so sums and
// products are those of unsigned ones.
//
//===----------------------------------------------------------------------===//

#include "PlainText.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::scaffold;

namespace {
/// One op, and its operands as text.
class ScalarOp {
public:
  ScalarOp(PlainLanguage &language, Operation *op, ArrayRef<Text> in,
           Elem result)
      : language(language), op(op), in(in), result(result),
        from(in.empty() ? result : *elemOf(op->getOperand(0).getType())),
        name(op->getName().getStringRef()) {}

  using Found = std::optional<Text>;

  Found write() {
    for (auto each : {&ScalarOp::floatArithmetic, &ScalarOp::mathFunction,
                      &ScalarOp::floatTest, &ScalarOp::integerArithmetic,
                      &ScalarOp::integerFunction, &ScalarOp::comparison,
                      &ScalarOp::conversion})
      if (Found text = (this->*each)())
        return text;
    return std::nullopt;
  }

private:
  bool isIndex() const { return op->getResult(0).getType().isIndex(); }
  std::string suffixed(StringRef function) const {
    return (function + (result == Elem::F64 ? "" : "f")).str();
  }
  Text asUnsigned(const Text &value) const {
    return converted(language.unsignedType(from), value);
  }
  Text asResult(const Text &value) const {
    return converted(language.registerType(result), value);
  }
  Text asBool(const Text &value) const {
    return binary({"(" + value.within(Unary) + " & 1)"}, "!=", {"0"}, Equality);
  }
  Text one() const { return {result == Elem::F64 ? "1.0" : "1.0f"}; }

  Found floatArithmetic();
  Found mathFunction();
  Found floatTest();
  Found integerArithmetic();
  Found wrapping(StringRef symbol, Binding binding);
  Found integerFunction();
  Found comparison();
  Text compareFloats(arith::CmpFPredicate predicate);
  Text compareIntegers(arith::CmpIPredicate predicate);
  Found conversion();
  Found integerPower();

  PlainLanguage &language;
  Operation *op;
  ArrayRef<Text> in;
  Elem result, from;
  StringRef name;
};
} // namespace

ScalarOp::Found ScalarOp::floatArithmetic() {
  if (isa<arith::AddFOp>(op))
    return binary(in[0], "+", in[1], Sum);
  if (isa<arith::SubFOp>(op))
    return binary(in[0], "-", in[1], Sum);
  if (isa<arith::MulFOp>(op))
    return binary(in[0], "*", in[1], Product);
  if (isa<arith::DivFOp>(op))
    return binary(in[0], "/", in[1], Product);
  if (isa<arith::NegFOp>(op))
    return Text{"-" + in[0].within(Primary), Unary};
  if (isa<arith::MaximumFOp>(op))
    return call(language.helper("maximum", result), in);
  if (isa<arith::MinimumFOp>(op))
    return call(language.helper("minimum", result), in);
  if (isa<math::RsqrtOp>(op))
    return binary(one(), "/", call(suffixed("sqrt"), in), Product);
  if (isa<math::ClampFOp>(op)) {
    // A NaN stays, for no comparison with it holds.
    Text atLeast = choice(binary(in[0], "<", in[1], Order), in[1], in[0]);
    return choice(binary(in[2], "<", in[0], Order), in[2],
                  {"(" + atLeast.str + ")"});
  }
  return std::nullopt;
}

/// Functions of C's library by the names of ops.
static StringRef libraryFunction(StringRef name) {
  if (name == "arith.maxnumf")
    return "fmax";
  if (name == "arith.minnumf")
    return "fmin";
  if (name == "arith.remf")
    return "fmod";
  if (!name.consume_front("math."))
    return "";
  return llvm::StringSwitch<StringRef>(name)
      .Cases({"acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh"}, name)
      .Cases({"cbrt", "ceil", "copysign", "cos", "cosh", "erf", "erfc"}, name)
      .Cases({"exp", "exp2", "expm1", "floor", "fma", "log", "log10"}, name)
      .Cases({"log1p", "log2", "round", "sin", "sinh", "sqrt", "tan"}, name)
      .Cases({"tanh", "trunc"}, name)
      .Case("absf", "fabs")
      .Case("powf", "pow")
      // To the nearest even number, as nobody changes the mode.
      .Case("roundeven", "rint")
      .Default("");
}

/// x^n of a float and an integer.
ScalarOp::Found ScalarOp::integerPower() {
  APInt exponent;
  if (matchPattern(op->getOperand(1), m_ConstantInt(&exponent)) &&
      (exponent == 2 || exponent == 3) && in[0].binding == Primary) {
    Text power = binary(in[0], "*", in[0], Product);
    return exponent == 2 ? power : binary(power, "*", in[0], Product);
  }
  return call(
      suffixed("pow"),
      {in[0], converted(result == Elem::F64 ? "double" : "float", in[1])});
}

ScalarOp::Found ScalarOp::mathFunction() {
  if (isa<math::FPowIOp>(op))
    return integerPower();
  StringRef function = libraryFunction(name);
  if (function.empty())
    return std::nullopt;
  return call(suffixed(function), in);
}

ScalarOp::Found ScalarOp::floatTest() {
  if (isa<math::IsNaNOp>(op))
    return binary(in[0], "!=", in[0], Equality);
  bool isNormal = isa<math::IsNormalOp>(op);
  if (!isa<math::IsInfOp, math::IsFiniteOp>(op) && !isNormal)
    return std::nullopt;
  Type type = op->getOperand(0).getType();
  const llvm::fltSemantics &semantics =
      cast<FloatType>(type).getFloatSemantics();
  auto limit = [&](const APFloat &value) {
    return language.number(FloatAttr::get(type, value), from);
  };
  Text size = call(from == Elem::F64 ? "fabs" : "fabsf", in);
  Text largest = limit(APFloat::getLargest(semantics));
  if (isa<math::IsInfOp>(op))
    return binary(size, ">", largest, Order);
  Text isFinite = binary(size, "<=", largest, Order);
  if (!isNormal)
    return isFinite;
  Text least = limit(APFloat::getSmallestNormalized(semantics));
  return binary(binary(size, ">=", least, Order), "&&", isFinite, Logic);
}

/// Of integers modulo the size of their type.
ScalarOp::Found ScalarOp::wrapping(StringRef symbol, Binding binding) {
  if (isIndex()) {
    Text text = binary(in[0], symbol, in[1], binding);
    if (in[0].constant && in[1].constant)
      return indexOf(symbol == "+"   ? *in[0].constant + *in[1].constant
                     : symbol == "-" ? *in[0].constant - *in[1].constant
                                     : *in[0].constant * *in[1].constant);
    return text;
  }
  if (result == Elem::I1)
    // Modulo 2: a sum is a difference.
    return symbol == "*" ? binary(in[0], "&&", in[1], Logic)
                         : binary(in[0], "!=", in[1], Equality);
  return asResult(
      binary(asUnsigned(in[0]), symbol, asUnsigned(in[1]), binding));
}

ScalarOp::Found ScalarOp::integerArithmetic() {
  if (isa<arith::AddIOp>(op))
    return wrapping("+", Sum);
  if (isa<arith::SubIOp>(op))
    return wrapping("-", Sum);
  if (isa<arith::MulIOp>(op))
    return wrapping("*", Product);
  bool isBool = result == Elem::I1;
  if (isa<arith::AndIOp>(op))
    return binary(in[0], isBool ? "&&" : "&", in[1], Logic);
  if (isa<arith::OrIOp>(op))
    return binary(in[0], isBool ? "||" : "|", in[1], Logic);
  if (isa<arith::XOrIOp>(op))
    return isBool ? binary(in[0], "!=", in[1], Equality)
                  : binary(in[0], "^", in[1], Logic);
  // As signed numbers truth values are 0 and -1.
  if (isBool && isa<arith::MaxSIOp, arith::MinUIOp>(op))
    return binary(in[0], "&&", in[1], Logic);
  if (isBool && isa<arith::MinSIOp, arith::MaxUIOp>(op))
    return binary(in[0], "||", in[1], Logic);
  if (isBool)
    return std::nullopt;
  if (isa<arith::DivSIOp>(op))
    return asResult({"(" + binary(in[0], "/", in[1], Product).str + ")"});
  if (isa<arith::RemSIOp>(op))
    return asResult({"(" + binary(in[0], "%", in[1], Product).str + ")"});
  if (isa<arith::DivUIOp>(op))
    return asResult(binary(asUnsigned(in[0]), "/", asUnsigned(in[1]), Product));
  if (isa<arith::RemUIOp>(op))
    return asResult(binary(asUnsigned(in[0]), "%", asUnsigned(in[1]), Product));
  if (isa<arith::ShLIOp>(op))
    return asResult(binary(asUnsigned(in[0]), "<<", in[1], Shift));
  if (isa<arith::ShRUIOp>(op))
    return asResult(binary(asUnsigned(in[0]), ">>", in[1], Shift));
  if (isa<arith::ShRSIOp>(op))
    return binary(in[0], ">>", in[1], Shift);
  return std::nullopt;
}

ScalarOp::Found ScalarOp::integerFunction() {
  if (isa<arith::MaxSIOp, arith::MinSIOp>(op))
    return choice(
        binary(in[0], isa<arith::MaxSIOp>(op) ? ">" : "<", in[1], Order), in[0],
        in[1]);
  if (isa<arith::MaxUIOp, arith::MinUIOp>(op))
    return choice(binary(asUnsigned(in[0]), isa<arith::MaxUIOp>(op) ? ">" : "<",
                         asUnsigned(in[1]), Order),
                  in[0], in[1]);
  if (result == Elem::I1 && isa<math::AbsIOp>(op))
    return in[0];
  StringRef function = llvm::StringSwitch<StringRef>(name)
                           .Case("arith.floordivsi", "floorDivide")
                           .Case("arith.ceildivsi", "ceilDivide")
                           .Case("arith.ceildivui", "ceilDivideUnsigned")
                           .Case("math.ctlz", "leadingZeros")
                           .Case("math.cttz", "trailingZeros")
                           .Case("math.ctpop", "bitsSet")
                           .Case("math.ipowi", "power")
                           .Default("");
  if (isa<math::AbsIOp>(op))
    return choice(binary(in[0], "<", {"0"}, Order),
                  asResult(binary({"0"}, "-", asUnsigned(in[0]), Sum)), in[0]);
  if (function.empty() || result == Elem::I1)
    return std::nullopt;
  return call(language.helper(function, result), in);
}

Text ScalarOp::compareFloats(arith::CmpFPredicate predicate) {
  using P = arith::CmpFPredicate;
  const Text &a = in[0], &b = in[1];
  auto isNaN = [&](StringRef symbol, StringRef join) {
    return binary(binary(a, symbol, a, Equality), join,
                  binary(b, symbol, b, Equality), Logic);
  };
  auto apart = [&] {
    return binary(binary(a, "<", b, Order), "||", binary(a, ">", b, Order),
                  Logic);
  };
  auto negated = [](const Text &text) {
    return Text{"!" + text.within(Primary), Unary};
  };
  switch (predicate) {
  case P::OEQ:
    return binary(a, "==", b, Equality);
  case P::OGT:
    return binary(a, ">", b, Order);
  case P::OGE:
    return binary(a, ">=", b, Order);
  case P::OLT:
    return binary(a, "<", b, Order);
  case P::OLE:
    return binary(a, "<=", b, Order);
  case P::ONE:
    return apart();
  case P::ORD:
    return isNaN("==", "&&");
  case P::UEQ:
    return negated(apart());
  case P::UGT:
    return negated(binary(a, "<=", b, Order));
  case P::UGE:
    return negated(binary(a, "<", b, Order));
  case P::ULT:
    return negated(binary(a, ">=", b, Order));
  case P::ULE:
    return negated(binary(a, ">", b, Order));
  case P::UNE:
    return binary(a, "!=", b, Equality);
  case P::UNO:
    return isNaN("!=", "||");
  case P::AlwaysTrue:
    return {"true"};
  case P::AlwaysFalse:
    return {"false"};
  }
  llvm_unreachable("all predicates are named above");
}

Text ScalarOp::compareIntegers(arith::CmpIPredicate predicate) {
  using P = arith::CmpIPredicate;
  if (predicate == P::eq || predicate == P::ne)
    return binary(in[0], predicate == P::eq ? "==" : "!=", in[1], Equality);
  bool isUnsigned =
      llvm::is_contained({P::ult, P::ule, P::ugt, P::uge}, predicate);
  StringRef symbol = llvm::StringSwitch<StringRef>(
                         arith::stringifyCmpIPredicate(predicate).drop_front())
                         .Case("lt", "<")
                         .Case("le", "<=")
                         .Case("gt", ">")
                         .Default(">=");
  if (from == Elem::I1)
    // The other way round where true is -1.
    return isUnsigned ? binary(in[0], symbol, in[1], Order)
                      : binary(in[1], symbol, in[0], Order);
  if (isUnsigned)
    return binary(asUnsigned(in[0]), symbol, asUnsigned(in[1]), Order);
  return binary(in[0], symbol, in[1], Order);
}

ScalarOp::Found ScalarOp::comparison() {
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    return compareFloats(compare.getPredicate());
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return compareIntegers(compare.getPredicate());
  if (isa<arith::SelectOp>(op))
    return choice(in[0], in[1], in[2]);
  return std::nullopt;
}

ScalarOp::Found ScalarOp::conversion() {
  Elem to = catalog::computeElem(result), of = catalog::computeElem(from);
  if (isa<arith::ExtFOp, arith::TruncFOp>(op))
    return to == of ? in[0] : asResult(in[0]);
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op) && to == of)
    return in[0];
  bool isSigned = isa<arith::ExtSIOp, arith::SIToFPOp, arith::IndexCastOp>(op);
  bool isUnsigned =
      isa<arith::ExtUIOp, arith::UIToFPOp, arith::IndexCastUIOp>(op);
  if (from == Elem::I1 && (isSigned || isUnsigned)) {
    Text number = asResult(in[0]);
    return isSigned ? Text{"-" + number.within(Unary), Unary} : number;
  }
  if (result == Elem::I1) {
    if (isa<arith::TruncIOp, arith::IndexCastOp, arith::IndexCastUIOp>(op))
      return asBool(in[0]);
    if (isa<arith::FPToSIOp, arith::FPToUIOp>(op))
      return asBool(converted(language.registerType(Elem::I32), in[0]));
    return std::nullopt;
  }
  if (isSigned || isa<arith::TruncIOp, arith::FPToSIOp>(op))
    return asResult(in[0]);
  if (isUnsigned)
    return asResult(asUnsigned(in[0]));
  if (isa<arith::FPToUIOp>(op))
    return asResult(converted(language.unsignedType(result), in[0]));
  return std::nullopt;
}

std::optional<SmallVector<Text, 2>>
scaffold::writeScalarOp(PlainLanguage &language, Operation *op,
                        ArrayRef<Text> operands) {
  if (op->getNumRegions() != 0)
    return std::nullopt;
  for (Type type : op->getOperandTypes())
    if (isa<ShapedType>(type) || !elemOf(type))
      return std::nullopt;
  SmallVector<Text, 2> results;
  if (auto both = dyn_cast<math::SincosOp>(op)) {
    StringRef suffix =
        *elemOf(both.getOperand().getType()) == Elem::F64 ? "" : "f";
    for (StringRef function : {"sin", "cos"})
      results.push_back(call((function + suffix).str(), operands));
    return results;
  }
  if (op->getNumResults() != 1)
    return std::nullopt;
  std::optional<Elem> elem = elemOf(op->getResult(0).getType());
  if (!elem || isa<ShapedType>(op->getResult(0).getType()))
    return std::nullopt;
  std::optional<Text> text = ScalarOp(language, op, operands, *elem).write();
  if (!text)
    return std::nullopt;
  results.push_back(std::move(*text));
  return results;
}
