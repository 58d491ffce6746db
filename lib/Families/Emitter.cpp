//===- Emitter.cpp - C for the values of a canonical pattern --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/Emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::Twine;

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
    if (!group.steps.empty()) {
      mergeSteps(group, result);
      continue;
    }
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

void Scope::mergeSteps(const MergedVars &group, Lin &lin) {
  int64_t factor = lin.coefficient(group.parts.back()) / group.steps.back();
  for (auto [var, step] : llvm::zip_equal(group.parts, group.steps)) {
    if (lin.coefficient(var) != factor * step) {
      program.fail("an element depends on more than where a window meets what "
                   "it moves over");
      return;
    }
    lin.terms.erase(var);
  }
  if (factor)
    lin = lin + Lin::ofVar(group.merged, factor) - Lin(factor * group.begin);
}

Lin Scope::linear(Value value, ArrayRef<Lin> index) {
  Lin sum;
  auto shape = cast<RankedTensorType>(value.getType()).getShape();
  for (auto [extent, i] : llvm::zip(shape, index))
    sum = sum * extent + i;
  return sum;
}

CValue Scope::load(const Buffer &buffer, const Lin &linear) {
  Lin lin = mergeVars(linear);
  if (loaded)
    if (std::optional<CValue> value = loaded(buffer, lin))
      return *value;
  if (onLoad)
    onLoad(buffer, lin);
  int64_t stride = vectorVar ? lin.coefficient(*vectorVar) * laneStep : 0;
  std::string address = program.linText(lin);
  std::string s = suffixOf(buffer.elem);
  std::string where = choosesPieces ? loadCondition() : "";
  // What is not there is not loaded. Threads of a GPU load element 0 for it,
  // which nobody chooses: they all go the same way.
  if (!where.empty() && program.dialect == Program::Dialect::Cuda) {
    address = "(" + where + ") ? " + address + " : 0";
    where.clear();
  }
  auto defineLoad = [&](bool vector, const std::string &text) {
    return define(buffer.elem, vector,
                  where.empty() ? text
                                : "(" + where + ") ? (" + text + ") : (" +
                                      registerType(buffer.elem, vector) + ")0");
  };
  if (stride == 0) {
    std::string text = buffer.pointer + "[" + address + "]";
    if (buffer.elem == Elem::BF16 && program.knowsBF16)
      text = program.helper("widens_bf16") + "(" + text + ")";
    else if (buffer.elem != computeElem(buffer.elem))
      text = "(float)" + text;
    if (buffer.elem == Elem::I1)
      text = text + " != 0";
    return defineLoad(false, text);
  }
  std::string text;
  if (stride == 1 && partial.empty())
    text = "*(const v" + s + "u *)(" + buffer.pointer + " + " + address + ")";
  else if (choosesPieces && partial.empty() && (stride == -1 || stride == 2))
    text = shuffledLoad(buffer, address, stride);
  else if (stride == 1)
    text = program.helper("load_" + s) + "(" + buffer.pointer + " + " +
           address + ", " + partial + ")";
  else
    text = program.helper("gather_" + s) + "(" + buffer.pointer + " + " +
           address + ", " + std::to_string(stride) + ", " +
           (partial.empty() ? std::to_string(program.lanes) : partial) + ")";
  if (buffer.elem == Elem::F16)
    text = "__builtin_convertvector(" + text + ", vf32)";
  if (buffer.elem == Elem::BF16)
    text = program.helper("widen_bf16") + "(" + text + ")";
  if (buffer.elem == Elem::I1)
    text = "-__builtin_convertvector(" + text + ", vi32)";
  return defineLoad(true, text);
}

/// Lanes in reverse, or every second element, of whole vectors that read
/// nothing beyond them.
std::string Scope::shuffledLoad(const Buffer &buffer,
                                const std::string &address, int64_t stride) {
  const int64_t lanes = program.lanes;
  std::string text = "__builtin_shufflevector(";
  for (int64_t at :
       {stride < 0 ? 1 - lanes : 0, stride < 0 ? 1 - lanes : lanes - 1})
    text += std::string("*(const v") + suffixOf(buffer.elem) + "u *)(" +
            buffer.pointer + " + " + address + " + " + std::to_string(at) +
            "), ";
  for (int64_t lane = 0; lane < lanes; ++lane) {
    // The second vector begins at element lanes - 1.
    int64_t from = stride < 0         ? lanes - 1 - lane
                   : 2 * lane < lanes ? 2 * lane
                                      : 2 * lane + 1;
    text += (lane ? ", " : "") + std::to_string(from);
  }
  return text + ")";
}

void Scope::store(const Buffer &buffer, const Lin &linear, CValue value,
                  bool nonTemporal) {
  Lin lin = mergeVars(linear);
  if (onStore)
    onStore(buffer, lin);
  int64_t stride = vectorVar ? lin.coefficient(*vectorVar) * laneStep : 0;
  std::string address = program.linText(lin);
  std::string s = suffixOf(buffer.elem);
  if (value.elem != computeElem(buffer.elem))
    value = convert(value, computeElem(buffer.elem));
  if (!vectorVar || stride == 0) {
    if (value.vector) {
      program.fail("a vector is stored to one element");
      return;
    }
    std::string made = buffer.elem == Elem::BF16 && program.knowsBF16
                           ? program.helper("narrows_bf16")
                           : std::string("(") + cTypeOf(buffer.elem) + ")";
    line(buffer.pointer + "[" + address + "] = " + made + "(" + value.text +
         ");");
    return;
  }
  value = splat(value);
  std::string text = value.text;
  if (buffer.elem == Elem::F16)
    text = "__builtin_convertvector(" + text + ", vf16)";
  if (buffer.elem == Elem::BF16)
    text = program.helper("narrow_bf16") + "(" + text + ")";
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

CValue Scope::unify(const CValue &value, bool vector) {
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

CValue Scope::indexValue(const Lin &index) {
  Lin lin = choosesPieces ? mergeVars(index) : index;
  if (onIndex)
    onIndex(lin);
  for (const MergedVars &group : merged)
    for (unsigned var : group.parts)
      if (lin.coefficient(var)) {
        program.fail("the index of a merged dimension is used");
        return {"0", Elem::I64, false};
      }
  int64_t stride = vectorVar ? lin.coefficient(*vectorVar) * laneStep : 0;
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
  Elem elem = type ? program.elemOf(type.getElementType()).value_or(Elem::F32)
                   : Elem::F32;
  return {"0", computeElem(elem), false};
}

CValue Scope::at(Value value, ArrayRef<Lin> index) {
  if (!program.failure.empty())
    return {};
  if (onElement)
    onElement(value, index);
  auto handy = bound.find(value.getAsOpaquePointer());
  if (handy != bound.end())
    return handy->second;
  std::string key;
  for (const Lin &i : index)
    key += i.key() + ",";
  for (const Guard &guard : guards)
    key += "|" + guard.index.key() + "|" + std::to_string(guard.low) + "|" +
           std::to_string(guard.high);
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
  if (choosesPieces && isa<tensor::ConcatOp>(op))
    return remember(concatenated(op, index));
  if (choosesPieces && isa<tensor::PadOp, tensor::InsertSliceOp>(op))
    return remember(padded(op, index));
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    auto source = sliceIndex(slice, index);
    if (!source)
      return opaque(value, index);
    return remember(at(slice.getSource(), *source));
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
    } else if (auto place = extractedPlace(def, loops)) {
      result = at(def->getOperand(0), *place);
    } else if (auto extract = dyn_cast<tensor::ExtractOp>(def)) {
      result = extracted(op, extract, loops);
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

std::optional<SmallVector<Lin>>
Scope::extractedPlace(Operation *op, ArrayRef<Lin> loops) const {
  auto extract = dyn_cast<tensor::ExtractOp>(op);
  // Vectors are made for indices that grow.
  if (!extract || program.dialect != Program::Dialect::Cuda)
    return std::nullopt;
  auto shape = extract.getTensor().getType().getShape();
  SmallVector<Lin> index;
  for (auto [extent, value] : llvm::zip_equal(shape, extract.getIndices())) {
    std::optional<Lin> place = linearIndex(value, loops);
    auto [low, high] = program.range(place.value_or(Lin()));
    if (!place || low < 0 || high >= extent)
      return std::nullopt;
    index.push_back(*place);
  }
  return index;
}
