//===- Emitter.cpp - C for the values of a canonical pattern --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

std::optional<Elem> catalog::elemOf(Type type) {
  if (type.isF32())
    return Elem::F32;
  if (type.isF64())
    return Elem::F64;
  if (type.isF16())
    return Elem::F16;
  if (type.isIndex() || type.isInteger(64))
    return Elem::I64;
  if (type.isInteger(32))
    return Elem::I32;
  if (type.isInteger(16))
    return Elem::I16;
  if (type.isInteger(8))
    return Elem::I8;
  if (type.isInteger(1))
    return Elem::I1;
  return std::nullopt;
}

int64_t catalog::bytesOf(Elem elem) {
  switch (elem) {
  case Elem::I1:
  case Elem::I8:
    return 1;
  case Elem::I16:
  case Elem::F16:
    return 2;
  case Elem::I32:
  case Elem::F32:
    return 4;
  case Elem::I64:
  case Elem::F64:
    return 8;
  }
  return 8;
}

bool catalog::isFloat(Elem elem) {
  return elem == Elem::F16 || elem == Elem::F32 || elem == Elem::F64;
}

Elem catalog::computeElem(Elem elem) {
  return elem == Elem::F16 ? Elem::F32 : elem;
}

const char *catalog::suffixOf(Elem elem) {
  switch (elem) {
  case Elem::I1:
    return "b8";
  case Elem::I8:
    return "i8";
  case Elem::I16:
    return "i16";
  case Elem::I32:
    return "i32";
  case Elem::I64:
    return "i64";
  case Elem::F16:
    return "f16";
  case Elem::F32:
    return "f32";
  case Elem::F64:
    return "f64";
  }
  return "";
}

const char *catalog::cTypeOf(Elem elem) {
  switch (elem) {
  case Elem::I1:
    return "uint8_t";
  case Elem::I8:
    return "int8_t";
  case Elem::I16:
    return "int16_t";
  case Elem::I32:
    return "int32_t";
  case Elem::I64:
    return "int64_t";
  case Elem::F16:
    return "_Float16";
  case Elem::F32:
    return "float";
  case Elem::F64:
    return "double";
  }
  return "";
}

/// Type of a value in registers. Truth values are 0/-1 in vectors of i32, 0/1
/// in scalars.
static std::string registerType(Elem elem, bool vector) {
  if (elem == Elem::I1)
    return vector ? "vi32" : "int32_t";
  elem = computeElem(elem);
  return vector ? std::string("v") + suffixOf(elem) : cTypeOf(elem);
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

Lin Lin::operator+(const Lin &other) const {
  Lin sum = *this;
  sum.constant += other.constant;
  for (auto [var, c] : other.terms) {
    int64_t &mine = sum.terms[var];
    mine += c;
    if (mine == 0)
      sum.terms.erase(var);
  }
  return sum;
}

Lin Lin::operator*(int64_t factor) const {
  Lin product;
  if (factor == 0)
    return product;
  product.constant = constant * factor;
  for (auto [var, c] : terms)
    product.terms[var] = c * factor;
  return product;
}

std::string Lin::key() const {
  std::string text = std::to_string(constant);
  for (auto [var, c] : terms)
    text += "+" + std::to_string(c) + "*v" + std::to_string(var);
  return text;
}

std::string Program::linText(const Lin &lin) const {
  std::string text;
  for (auto [var, c] : lin.terms) {
    if (!text.empty())
      text += " + ";
    text += c == 1 ? vars[var].name : std::to_string(c) + "L*" + vars[var].name;
  }
  if (text.empty())
    return std::to_string(lin.constant) + "L";
  if (lin.constant > 0)
    text += " + " + std::to_string(lin.constant);
  if (lin.constant < 0)
    text += " - " + std::to_string(-lin.constant);
  return text;
}

std::pair<int64_t, int64_t> Program::range(const Lin &lin) const {
  int64_t lo = lin.constant, hi = lin.constant;
  for (auto [var, c] : lin.terms)
    (c > 0 ? hi : lo) += c * (vars[var].extent - 1);
  return {lo, hi};
}

int64_t Program::reserve(int64_t bytes) {
  int64_t offset = workspaceBytes;
  workspaceBytes += (bytes + 63) / 64 * 64;
  return offset;
}

std::string Program::workspacePointer(Elem elem, int64_t offset) {
  return std::string("(") + cTypeOf(elem) + " *)((char *)workspace + " +
         std::to_string(offset) + ")";
}

std::string Program::helper(const std::string &name) {
  helpers.insert(name);
  return "fk_" + name;
}

std::optional<Lin> catalog::evaluateAffine(AffineExpr expr,
                                           ArrayRef<Lin> dims) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return Lin(constant.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return std::nullopt;
  auto lhs = evaluateAffine(binary.getLHS(), dims);
  auto rhs = evaluateAffine(binary.getRHS(), dims);
  if (!lhs || !rhs)
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::Add)
    return *lhs + *rhs;
  if (expr.getKind() == AffineExprKind::Mul) {
    if (rhs->terms.empty())
      return *lhs * rhs->constant;
    if (lhs->terms.empty())
      return *rhs * lhs->constant;
  }
  return std::nullopt;
}

/// Splits a linear index over dimensions; nullopt when a part is not provably
/// inside its dimension.
static std::optional<SmallVector<Lin>>
delinearize(const Program &program, Lin lin, ArrayRef<int64_t> shape) {
  SmallVector<Lin> result(shape.size());
  int64_t stride = 1;
  for (int64_t extent : shape)
    stride *= extent;
  for (size_t d = 0; d < shape.size(); ++d) {
    stride /= shape[d];
    if (d + 1 == shape.size()) {
      result[d] = lin;
      break;
    }
    if (shape[d] == 1)
      continue;
    Lin quotient, rest;
    for (auto [var, c] : lin.terms) {
      if (c % stride == 0)
        quotient.terms[var] = c / stride;
      else
        rest.terms[var] = c;
    }
    quotient.constant = lin.constant / stride;
    rest.constant = lin.constant % stride;
    auto [lo, hi] = program.range(rest);
    if (lo < 0 || hi >= stride)
      return std::nullopt;
    result[d] = quotient;
    lin = rest;
  }
  for (size_t d = 0; d < shape.size(); ++d) {
    auto [lo, hi] = program.range(result[d]);
    if (lo < 0 || hi >= shape[d])
      return std::nullopt;
  }
  return result;
}

std::optional<SmallVector<Lin>> catalog::reshapeIndex(const Program &program,
                                                      Operation *reshape,
                                                      ArrayRef<Lin> index) {
  SmallVector<Lin> source;
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(reshape)) {
    auto shape = expand.getResultType().getShape();
    for (const auto &group : expand.getReassociationIndices()) {
      Lin sum;
      for (int64_t d : group)
        sum = sum * shape[d] + index[d];
      source.push_back(sum);
    }
    return source;
  }
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(reshape)) {
    auto shape = collapse.getSrcType().getShape();
    source.resize(shape.size());
    auto groups = collapse.getReassociationIndices();
    for (size_t g = 0; g < groups.size(); ++g) {
      SmallVector<int64_t> extents;
      for (int64_t d : groups[g])
        extents.push_back(shape[d]);
      auto parts = delinearize(program, index[g], extents);
      if (!parts)
        return std::nullopt;
      for (size_t i = 0; i < groups[g].size(); ++i)
        source[groups[g][i]] = (*parts)[i];
    }
    return source;
  }
  return std::nullopt;
}

std::optional<SmallVector<Lin>>
catalog::loopsAt(linalg::GenericOp op, unsigned result, ArrayRef<Lin> index) {
  AffineMap map = op.getIndexingMapsArray()[op.getNumDpsInputs() + result];
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  SmallVector<Lin> loops(ranges.size());
  llvm::SmallBitVector known(ranges.size());
  for (auto [i, expr] : llvm::enumerate(map.getResults())) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
      if (known[dim.getPosition()])
        return std::nullopt;
      known.set(dim.getPosition());
      loops[dim.getPosition()] = index[i];
    } else if (!isa<AffineConstantExpr>(expr)) {
      return std::nullopt;
    }
  }
  auto iterators = op.getIteratorTypesArray();
  for (size_t d = 0; d < ranges.size(); ++d)
    if (!known[d] && iterators[d] == utils::IteratorType::parallel &&
        ranges[d] != 1)
      return std::nullopt;
  return loops;
}

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

bool catalog::isElementwise(linalg::GenericOp op) {
  return op.getNumReductionLoops() == 0;
}

Value catalog::stripReshapes(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
      value = expand.getSrc();
    else if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
      value = collapse.getSrc();
    else if (auto pad = dyn_cast<tensor::PadOp>(op);
             pad && pad.hasZeroLowPad() && pad.hasZeroHighPad())
      value = pad.getSource();
    else
      break;
  }
  return value;
}

static std::optional<CombinerKind> combinerOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<CombinerKind>>(op)
      .Case<arith::AddFOp, arith::AddIOp>(
          [](auto) { return CombinerKind::Add; })
      .Case<arith::MulFOp, arith::MulIOp>(
          [](auto) { return CombinerKind::Mul; })
      .Case<arith::MaximumFOp>([](auto) { return CombinerKind::Max; })
      .Case<arith::MinimumFOp>([](auto) { return CombinerKind::Min; })
      .Case<arith::MaxNumFOp>([](auto) { return CombinerKind::MaxNum; })
      .Case<arith::MinNumFOp>([](auto) { return CombinerKind::MinNum; })
      .Case<arith::AndIOp>([](auto) { return CombinerKind::And; })
      .Case<arith::OrIOp>([](auto) { return CombinerKind::Or; })
      .Case<arith::MaxSIOp>([](auto) { return CombinerKind::MaxS; })
      .Case<arith::MinSIOp>([](auto) { return CombinerKind::MinS; })
      .Case<arith::MaxUIOp>([](auto) { return CombinerKind::MaxU; })
      .Case<arith::MinUIOp>([](auto) { return CombinerKind::MinU; })
      .Default([](auto) { return std::nullopt; });
}

/// True when `value` does not depend on an accumulator of the generic.
static bool avoidsAccumulators(linalg::GenericOp op, Value value) {
  if (auto arg = dyn_cast<BlockArgument>(value))
    return arg.getOwner() != op.getBody() ||
           arg.getArgNumber() < op.getNumDpsInputs();
  Operation *def = value.getDefiningOp();
  if (!def || def->getBlock() != op.getBody())
    return true;
  return llvm::all_of(def->getOperands(), [&](Value operand) {
    return avoidsAccumulators(op, operand);
  });
}

std::optional<Reduction> catalog::matchReduction(Value value) {
  auto op = value.getDefiningOp<linalg::GenericOp>();
  if (!op || op.getNumReductionLoops() == 0)
    return std::nullopt;
  Reduction reduction;
  reduction.op = op;
  reduction.result = cast<OpResult>(value).getResultNumber();
  op.getParallelDims(reduction.parallelDims);
  op.getReductionDims(reduction.reductionDims);
  auto yield = cast<linalg::YieldOp>(op.getBody()->getTerminator());
  Operation *combiner = yield.getOperand(reduction.result).getDefiningOp();
  if (!combiner || combiner->getBlock() != op.getBody() ||
      combiner->getNumOperands() != 2)
    return std::nullopt;
  auto kind = combinerOf(combiner);
  if (!kind)
    return std::nullopt;
  reduction.kind = *kind;
  Value accumulator =
      op.getBody()->getArgument(op.getNumDpsInputs() + reduction.result);
  if (combiner->getOperand(0) == accumulator)
    reduction.element = combiner->getOperand(1);
  else if (combiner->getOperand(1) == accumulator)
    reduction.element = combiner->getOperand(0);
  else
    return std::nullopt;
  if (!avoidsAccumulators(op, reduction.element))
    return std::nullopt;
  return reduction;
}

bool catalog::isExpensive(Operation *op) {
  bool found = false;
  op->walk([&](Operation *inner) {
    found |= isa<math::ExpOp, math::Exp2Op, math::ExpM1Op, math::ErfOp,
                 math::TanhOp, math::LogOp, math::Log1pOp, math::Log2Op,
                 math::Log10Op, math::PowFOp, math::SinOp, math::CosOp,
                 math::ErfcOp, math::AtanOp, math::SinhOp, math::CoshOp>(inner);
  });
  return found;
}

//===----------------------------------------------------------------------===//
// Scope: lines, loads, stores
//===----------------------------------------------------------------------===//

void Scope::line(const Twine &text) {
  out.append(indent * 2, ' ');
  out += text.str();
  out += '\n';
}

CValue Scope::define(Elem elem, bool vector, const Twine &expression) {
  std::string name = program.fresh("t");
  line("const " + registerType(elem, vector) + " " + name + " = " + expression +
       ";");
  return {name, computeElem(elem), vector};
}

Lin Scope::mergeVars(const Lin &lin) {
  Lin result = lin;
  for (const MergedVars &group : merged) {
    int64_t coefficient = lin.coefficient(group.parts.back());
    int64_t expected = coefficient;
    for (unsigned var : llvm::reverse(group.parts)) {
      if (lin.coefficient(var) != expected) {
        program.fail("the dimensions of an operand cannot be merged");
        return result;
      }
      expected *= program.vars[var].extent;
      result.terms.erase(var);
    }
    if (coefficient)
      result.terms[group.merged] = coefficient;
  }
  return result;
}

Lin Scope::linear(Value value, ArrayRef<Lin> index) {
  Lin sum;
  auto shape = cast<RankedTensorType>(value.getType()).getShape();
  for (auto [extent, i] : llvm::zip(shape, index))
    sum = sum * extent + i;
  return sum;
}

CValue Scope::load(const Buffer &buffer, const Lin &linear) {
  Lin lin = mergeVars(buffer.locate(linear));
  if (onLoad)
    onLoad(buffer, lin);
  int64_t stride = vectorVar ? lin.coefficient(*vectorVar) : 0;
  std::string address = program.linText(lin);
  std::string s = suffixOf(buffer.elem);
  if (stride == 0) {
    std::string text = buffer.pointer + "[" + address + "]";
    if (buffer.elem == Elem::F16)
      text = "(float)" + text;
    if (buffer.elem == Elem::I1)
      text = text + " != 0";
    return define(buffer.elem, false, text);
  }
  std::string text;
  if (stride == 1 && partial.empty())
    text = "*(const v" + s + "u *)(" + buffer.pointer + " + " + address + ")";
  else if (stride == 1)
    text = program.helper("load_" + s) + "(" + buffer.pointer + " + " +
           address + ", " + partial + ")";
  else
    text = program.helper("gather_" + s) + "(" + buffer.pointer + " + " +
           address + ", " + std::to_string(stride) + ", " +
           (partial.empty() ? std::to_string(program.lanes) : partial) + ")";
  if (buffer.elem == Elem::F16)
    text = "__builtin_convertvector(" + text + ", vf32)";
  if (buffer.elem == Elem::I1)
    text = "-__builtin_convertvector(" + text + ", vi32)";
  return define(buffer.elem, true, text);
}

void Scope::store(const Buffer &buffer, const Lin &linear, CValue value,
                  bool nonTemporal) {
  Lin lin = mergeVars(buffer.locate(linear));
  if (onStore)
    onStore(buffer, lin);
  int64_t stride = vectorVar ? lin.coefficient(*vectorVar) : 0;
  std::string address = program.linText(lin);
  std::string s = suffixOf(buffer.elem);
  if (value.elem != computeElem(buffer.elem))
    value = convert(value, computeElem(buffer.elem));
  if (!vectorVar || stride == 0) {
    if (value.vector) {
      program.fail("a vector is stored to one element");
      return;
    }
    line(buffer.pointer + "[" + address + "] = (" + cTypeOf(buffer.elem) +
         ")(" + value.text + ");");
    return;
  }
  value = splat(value);
  std::string text = value.text;
  if (buffer.elem == Elem::F16)
    text = "__builtin_convertvector(" + text + ", vf16)";
  if (buffer.elem == Elem::I1)
    text = "__builtin_convertvector(-" + text + ", vb8)";
  if (stride == 1 && partial.empty() && nonTemporal)
    line("__builtin_nontemporal_store(" + text + ", (v" + s + " *)(" +
         buffer.pointer + " + " + address + "));");
  else if (stride == 1 && partial.empty())
    line("*(v" + s + "u *)(" + buffer.pointer + " + " + address +
         ") = " + text + ";");
  else if (stride == 1)
    line(program.helper("store_" + s) + "(" + buffer.pointer + " + " + address +
         ", " + text + ", " + partial + ");");
  else
    line(program.helper("scatter_" + s) + "(" + buffer.pointer + " + " +
         address + ", " + text + ", " + std::to_string(stride) + ", " +
         (partial.empty() ? std::to_string(program.lanes) : partial) + ");");
}

CValue Scope::splat(const CValue &value) {
  if (value.vector)
    return value;
  std::string type = registerType(value.elem, true);
  if (value.elem == Elem::I1)
    return define(value.elem, true, "(" + type + ")(-(" + value.text + "))");
  return {"((" + type + ")(" + value.text + "))", value.elem, true};
}

CValue Scope::unify(CValue value, bool vector) {
  return vector ? splat(value) : value;
}

CValue Scope::convert(const CValue &value, Elem elem) {
  elem = computeElem(elem);
  if (value.elem == elem)
    return value;
  if (elem == Elem::I1) {
    program.fail("a conversion to a truth value");
    return value;
  }
  if (value.elem == Elem::I1) {
    // Truth to number: 0 or 1.
    if (!value.vector)
      return define(elem, false,
                    std::string("(") + cTypeOf(elem) + ")(" + value.text + ")");
    return define(elem, true,
                  "__builtin_convertvector(-" + value.text + ", " +
                      registerType(elem, true) + ")");
  }
  if (!value.vector)
    return define(elem, false,
                  std::string("(") + cTypeOf(elem) + ")" + value.text);
  return define(elem, true,
                "__builtin_convertvector(" + value.text + ", " +
                    registerType(elem, true) + ")");
}

std::string Scope::neutral(CombinerKind kind, Elem elem) {
  switch (kind) {
  case CombinerKind::Add:
  case CombinerKind::Or:
  case CombinerKind::MaxU:
    return "0";
  case CombinerKind::Mul:
    return "1";
  case CombinerKind::Max:
  case CombinerKind::MaxNum:
    return "-INFINITY";
  case CombinerKind::Min:
  case CombinerKind::MinNum:
    return "INFINITY";
  case CombinerKind::And:
    return elem == Elem::I1 ? "1" : "-1";
  case CombinerKind::MinU:
    return "-1";
  case CombinerKind::MaxS:
    return elem == Elem::I64   ? "INT64_MIN"
           : elem == Elem::I32 ? "INT32_MIN"
                               : "-128";
  case CombinerKind::MinS:
    return elem == Elem::I64   ? "INT64_MAX"
           : elem == Elem::I32 ? "INT32_MAX"
                               : "127";
  }
  return "0";
}

CValue Scope::combine(CombinerKind kind, const CValue &a0, const CValue &b0) {
  bool vector = a0.vector || b0.vector;
  CValue a = unify(a0, vector), b = unify(b0, vector);
  Elem elem = a.elem;
  std::string t = vector ? "" : "s";
  auto call = [&](const char *name) {
    return define(elem, vector,
                  program.helper(name + t + "_" + suffixOf(elem)) + "(" +
                      a.text + ", " + b.text + ")");
  };
  switch (kind) {
  case CombinerKind::Add:
    return define(elem, vector, a.text + " + " + b.text);
  case CombinerKind::Mul:
    return define(elem, vector, a.text + " * " + b.text);
  case CombinerKind::And:
    return define(elem, vector, a.text + " & " + b.text);
  case CombinerKind::Or:
    return define(elem, vector, a.text + " | " + b.text);
  case CombinerKind::Max:
    return call("max");
  case CombinerKind::Min:
    return call("min");
  case CombinerKind::MaxNum:
    return call("maxnum");
  case CombinerKind::MinNum:
    return call("minnum");
  case CombinerKind::MaxS:
  case CombinerKind::MinS:
    if (vector)
      return define(elem, true,
                    std::string(kind == CombinerKind::MaxS
                                    ? "__builtin_elementwise_max("
                                    : "__builtin_elementwise_min(") +
                        a.text + ", " + b.text + ")");
    return define(elem, false,
                  a.text + (kind == CombinerKind::MaxS ? " > " : " < ") +
                      b.text + " ? " + a.text + " : " + b.text);
  case CombinerKind::MaxU:
  case CombinerKind::MinU:
    program.fail("an unsigned extremum");
    return a;
  }
  return a;
}

CValue Scope::horizontal(CombinerKind kind, const CValue &v) {
  if (!v.vector)
    return v;
  // Halve the vector by swapping halves, then quarters, ….
  CValue sum = v;
  for (unsigned half = program.lanes / 2; half; half /= 2) {
    std::string list;
    for (unsigned i = 0; i < program.lanes; ++i)
      list += ", " + std::to_string(i ^ half);
    CValue swapped = define(v.elem, true,
                            "__builtin_shufflevector(" + sum.text + ", " +
                                sum.text + list + ")");
    sum = combine(kind, sum, swapped);
  }
  if (v.elem == Elem::I1)
    return define(v.elem, false, "-" + sum.text + "[0]");
  return define(v.elem, false, sum.text + "[0]");
}

//===----------------------------------------------------------------------===//
// Scope: values of tensors
//===----------------------------------------------------------------------===//

CValue Scope::indexValue(const Lin &lin) {
  for (const MergedVars &group : merged)
    for (unsigned var : group.parts)
      if (lin.coefficient(var)) {
        program.fail("the index of a merged dimension is used");
        return {"0", Elem::I64, false};
      }
  int64_t stride = vectorVar ? lin.coefficient(*vectorVar) : 0;
  if (stride == 0)
    return define(Elem::I64, false, "(int64_t)(" + program.linText(lin) + ")");
  program.helper("iota");
  return define(Elem::I64, true,
                "(vi64)(int64_t)(" + program.linText(lin) + ") + FK_IOTA * " +
                    std::to_string(stride));
}

CValue Scope::opaque(Value value, ArrayRef<Lin> index) {
  if (onOpaque)
    return onOpaque(*this, value, index);
  std::string what = value.getDefiningOp()
                         ? value.getDefiningOp()->getName().getStringRef().str()
                         : "an argument";
  program.fail("no expression computes the result of " + what);
  auto type = dyn_cast<RankedTensorType>(value.getType());
  Elem elem =
      type ? elemOf(type.getElementType()).value_or(Elem::F32) : Elem::F32;
  return {"0", computeElem(elem), false};
}

CValue Scope::at(Value value, ArrayRef<Lin> index) {
  if (!program.failure.empty())
    return {};
  auto handy = bound.find(value.getAsOpaquePointer());
  if (handy != bound.end())
    return handy->second;
  std::string key;
  for (const Lin &i : index)
    key += i.key() + ",";
  auto memoKey = std::make_pair(value.getAsOpaquePointer(), key);
  auto known = memo.find(memoKey);
  if (known != memo.end())
    return known->second;
  auto remember = [&](CValue v) {
    memo[memoKey] = v;
    return v;
  };

  auto buffer = program.buffers.find(value.getAsOpaquePointer());
  if (buffer != program.buffers.end())
    return remember(load(buffer->second, linear(value, index)));
  Value stripped = stripReshapes(value);
  if (stripped != value) {
    buffer = program.buffers.find(stripped.getAsOpaquePointer());
    if (buffer != program.buffers.end())
      return remember(load(buffer->second, linear(value, index)));
  }

  Operation *op = value.getDefiningOp();
  if (!op)
    return opaque(value, index);
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (elements && elements.isSplat())
      return remember(literal(elements.getSplatValue<Attribute>(),
                              elements.getElementType()));
    program.fail("a constant that is not a splat");
    return {};
  }
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op)) {
    auto source = reshapeIndex(program, op, index);
    if (!source)
      return remember(opaque(value, index));
    return remember(at(op->getOperand(0), *source));
  }
  if (auto pad = dyn_cast<tensor::PadOp>(op);
      pad && pad.hasZeroLowPad() && pad.hasZeroHighPad())
    return remember(at(pad.getSource(), index));
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    auto offsets = slice.getStaticOffsets(), strides = slice.getStaticStrides();
    if (llvm::any_of(offsets, ShapedType::isDynamic) ||
        llvm::any_of(strides, ShapedType::isDynamic))
      return opaque(value, index);
    auto dropped = slice.getDroppedDims();
    SmallVector<Lin> source;
    unsigned next = 0;
    for (size_t d = 0; d < offsets.size(); ++d) {
      Lin inner = dropped.test(d) ? Lin(0) : index[next++];
      source.push_back(inner * strides[d] + Lin(offsets[d]));
    }
    return remember(at(slice.getSource(), source));
  }
  if (auto fill = dyn_cast<linalg::FillOp>(op)) {
    auto constant = fill.value().getDefiningOp<arith::ConstantOp>();
    if (!constant)
      return opaque(value, index);
    return remember(literal(constant.getValue(), fill.value().getType()));
  }
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic || !isElementwise(generic))
    return remember(opaque(value, index));
  unsigned result = cast<OpResult>(value).getResultNumber();
  auto loops = loopsAt(generic, result, index);
  if (!loops)
    return remember(opaque(value, index));
  Memo local;
  auto yield = cast<linalg::YieldOp>(generic.getBody()->getTerminator());
  CValue v = bodyValue(generic, yield.getOperand(result), *loops, local);
  if (onComputed)
    onComputed(value, index, v);
  return remember(v);
}

CValue Scope::reductionElement(const Reduction &reduction,
                               ArrayRef<Lin> loops) {
  Memo local;
  return bodyValue(reduction.op, reduction.element, loops, local);
}

CValue Scope::bodyValue(linalg::GenericOp op, Value value, ArrayRef<Lin> loops,
                        Memo &local) {
  if (!program.failure.empty())
    return {};
  auto known = local.find(value.getAsOpaquePointer());
  if (known != local.end())
    return known->second;
  CValue result;
  if (auto arg = dyn_cast<BlockArgument>(value)) {
    if (arg.getOwner() != op.getBody()) {
      program.fail("the body uses a scalar argument");
      return {};
    }
    AffineMap map = op.getIndexingMapsArray()[arg.getArgNumber()];
    SmallVector<Lin> index;
    for (AffineExpr expr : map.getResults()) {
      auto lin = evaluateAffine(expr, loops);
      if (!lin) {
        program.fail("an indexing map that is not linear");
        return {};
      }
      index.push_back(*lin);
    }
    Value operand = op->getOperand(arg.getArgNumber());
    if (!isa<RankedTensorType>(operand.getType())) {
      auto constant = operand.getDefiningOp<arith::ConstantOp>();
      if (!constant) {
        program.fail("a scalar operand that is not constant");
        return {};
      }
      result = literal(constant.getValue(), operand.getType());
    } else {
      result = at(operand, index);
    }
  } else {
    Operation *def = value.getDefiningOp();
    if (auto constant = dyn_cast<arith::ConstantOp>(def)) {
      result = literal(constant.getValue(), constant.getType());
    } else if (auto index = dyn_cast<linalg::IndexOp>(def)) {
      result = indexValue(loops[index.getDim()]);
    } else {
      SmallVector<CValue> operands;
      for (Value operand : def->getOperands())
        operands.push_back(bodyValue(op, operand, loops, local));
      if (!program.failure.empty())
        return {};
      if (def->getNumRegions() != 0 || def->getNumResults() != 1) {
        program.fail("an op with a region in a body");
        return {};
      }
      result = scalarOp(def, operands);
    }
  }
  local[value.getAsOpaquePointer()] = result;
  return result;
}

//===----------------------------------------------------------------------===//
// Scope: arithmetic
//===----------------------------------------------------------------------===//

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
  if (compute == Elem::F64 && (v != v || v - v != 0))
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
