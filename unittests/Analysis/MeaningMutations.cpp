//===- MeaningMutations.cpp - Changes that change the meaning -------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MeaningMutations.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringExtras.h"
#include <map>

using namespace mlir;
using namespace fastk;
using namespace fastk::test;

template <typename OpTy>
static SmallVector<OpTy> collect(Module &module) {
  SmallVector<OpTy> ops;
  getWorkload(*module).getBody().walk([&](OpTy op) { ops.push_back(op); });
  return ops;
}

/// One of the items, or nothing.
template <typename T>
static T pick(SmallVector<T> items, Random &random) {
  return items.empty() ? T() : items[random.below(items.size())];
}

static std::string changeConstant(Module &module, Random &random) {
  auto op = pick(collect<arith::ConstantOp>(module), random);
  if (!op)
    return "";
  auto changeFloat = [](const APFloat &old) {
    // An exactly representable number that is not the old one.
    APFloat value(old.getSemantics(), old.isFiniteNonZero() ? "2.5" : "0.75");
    if (value.bitwiseIsEqual(old))
      value.changeSign();
    return value;
  };
  if (auto value = dyn_cast<FloatAttr>(op.getValue()))
    op.setValueAttr(
        FloatAttr::get(value.getType(), changeFloat(value.getValue())));
  else if (auto value = dyn_cast<IntegerAttr>(op.getValue()))
    op.setValueAttr(IntegerAttr::get(value.getType(), value.getValue() + 1));
  else if (auto value = dyn_cast<DenseFPElementsAttr>(op.getValue())) {
    SmallVector<APFloat> values(value.getValues<APFloat>());
    APFloat &chosen = values[random.below(values.size())];
    chosen = changeFloat(chosen);
    op.setValueAttr(DenseElementsAttr::get(value.getType(), values));
  } else
    return "";
  return "constant";
}

static std::string swapOperands(Module &module, Random &random) {
  SmallVector<Operation *> ops;
  getWorkload(*module).getBody().walk([&](Operation *op) {
    if (isa<arith::SubFOp, arith::SubIOp, arith::DivFOp, math::PowFOp>(op))
      if (op->getOperand(0) != op->getOperand(1))
        ops.push_back(op);
    if (auto select = dyn_cast<arith::SelectOp>(op))
      if (select.getTrueValue() != select.getFalseValue())
        ops.push_back(op);
  });
  Operation *op = pick(ops, random);
  if (!op)
    return "";
  unsigned last = op->getNumOperands() - 1;
  Value a = op->getOperand(last), b = op->getOperand(last - 1);
  op->setOperand(last, b);
  op->setOperand(last - 1, a);
  return "swapped operands of " + op->getName().getStringRef().str();
}

static std::string changePredicate(Module &module, Random &random) {
  SmallVector<Operation *> ops;
  getWorkload(*module).getBody().walk([&](Operation *op) {
    if (isa<arith::CmpFOp, arith::CmpIOp>(op))
      ops.push_back(op);
  });
  Operation *op = pick(ops, random);
  if (!op)
    return "";
  if (auto cmp = dyn_cast<arith::CmpIOp>(op)) {
    auto old = unsigned(cmp.getPredicate());
    cmp.setPredicate(arith::CmpIPredicate((old + 1 + random.below(9)) % 10));
  } else {
    auto cmp_ = cast<arith::CmpFOp>(op);
    auto old = unsigned(cmp_.getPredicate());
    cmp_.setPredicate(arith::CmpFPredicate((old + 1 + random.below(15)) % 16));
  }
  return "predicate";
}

/// Exchanges two loops of equal length in the map of one operand.
static std::string changeMap(Module &module, Random &random) {
  auto op = pick(collect<linalg::GenericOp>(module), random);
  // With one operand, and no index in the body, it would rename the loops.
  if (!op || op->getNumOperands() < 2)
    return "";
  SmallVector<int64_t> lengths = op.getStaticLoopRanges();
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  unsigned operand = random.below(maps.size());
  unsigned i = random.below(lengths.size()), j = random.below(lengths.size());
  bool hasI = maps[operand].isFunctionOfDim(i);
  bool hasJ = maps[operand].isFunctionOfDim(j);
  if (i == j || lengths[i] != lengths[j] || lengths[i] < 2 || !(hasI || hasJ))
    return "";
  SmallVector<AffineExpr> dims;
  for (unsigned d = 0; d < lengths.size(); ++d)
    dims.push_back(getAffineDimExpr(d == i ? j : d == j ? i : d, &context()));
  maps[operand] = maps[operand].replaceDimsAndSymbols(dims, {}, dims.size(), 0);
  // The other operands must tell the loops apart, or it is a renaming.
  bool told = false;
  for (unsigned other = 0; other < maps.size(); ++other)
    if (other != operand)
      told |= maps[other] !=
              maps[other].replaceDimsAndSymbols(dims, {}, dims.size(), 0);
  if (!told)
    return "";
  op.setIndexingMapsAttr(Builder(&context()).getAffineMapArrayAttr(maps));
  return "map of operand " + std::to_string(operand);
}

static std::string changeIterator(Module &module, Random &random) {
  auto op = pick(collect<linalg::GenericOp>(module), random);
  if (!op || op.getNumLoops() == 0)
    return "";
  SmallVector<Attribute> types(op.getIteratorTypes().getValue());
  Attribute &type = types[random.below(types.size())];
  using utils::IteratorType;
  bool parallel =
      cast<linalg::IteratorTypeAttr>(type).getValue() == IteratorType::parallel;
  type = linalg::IteratorTypeAttr::get(
      &context(), parallel ? IteratorType::reduction : IteratorType::parallel);
  op.setIteratorTypesAttr(ArrayAttr::get(&context(), types));
  return "iterator type";
}

static std::string replaceOp(Module &module, Random &random) {
  static const std::map<StringRef, StringRef> others = {
      {"arith.addf", "arith.mulf"},
      {"arith.mulf", "arith.addf"},
      {"arith.subf", "arith.addf"},
      {"arith.divf", "arith.mulf"},
      {"arith.maximumf", "arith.minimumf"},
      {"arith.minimumf", "arith.maxnumf"},
      {"arith.maxnumf", "arith.maximumf"},
      {"arith.addi", "arith.muli"},
      {"arith.extsi", "arith.extui"},
      {"arith.sitofp", "arith.uitofp"},
      {"math.exp", "math.exp2"},
      {"math.exp2", "math.exp"},
      {"math.rsqrt", "math.sqrt"},
      {"math.sqrt", "math.rsqrt"},
      {"math.tanh", "math.sin"},
      {"math.erf", "math.tanh"},
      {"math.log", "math.log2"},
      {"arith.negf", "math.absf"},
      {"math.absf", "arith.negf"}};
  SmallVector<Operation *> ops;
  getWorkload(*module).getBody().walk([&](Operation *op) {
    if (others.count(op->getName().getStringRef()))
      ops.push_back(op);
  });
  Operation *op = pick(ops, random);
  if (!op)
    return "";
  StringRef name = others.at(op->getName().getStringRef());
  OpBuilder builder(op);
  OperationState state(op->getLoc(), name);
  state.addOperands(op->getOperands());
  state.addTypes(op->getResultTypes());
  op->replaceAllUsesWith(builder.create(state));
  op->erase();
  return "op became " + name.str();
}

static std::string setFastMath(Module &module, Random &random) {
  SmallVector<Operation *> ops;
  getWorkload(*module).getBody().walk(
      [&](arith::ArithFastMathInterface op) { ops.push_back(op); });
  Operation *op = pick(ops, random);
  if (!op)
    return "";
  auto flag = arith::FastMathFlags(1u << random.below(7));
  op->setAttr("fastmath", arith::FastMathFlagsAttr::get(&context(), flag));
  return "fast-math flag of " + op->getName().getStringRef().str();
}

/// Lets an operand use another value of its type. The value that it used had no
/// other use, so something dies.
static std::string rewire(Module &module, Random &random) {
  WorkloadOp workload = getWorkload(*module);
  SmallVector<OpOperand *> uses;
  workload.getBody().walk([&](Operation *op) {
    for (OpOperand &use : op->getOpOperands())
      if (use.get().hasOneUse() && !use.get().getDefiningOp<tensor::EmptyOp>())
        uses.push_back(&use);
  });
  OpOperand *use = pick(uses, random);
  if (!use)
    return "";
  // What only gives a shape, like the window of a pooling, has no meaning.
  if (auto generic = dyn_cast<linalg::GenericOp>(use->getOwner()))
    if (generic.getMatchingBlockArgument(use).use_empty())
      return "";
  DominanceInfo dominance(workload);
  SmallVector<Value> candidates;
  auto consider = [&](Value value) {
    if (value != use->get() && value.getType() == use->get().getType() &&
        !value.use_empty() && !value.getDefiningOp<tensor::EmptyOp>() &&
        dominance.properlyDominates(value, use->getOwner()))
      candidates.push_back(value);
  };
  workload.getBody().walk<WalkOrder::PreOrder>([&](Block *block) {
    for (BlockArgument arg : block->getArguments())
      consider(arg);
    for (Operation &op : *block)
      for (Value result : op.getResults())
        consider(result);
  });
  Value other = pick(candidates, random);
  if (!other)
    return "";
  std::string where = use->getOwner()->getName().getStringRef().str();
  use->set(other);
  return "rewired operand " + std::to_string(use->getOperandNumber()) + " of " +
         where;
}

/// Removes an op with one operand of its result's type.
static std::string removeOp(Module &module, Random &random) {
  SmallVector<Operation *> ops;
  getWorkload(*module).getBody().walk([&](Operation *op) {
    if (op->getNumOperands() == 1 && op->getNumResults() == 1 &&
        op->getOperand(0).getType() == op->getResult(0).getType())
      ops.push_back(op);
  });
  Operation *op = pick(ops, random);
  if (!op)
    return "";
  op->getResult(0).replaceAllUsesWith(op->getOperand(0));
  std::string name = op->getName().getStringRef().str();
  op->erase();
  return "removed " + name;
}

static std::string insertOp(Module &module, Random &random) {
  SmallVector<OpOperand *> uses;
  for (linalg::GenericOp generic : collect<linalg::GenericOp>(module))
    for (OpOperand &use : generic.getBody()->getTerminator()->getOpOperands())
      // Of a constant, the op may fold to the constant itself.
      if (isa<FloatType>(use.get().getType()) &&
          !use.get().getDefiningOp<arith::ConstantOp>())
        uses.push_back(&use);
  OpOperand *use = pick(uses, random);
  if (!use)
    return "";
  OpBuilder builder(use->getOwner());
  use->set(
      math::CeilOp::create(builder, use->getOwner()->getLoc(), use->get()));
  return "inserted an op";
}

static std::string shiftPad(Module &module, Random &random) {
  auto op = pick(collect<tensor::PadOp>(module), random);
  if (!op)
    return "";
  SmallVector<int64_t> low(op.getStaticLow()), high(op.getStaticHigh());
  unsigned dim = random.below(low.size());
  if (high[dim] < 1)
    return "";
  ++low[dim];
  --high[dim];
  op.setStaticLow(low);
  op.setStaticHigh(high);
  return "padding";
}

static std::string shiftSlice(Module &module, Random &random) {
  auto op = pick(collect<tensor::ExtractSliceOp>(module), random);
  if (!op)
    return "";
  SmallVector<int64_t> offsets(op.getStaticOffsets());
  unsigned dim = random.below(offsets.size());
  offsets[dim] += offsets[dim] > 0 ? -1 : 1;
  op.setStaticOffsets(offsets);
  return "offset of a slice";
}

/// Replaces one number or element type in all the text: shapes and types.
static std::string changeTypes(Module &module, Random &random) {
  std::string text = print(*module);
  std::string from, to;
  if (random.chance(40)) {
    bool single = random.chance(50);
    from = single ? "f32" : "f16";
    to = single ? "f16" : "bf16";
  } else {
    auto op = pick(collect<linalg::GenericOp>(module), random);
    if (!op)
      return "";
    SmallVector<int64_t> lengths = op.getStaticLoopRanges();
    int64_t length =
        lengths.empty() ? 1 : lengths[random.below(lengths.size())];
    if (length < 2)
      return "";
    from = std::to_string(length) + "x";
    to = std::to_string(length + 1) + "x";
  }
  std::string changed;
  for (size_t i = 0; i < text.size();) {
    bool start = i == 0 || !llvm::isAlnum(text[i - 1]) || text[i - 1] == 'x';
    if (start && StringRef(text).substr(i).starts_with(from)) {
      changed += to;
      i += from.size();
    } else
      changed += text[i++];
  }
  if (changed == text)
    return "";
  module = parseQuietly(changed);
  return module ? from + " became " + to : "";
}

std::string fastk::test::mutateMeaning(Module &module, Random &random) {
  static std::string (*const mutations[])(Module &, Random &) = {
      changeConstant, swapOperands, changePredicate, changeMap, changeIterator,
      replaceOp,      setFastMath,  rewire,          removeOp,  insertOp,
      shiftPad,       shiftSlice,   changeTypes};
  std::string what =
      mutations[random.below(std::size(mutations))](module, random);
  ScopedDiagnosticHandler quiet(&context(),
                                [](Diagnostic &) { return success(); });
  if (!what.empty() && failed(verify(*module)))
    return "";
  return what;
}
