//===- PlainBodies.cpp - Bodies of ops in a plain program -----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlainElements.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/CastInterfaces.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::scaffold;

static Operation *yieldedBy(linalg::GenericOp op) {
  return op.getBody()->getTerminator()->getOperand(0).getDefiningOp();
}

/// What a reduction combines by; empty: something else.
static StringRef combinerOf(Operation *op) {
  if (!op)
    return "";
  return llvm::StringSwitch<StringRef>(op->getName().getStringRef())
      .Cases({"arith.addf", "arith.addi"}, "sum")
      .Cases({"arith.mulf", "arith.muli"}, "product")
      .Cases({"arith.maximumf", "arith.maxnumf", "arith.maxsi", "arith.maxui"},
             "max")
      .Cases({"arith.minimumf", "arith.minnumf", "arith.minsi", "arith.minui"},
             "min")
      .Default("");
}

/// "exp", "add"; empty: it moves elements, converts them, or fills.
static std::string wordFor(linalg::GenericOp op) {
  Operation *last = yieldedBy(op);
  if (op.getNumReductionLoops() != 0) {
    StringRef name = combinerOf(last);
    return name.empty() ? "reduction" : name.str();
  }
  if (!last || isa<arith::ConstantOp, CastOpInterface>(last))
    return "";
  StringRef word = last->getName().stripDialect();
  // addf, addi.
  for (StringRef each :
       {"add", "sub", "mul", "div", "max", "min", "neg", "cmp"})
    if (word.starts_with(each))
      return each.str();
  return word.str();
}

static int64_t termsOf(linalg::GenericOp op) {
  int64_t terms = 1;
  SmallVector<utils::IteratorType> kinds = op.getIteratorTypesArray();
  for (auto [extent, kind] : llvm::zip_equal(op.getStaticLoopRanges(), kinds))
    if (kind == utils::IteratorType::reduction)
      terms *= extent;
  return terms;
}

std::string Elements::nameOfStep() const {
  std::string name;
  for (Operation *op : computed) {
    auto generic = cast<linalg::GenericOp>(op);
    std::string word = wordFor(generic);
    // A loop says more than what is done with what it made.
    if (generic.getNumReductionLoops() != 0)
      return word;
    if (!word.empty())
      name = word;
  }
  return name.empty() ? "copy" : name;
}

std::string Elements::describeStep() const {
  std::string text;
  for (Operation *op : computed) {
    auto generic = cast<linalg::GenericOp>(op);
    std::string word = wordFor(generic);
    if (word.empty())
      continue;
    text += (text.empty() ? "" : ", then ") + word;
    if (generic.getNumReductionLoops() != 0)
      text += " over " + std::to_string(termsOf(generic));
  }
  return text.empty() ? "copy" : text;
}

Text Elements::extracted(Lines &lines, Body &body, tensor::ExtractOp extract) {
  SmallVector<Text> index;
  for (Value each : extract.getIndices())
    index.push_back(bodyValue(lines, body, each));
  return at(lines, extract.getTensor(), index);
}

Text Elements::bodyArgument(Lines &lines, Body &body, BlockArgument argument) {
  if (!body.op || argument.getOwner() != body.op.getBody())
    return failed("a number that is an operand of the workload");
  OpOperand &operand = body.op->getOpOperand(argument.getArgNumber());
  if (!isa<RankedTensorType>(operand.get().getType()))
    return scalar(lines, operand.get());
  AffineMap map = body.op.getMatchingIndexingMap(&operand);
  return named(lines, argument,
               at(lines, operand.get(), apply(map, body.loops)));
}

Text Elements::bodyOp(Lines &lines, Body &body, OpResult value) {
  Operation *op = value.getOwner();
  if (auto index = dyn_cast<linalg::IndexOp>(op); index && body.op)
    return body.loops[index.getDim()];
  // What does not change with the loops stands around the op.
  if (isa<arith::ConstantOp>(op) ||
      (body.op && op->getBlock() != body.op.getBody()))
    return scalar(lines, value);
  if (auto extract = dyn_cast<tensor::ExtractOp>(op))
    return named(lines, value, extracted(lines, body, extract));
  SmallVector<Text> operands;
  for (Value operand : op->getOperands())
    operands.push_back(bodyValue(lines, body, operand));
  if (hasFailed())
    return {"0"};
  auto results = writeScalarOp(language, op, operands);
  if (!results)
    return failed("'" + op->getName().getStringRef() + "' of " +
                  typeText(op->getNumOperands() ? op->getOperand(0).getType()
                                                : value.getType()));
  return named(lines, value, (*results)[value.getResultNumber()]);
}

Text Elements::bodyValue(Lines &lines, Body &body, Value value) {
  if (hasFailed())
    return {"0"};
  auto known = body.known.find(value);
  if (known != body.known.end())
    return known->second;
  auto argument = dyn_cast<BlockArgument>(value);
  Text text = argument ? bodyArgument(lines, body, argument)
                       : bodyOp(lines, body, cast<OpResult>(value));
  body.known[value] = text;
  return text;
}

/// The other operand of an accumulator's only use, which adds to it.
static Value addedTo(BlockArgument accumulator, Value yielded) {
  auto add = yielded.getDefiningOp<arith::AddFOp>();
  if (!add || !accumulator.hasOneUse() || !add->hasOneUse() ||
      *accumulator.getUsers().begin() != add)
    return {};
  return add.getLhs() == accumulator ? add.getRhs() : add.getLhs();
}

void Elements::accumulate(Lines &lines, Body &body,
                          ArrayRef<std::string> names) {
  Operation *yield = body.op.getBody()->getTerminator();
  if (names.size() == 1) {
    Value yielded = yield->getOperand(0);
    BlockArgument accumulator = body.op.getRegionOutputArgs().front();
    if (Value added = addedTo(accumulator, yielded)) {
      Text text = bodyValue(lines, body, added);
      lines.add(names[0] + " += " + text.str + ";");
      return;
    }
    Text text = bodyValue(lines, body, yielded);
    lines.add(names[0] + " = " + text.str + ";");
    return;
  }
  // None changes before all are computed.
  SmallVector<std::string> next;
  for (Value yielded : yield->getOperands()) {
    Text text = bodyValue(lines, body, yielded);
    next.push_back(newName("next"));
    lines.add("const " + language.registerType(*elemOf(yielded.getType())) +
              " " + next.back() + " = " + text.str + ";");
  }
  for (auto [name, value] : llvm::zip_equal(names, next))
    lines.add(name + " = " + value + ";");
}

SmallVector<Text> Elements::evaluate(Lines &lines, linalg::GenericOp op,
                                     SmallVector<Text> loops) {
  Operation *yield = op.getBody()->getTerminator();
  for (Value yielded : yield->getOperands())
    if (!elemOf(yielded.getType())) {
      fail("a value of type " + typeText(yielded.getType()));
      return {};
    }
  Body body{op, loops};
  SmallVector<Text> results;
  if (op.getNumReductionLoops() == 0) {
    for (Value yielded : yield->getOperands())
      results.push_back(bodyValue(lines, body, yielded));
    computed.insert(op);
    return results;
  }
  if (conditions != 0) {
    fail("a reduction behind a condition");
    return {};
  }
  SmallVector<std::string> accumulators;
  for (auto [number, argument] : llvm::enumerate(op.getRegionOutputArgs())) {
    OpOperand *initial = op.getDpsInitOperand(number);
    Text begin{"0"};
    if (op.payloadUsesValueFromOperand(initial))
      begin = at(lines, initial->get(),
                 apply(op.getMatchingIndexingMap(initial), loops));
    std::string name =
        combinerOf(yield->getOperand(number).getDefiningOp()).str();
    accumulators.push_back(newName(name.empty() ? "total" : name));
    lines.add(language.registerType(*elemOf(argument.getType())) + " " +
              accumulators.back() + " = " + begin.str + ";");
    body.known[argument] = {accumulators.back()};
    results.push_back({accumulators.back()});
  }
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  unsigned numOpen = 0;
  for (auto [loop, kind] : llvm::enumerate(op.getIteratorTypesArray())) {
    if (kind != utils::IteratorType::reduction || ranges[loop] == 1)
      continue;
    std::string name = "d" + std::to_string(loop);
    name = newName(names.count(name) ? "k" : name);
    lines.open("for (" + indexType + " " + name + " = 0; " + name + " < " +
               std::to_string(ranges[loop]) + "; ++" + name + ")");
    ++numOpen;
    loops[loop] = {name};
  }
  body.loops = loops;
  accumulate(lines, body, accumulators);
  for (; numOpen != 0; --numOpen)
    lines.close();
  computed.insert(op);
  return results;
}

Text Elements::combine(Lines &lines, Block &block, ArrayRef<Text> arguments) {
  Body body;
  for (auto [argument, text] : llvm::zip_equal(block.getArguments(), arguments))
    body.known[argument] = text;
  return bodyValue(lines, body, block.getTerminator()->getOperand(0));
}
