//===- EquivalentRewrites.cpp - Rewrites that keep the meaning ------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EquivalentRewrites.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "llvm/ADT/StringExtras.h"
#include <map>

using namespace mlir;
using namespace fastk;
using namespace fastk::test;

/// Gives every SSA value another name: prints, renames, parses.
static void renameValues(Module &module, Random &random) {
  std::string text = print(*module), renamed;
  std::map<std::string, std::string> names;
  unsigned base = random.below(1000);
  for (size_t i = 0; i < text.size();) {
    if (text[i] != '%') {
      renamed += text[i++];
      continue;
    }
    size_t end = i + 1;
    while (end < text.size() && (llvm::isAlnum(text[end]) || text[end] == '_'))
      ++end;
    std::string &name = names[text.substr(i, end - i)];
    if (name.empty())
      name = "%n" + std::to_string(base + names.size() * 7919 % 10007);
    renamed += name;
    i = end;
  }
  Module parsed = parseQuietly(renamed);
  if (parsed)
    module = std::move(parsed);
}

/// Orders the ops of each block anew, each after what it uses.
static void reorderOps(Module &module, Random &random) {
  SmallVector<Block *> blocks;
  getWorkload(*module).getBody().walk<WalkOrder::PreOrder>(
      [&](Block *block) { blocks.push_back(block); });
  for (Block *block : blocks) {
    if (block->empty())
      continue;
    SmallVector<Operation *> waiting;
    for (Operation &op : block->without_terminator())
      waiting.push_back(&op);
    llvm::SmallPtrSet<Operation *, 32> placed;
    auto isReady = [&](Operation *op) {
      return !op->walk([&](Operation *inner) {
                  for (Value value : inner->getOperands()) {
                    Operation *def = value.getDefiningOp();
                    def = def ? block->findAncestorOpInBlock(*def) : nullptr;
                    if (def && def != op && !placed.contains(def))
                      return WalkResult::interrupt();
                  }
                  return WalkResult::advance();
                }).wasInterrupted();
    };
    while (!waiting.empty()) {
      SmallVector<unsigned> ready;
      for (auto [index, op] : llvm::enumerate(waiting))
        if (isReady(op))
          ready.push_back(index);
      unsigned index = ready[random.below(ready.size())];
      Operation *op = waiting[index];
      waiting.erase(waiting.begin() + index);
      op->moveBefore(block->getTerminator());
      placed.insert(op);
    }
  }
}

static void swapCommutative(Module &module, Random &random) {
  getWorkload(*module).walk([&](Operation *op) {
    if (op->hasTrait<OpTrait::IsCommutative>() && op->getNumOperands() == 2 &&
        random.chance(50))
      op->setOperands({op->getOperand(1), op->getOperand(0)});
  });
}

/// Permutes the inputs of generics, and the outputs with their results.
static void permuteGenerics(Module &module, Random &random) {
  SmallVector<linalg::GenericOp> generics;
  getWorkload(*module).walk(
      [&](linalg::GenericOp op) { generics.push_back(op); });
  for (linalg::GenericOp op : generics) {
    unsigned numInputs = op.getNumDpsInputs(), numInits = op.getNumDpsInits();
    std::vector<unsigned> order = random.permutation(numInputs);
    for (unsigned k : random.permutation(numInits))
      order.push_back(numInputs + k);
    SmallVector<Value> operands;
    SmallVector<AffineMap> maps = op.getIndexingMapsArray(), newMaps;
    SmallVector<Type> types;
    for (unsigned index : order) {
      operands.push_back(op->getOperand(index));
      newMaps.push_back(maps[index]);
      if (index >= numInputs)
        types.push_back(op.getResult(index - numInputs).getType());
    }
    OpBuilder builder(op);
    auto fresh = linalg::GenericOp::create(
        builder, op.getLoc(), types, ArrayRef(operands).take_front(numInputs),
        ArrayRef(operands).drop_front(numInputs), newMaps,
        op.getIteratorTypesArray());
    Region &region = fresh.getRegion();
    region.takeBody(op.getRegion());
    Block &body = region.front();
    unsigned count = body.getNumArguments();
    for (unsigned index : order) {
      BlockArgument old = body.getArgument(index);
      old.replaceAllUsesWith(body.addArgument(old.getType(), old.getLoc()));
    }
    body.eraseArguments(0, count);
    SmallVector<Value> yielded;
    for (auto [k, index] :
         llvm::enumerate(ArrayRef(order).drop_front(numInputs))) {
      yielded.push_back(body.getTerminator()->getOperand(index - numInputs));
      op.getResult(index - numInputs).replaceAllUsesWith(fresh.getResult(k));
    }
    body.getTerminator()->setOperands(yielded);
    op.erase();
  }
}

static void addLocationsAndAttributes(Module &module, Random &random) {
  getWorkload(*module)->walk([&](Operation *op) {
    op->setLoc(FileLineColLoc::get(&context(), "model.py", random.below(1000),
                                   random.below(80)));
    if (random.chance(30))
      op->setDiscardableAttr(
          "test.note",
          IntegerAttr::get(IntegerType::get(&context(), 32), random.below(9)));
  });
}

/// Permutes operands and results of the workload, passes one operand twice and
/// adds one that is not used.
static void permuteSignature(Module &module, Random &random) {
  WorkloadOp old = getWorkload(*module);
  OpBuilder builder(old);
  SmallVector<Value> inputs(old.getInputs());
  std::vector<unsigned> order = random.permutation(inputs.size());
  std::vector<unsigned> results = random.permutation(old.getNumResults());
  Block *body = old.getBodyBlock();
  unsigned count = body->getNumArguments();
  SmallVector<Value> newInputs;
  auto add = [&](Value value) {
    newInputs.push_back(value);
    return body->addArgument(value.getType(), old.getLoc());
  };
  for (unsigned index : order) {
    BlockArgument first = add(inputs[index]);
    bool twice = random.chance(20);
    BlockArgument second = twice ? add(inputs[index]) : first;
    for (OpOperand &use :
         llvm::make_early_inc_range(body->getArgument(index).getUses()))
      use.set(random.chance(50) ? first : second);
    if (random.chance(20))
      add(inputs[index]);
  }
  body->eraseArguments(0, count);
  SmallVector<Type> types;
  SmallVector<Value> yielded;
  for (unsigned index : results) {
    types.push_back(old.getResult(index).getType());
    yielded.push_back(body->getTerminator()->getOperand(index));
  }
  body->getTerminator()->setOperands(yielded);
  auto fresh =
      WorkloadOp::create(builder, old.getLoc(), types, "renamed", newInputs);
  fresh.getBody().takeBody(old.getBody());
  for (auto [position, index] : llvm::enumerate(results))
    old.getResult(index).replaceAllUsesWith(fresh.getResult(position));
  old.erase();
}

/// Copies ops without operands, and lets some of their users use the copy: in
/// the bodies of generics, where the user is there.
static void duplicateConstants(Module &module, Random &random) {
  SmallVector<Operation *> constants;
  getWorkload(*module).walk([&](Operation *op) {
    if (op->hasTrait<OpTrait::ConstantLike>())
      constants.push_back(op);
  });
  for (Operation *op : constants) {
    for (OpOperand &use :
         llvm::make_early_inc_range(op->getResult(0).getUses())) {
      if (!random.chance(40))
        continue;
      OpBuilder builder(use.getOwner());
      use.set(builder.clone(*op)->getResult(0));
    }
  }
}

/// Copies any op; some users use the copy, and sometimes none does.
static void duplicateOps(Module &module, Random &random) {
  SmallVector<Operation *> ops;
  getWorkload(*module).getBody().walk([&](Operation *op) {
    if (!op->hasTrait<OpTrait::IsTerminator>() && random.chance(8))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    OpBuilder builder(op);
    Operation *copy = builder.clone(*op);
    for (OpResult result : op->getResults())
      for (OpOperand &use : llvm::make_early_inc_range(result.getUses()))
        if (random.chance(50))
          use.set(copy->getResult(result.getResultNumber()));
  }
}

static void generalizeSome(Module &module, Random &random) {
  SmallVector<linalg::LinalgOp> named;
  getWorkload(*module).walk([&](linalg::LinalgOp op) {
    if (!isa<linalg::GenericOp>(op) && random.chance(50))
      named.push_back(op);
  });
  IRRewriter rewriter(&context());
  for (linalg::LinalgOp op : named) {
    rewriter.setInsertionPoint(op);
    (void)linalg::generalizeNamedOp(rewriter, op);
  }
}

ArrayRef<EquivalentRewrite> fastk::test::equivalentRewrites() {
  static const EquivalentRewrite rewrites[] = {
      {"rename-values", renameValues},
      {"reorder-ops", reorderOps},
      {"swap-commutative", swapCommutative},
      {"permute-generics", permuteGenerics},
      {"locations-and-attributes", addLocationsAndAttributes},
      {"permute-signature", permuteSignature},
      {"duplicate-constants", duplicateConstants},
      {"duplicate-ops", duplicateOps},
      {"generalize-some", generalizeSome},
  };
  return rewrites;
}
