//===- CanonicalFormNormalize.cpp - One spelling for one computation ------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CanonicalFormImpl.h"
#include "CanonicalFormMaps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace fastk::canonical;

//===----------------------------------------------------------------------===//
// Named ops
//===----------------------------------------------------------------------===//

LogicalResult fastk::canonical::generalizeRegion(Region &region) {
  IRRewriter rewriter(region.getContext());
  SmallVector<linalg::SoftmaxOp> softmaxes;
  region.walk([&](linalg::SoftmaxOp op) { softmaxes.push_back(op); });
  for (linalg::SoftmaxOp op : softmaxes) {
    rewriter.setInsertionPoint(op);
    FailureOr<SmallVector<Value>> values = op.decomposeOperation(rewriter);
    if (failed(values))
      return op.emitOpError() << "cannot be decomposed (required by "
                                 "'fastk.canonical_form')";
    rewriter.replaceOp(op, *values);
  }
  SmallVector<linalg::LinalgOp> named;
  region.walk([&](linalg::LinalgOp op) {
    if (!isa<linalg::GenericOp>(op))
      named.push_back(op);
  });
  for (linalg::LinalgOp op : named) {
    rewriter.setInsertionPoint(op);
    if (failed(linalg::generalizeNamedOp(rewriter, op)))
      return op.emitOpError() << "has no linalg.generic form (required by "
                                 "'fastk.canonical_form')";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Upstream's patterns
//===----------------------------------------------------------------------===//

bool fastk::canonical::simplifyRegion(Region &region) {
  MLIRContext *context = region.getContext();
  RewritePatternSet patterns(context);
  for (StringRef name :
       {"affine", "arith", "complex", "linalg", "math", "scf", "tensor"})
    if (Dialect *dialect = context->getLoadedDialect(name))
      dialect->getCanonicalizationPatterns(patterns);
  for (RegisteredOperationName op : context->getRegisteredOperations()) {
    StringRef dialect = op.getDialectNamespace();
    if (dialect == "affine" || dialect == "arith" || dialect == "complex" ||
        dialect == "math" || dialect == "scf" || dialect == "tensor" ||
        op.getStringRef() == linalg::GenericOp::getOperationName())
      op.getCanonicalizationPatterns(patterns, context);
  }
  GreedyRewriteConfig config;
  config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  // Patterns that do not come to rest leave a body that is still right; it may
  // then have a key of its own.
  bool changed = false;
  (void)applyPatternsGreedily(region, std::move(patterns), config, &changed);
  return changed;
}

//===----------------------------------------------------------------------===//
// linalg.generic
//===----------------------------------------------------------------------===//

namespace {

/// One linalg.generic while it is taken apart.
class GenericNormalizer {
public:
  GenericNormalizer(linalg::GenericOp op, RewriterBase &rewriter)
      : op(op), rewriter(rewriter) {
    for (OpOperand *operand : op.getDpsInputOperands())
      inputs.push_back({operand->get(), op.getMatchingIndexingMap(operand),
                        op.getMatchingBlockArgument(operand), true});
    for (OpOperand &operand : op.getDpsInitsMutable())
      inits.push_back({operand.get(), op.getMatchingIndexingMap(&operand),
                       op.getMatchingBlockArgument(&operand), true});
  }

  bool run(DeadResults deadResults) {
    rewriter.setInsertionPoint(op);
    inlineScalars();
    mergeOutputs();
    if (deadResults == DeadResults::Drop)
      dropDeadOutputs();
    mergeInputs();
    dropUnusedInputs();
    clearUnreadInits();
    if (changed)
      rebuild();
    return changed;
  }

private:
  struct Operand {
    Value value;
    AffineMap map;
    BlockArgument arg;
    bool kept;
  };

  Operation *terminator() { return op.getBody()->getTerminator(); }
  void inlineScalars();
  void mergeInputs();
  void dropUnusedInputs();
  void mergeOutputs();
  void dropDeadOutputs();
  void eraseDeadOps();
  void clearUnreadInits();
  void rebuild();
  /// True when the kept operands still say how long each loop is.
  bool loopsAreKnown();
  /// The operand's index list, the most telling map first.
  SmallVector<Operand *> sorted(SmallVectorImpl<Operand> &operands);
  /// A tensor.empty in place of a value that nothing reads; null when the value
  /// is one already or its shape is not static.
  Value emptyInsteadOf(Value value);

  linalg::GenericOp op;
  RewriterBase &rewriter;
  SmallVector<Operand> inputs, inits;
  bool changed = false;
};

/// The scalar that a constant tensor repeats, or null.
TypedAttr getSplat(Value value) {
  DenseElementsAttr elements;
  if (!matchPattern(value, m_Constant(&elements)) || !elements.isSplat() ||
      !elements.getElementType().isIntOrIndexOrFloat())
    return {};
  return cast<TypedAttr>(elements.getSplatValue<Attribute>());
}

} // namespace

bool GenericNormalizer::loopsAreKnown() {
  SmallVector<AffineMap> maps;
  for (Operand &operand : llvm::concat<Operand>(inputs, inits))
    if (operand.kept)
      maps.push_back(operand.map);
  return !maps.empty() &&
         inversePermutation(concatAffineMaps(maps, op.getContext()));
}

SmallVector<GenericNormalizer::Operand *>
GenericNormalizer::sorted(SmallVectorImpl<Operand> &operands) {
  SmallVector<Operand *> result;
  for (Operand &operand : operands)
    result.push_back(&operand);
  llvm::sort(result, [](Operand *a, Operand *b) {
    int maps = compareMaps(a->map, b->map);
    return maps ? maps < 0 : a < b;
  });
  return result;
}

Value GenericNormalizer::emptyInsteadOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.hasStaticShape() || type.getEncoding() ||
      value.getDefiningOp<tensor::EmptyOp>())
    return {};
  return tensor::EmptyOp::create(rewriter, op.getLoc(), type.getShape(),
                                 type.getElementType());
}

void GenericNormalizer::inlineScalars() {
  for (Operand &input : inputs) {
    if (input.arg.use_empty())
      continue;
    Value scalar;
    if (!isa<ShapedType>(input.value.getType()))
      scalar = input.value;
    else if (TypedAttr splat = getSplat(input.value))
      scalar = arith::ConstantOp::create(rewriter, op.getLoc(), splat);
    if (!scalar || scalar.getType() != input.arg.getType())
      continue;
    input.arg.replaceAllUsesWith(scalar);
    changed = true;
  }
}

void GenericNormalizer::mergeInputs() {
  for (auto [j, input] : llvm::enumerate(inputs)) {
    for (Operand &first : MutableArrayRef(inputs).take_front(j)) {
      if (!first.kept || first.value != input.value || first.map != input.map)
        continue;
      input.arg.replaceAllUsesWith(first.arg);
      input.kept = false;
      changed = true;
      break;
    }
  }
}

void GenericNormalizer::dropUnusedInputs() {
  for (Operand *input : sorted(inputs)) {
    if (!input->kept || !input->arg.use_empty())
      continue;
    input->kept = false;
    if (loopsAreKnown()) {
      changed = true;
      continue;
    }
    // It is there for its shape alone, like the window of a pooling.
    input->kept = true;
    if (Value empty = emptyInsteadOf(input->value)) {
      input->value = empty;
      changed = true;
    }
  }
}

void GenericNormalizer::mergeOutputs() {
  for (unsigned k = 0; k < inits.size(); ++k) {
    for (unsigned l = 0; l < k; ++l) {
      if (inits[l].value != inits[k].value || inits[l].map != inits[k].map ||
          terminator()->getOperand(l) != terminator()->getOperand(k) ||
          !inits[l].arg.use_empty() || !inits[k].arg.use_empty() ||
          op.getResult(k).use_empty())
        continue;
      rewriter.replaceAllUsesWith(op.getResult(k), op.getResult(l));
      changed = true;
      break;
    }
  }
}

void GenericNormalizer::dropDeadOutputs() {
  SmallVector<bool> dead;
  for (OpResult result : op.getResults())
    dead.push_back(result.use_empty());
  if (llvm::none_of(dead, [](bool d) { return d; }) ||
      llvm::all_of(dead, [](bool d) { return d; }))
    return;
  // A dead output stays when a living one reads what it accumulates. Those that
  // only feed themselves or each other, like the index of an argmax, go.
  while (true) {
    llvm::SmallPtrSet<Operation *, 16> live;
    llvm::SmallPtrSet<Value, 16> used;
    SmallVector<Value> worklist;
    for (auto [k, value] : llvm::enumerate(terminator()->getOperands()))
      if (!dead[k])
        worklist.push_back(value);
    while (!worklist.empty()) {
      Value value = worklist.pop_back_val();
      if (!used.insert(value).second)
        continue;
      Operation *def = value.getDefiningOp();
      Operation *inBody =
          def ? op.getBody()->findAncestorOpInBlock(*def) : nullptr;
      if (!inBody || !live.insert(inBody).second)
        continue;
      inBody->walk([&](Operation *inner) {
        worklist.append(inner->operand_begin(), inner->operand_end());
      });
    }
    bool grew = false;
    for (auto [k, init] : llvm::enumerate(inits)) {
      if (dead[k] && used.contains(init.arg)) {
        dead[k] = false;
        grew = true;
      }
    }
    if (!grew)
      break;
  }
  // All or none: one that stays may read another.
  SmallVector<Value> remaining;
  for (auto [init, isDead, value] :
       llvm::zip_equal(inits, dead, terminator()->getOperands())) {
    init.kept = !isDead;
    if (init.kept)
      remaining.push_back(value);
  }
  if (!loopsAreKnown()) {
    for (Operand &init : inits)
      init.kept = true;
    return;
  }
  if (remaining.size() == inits.size())
    return;
  terminator()->setOperands(remaining);
  eraseDeadOps();
  changed = true;
}

void GenericNormalizer::eraseDeadOps() {
  SmallVector<Operation *> ops;
  for (Operation &inner : op.getBody()->without_terminator())
    ops.push_back(&inner);
  for (Operation *inner : llvm::reverse(ops))
    if (isOpTriviallyDead(inner))
      rewriter.eraseOp(inner);
}

void GenericNormalizer::clearUnreadInits() {
  for (Operand &init : inits) {
    // Only where each element is written: elsewhere the rest shows through.
    if (!init.kept || !init.arg.use_empty() || !init.map.isPermutation())
      continue;
    if (Value empty = emptyInsteadOf(init.value)) {
      init.value = empty;
      changed = true;
    }
  }
}

void GenericNormalizer::rebuild() {
  SmallVector<Value> ins, outs, oldResults;
  SmallVector<AffineMap> maps;
  SmallVector<Type> types;
  llvm::BitVector erased(op.getBody()->getNumArguments());
  for (Operand &input : inputs) {
    if (!input.kept) {
      erased.set(input.arg.getArgNumber());
      continue;
    }
    ins.push_back(input.value);
    maps.push_back(input.map);
  }
  for (auto [init, result] : llvm::zip_equal(inits, op.getResults())) {
    if (!init.kept) {
      erased.set(init.arg.getArgNumber());
      continue;
    }
    outs.push_back(init.value);
    maps.push_back(init.map);
    types.push_back(result.getType());
    oldResults.push_back(result);
  }
  op.getBody()->eraseArguments(erased);
  auto fresh =
      linalg::GenericOp::create(rewriter, op.getLoc(), types, ins, outs, maps,
                                op.getIteratorTypesArray());
  fresh.getRegion().takeBody(op.getRegion());
  for (auto [old, result] : llvm::zip_equal(oldResults, fresh.getResults()))
    rewriter.replaceAllUsesWith(old, result);
  rewriter.eraseOp(op);
}

bool fastk::canonical::normalizeGenerics(Region &region,
                                         DeadResults deadResults) {
  IRRewriter rewriter(region.getContext());
  SmallVector<linalg::GenericOp> generics;
  region.walk([&](linalg::GenericOp op) {
    if (op.hasPureTensorSemantics())
      generics.push_back(op);
  });
  bool changed = false;
  // Users first: what they let go of is dead by the time its turn comes.
  for (linalg::GenericOp op : llvm::reverse(generics)) {
    if (op.use_empty()) {
      rewriter.eraseOp(op);
      changed = true;
      continue;
    }
    changed |= GenericNormalizer(op, rewriter).run(deadResults);
  }
  return changed;
}
