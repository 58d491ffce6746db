//===- ChannelsLast.cpp - Channels of pictures beside each other ----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which tensors move together is found first, then each op is rewritten on its
// own: the maps of an op of linalg say where its elements are, so that any of
// its tensors can be laid out in any way.
//
//===----------------------------------------------------------------------===//

#include "fastk/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/TypeSwitch.h"

namespace fastk {
#define GEN_PASS_DEF_FASTKCHANNELSLASTPASS
#include "fastk/Transforms/Passes.h.inc"
} // namespace fastk

using namespace mlir;
using namespace fastk;

/// The dimension of channels, before.
static constexpr unsigned kChannels = 1;

/// Pictures of two and three dimensions.
static bool isOfPictures(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && (tensor.getRank() == 4 || tensor.getRank() == 5) &&
         !tensor.getEncoding();
}

/// `elements` of the dimensions in their new order: what was at `kChannels`
/// comes last.
template <class T>
static SmallVector<T> moved(ArrayRef<T> elements) {
  SmallVector<T> made(elements);
  std::rotate(made.begin() + kChannels, made.begin() + kChannels + 1,
              made.end());
  return made;
}

static RankedTensorType moved(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return RankedTensorType::get(moved(tensor.getShape()),
                               tensor.getElementType());
}

static AffineMap moved(AffineMap map) {
  return AffineMap::get(map.getNumDims(), map.getNumSymbols(),
                        moved(map.getResults()), map.getContext());
}

static bool isDense(Operation *op) {
  return isa<linalg::Conv2DNchwFchwOp, linalg::Conv3DNcdhwFcdhwOp>(op);
}
static bool isDepthwise(Operation *op) {
  return isa<linalg::DepthwiseConv2DNchwChwOp,
             linalg::DepthwiseConv3DNcdhwCdhwOp>(op);
}

/// The fill of a tensor that nothing else is known of, which can be made anew.
static linalg::FillOp freshFill(Value init) {
  auto fill = init.getDefiningOp<linalg::FillOp>();
  return fill && fill.getOutputs()[0].getDefiningOp<tensor::EmptyOp>()
             ? fill
             : linalg::FillOp();
}
static bool isFresh(Value init) {
  return init.getDefiningOp<tensor::EmptyOp>() || freshFill(init);
}

/// Whether `op` can work on tensors that have moved.
static bool canFollow(Operation *op) {
  if (auto pad = dyn_cast<tensor::PadOp>(op))
    return llvm::all_of(pad.getRegion().getArguments(),
                        [](Value index) { return index.use_empty(); });
  if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
    return insert.getSourceType().getRank() == insert.getType().getRank();
  if (auto extract = dyn_cast<tensor::ExtractSliceOp>(op))
    return extract.getSourceType().getRank() == extract.getType().getRank();
  if (isa<tensor::ConcatOp>(op))
    return true;
  return isa<linalg::LinalgOp>(op) && !isa<linalg::FillOp>(op) &&
         llvm::all_of(op->getOperandTypes(), [](Type type) {
           return !isa<BaseMemRefType, UnrankedTensorType>(type);
         });
}

namespace {
/// The tensors of a function that move.
class Chosen {
public:
  Chosen(func::FuncOp function, bool takesFloat32)
      : takesFloat32(takesFloat32) {
    function.walk<WalkOrder::PreOrder>([&](Operation *op) {
      // What somebody has formed has a key that is asked for.
      if (isa<WorkloadOp>(op))
        return WalkResult::skip();
      if (canFollow(op))
        ops.push_back(op);
      return WalkResult::advance();
    });
    for (Operation *op : ops)
      for (Value value : tensorsOf(op))
        number(value);
    tie();
    choose();
  }

  ArrayRef<Operation *> getOps() const { return ops; }
  bool contains(Value value) const { return values.contains(value); }
  void replace(Value old, Value made) {
    if (values.erase(old))
      values.insert(made);
  }
  size_t size() const { return values.size(); }

private:
  /// Operands and results of pictures that are not made anew.
  static SmallVector<Value> tensorsOf(Operation *op) {
    SmallVector<Value> tensors;
    for (Value operand : op->getOperands())
      if (isOfPictures(operand.getType()) && !isFresh(operand))
        tensors.push_back(operand);
    llvm::append_range(
        tensors, llvm::make_filter_range(op->getResults(), [](Value result) {
          return isOfPictures(result.getType());
        }));
    return tensors;
  }

  void number(Value value) {
    if (numbers.try_emplace(value, all.size()).second)
      all.push_back(value);
  }

  llvm::BitVector findFixed() {
    llvm::BitVector fixed(all.size());
    for (auto [index, value] : llvm::enumerate(all))
      if (!value.getDefiningOp() || !canFollow(value.getDefiningOp()) ||
          !llvm::all_of(value.getUsers(), canFollow))
        fixed.set(index);
    return fixed;
  }

  /// Makes classes of tensors that an op needs to be laid out alike.
  void tie() {
    llvm::IntEqClasses ties(all.size());
    for (Operation *op : ops) {
      if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
        for (auto [init, result] :
             llvm::zip(linalgOp.getDpsInits(), op->getResults()))
          if (isOfPictures(init.getType()) && !isFresh(init))
            ties.join(numbers[init], numbers[result]);
        continue;
      }
      SmallVector<Value> tensors = tensorsOf(op);
      for (Value each : tensors)
        ties.join(numbers[tensors.back()], numbers[each]);
    }
    ties.compress();
    llvm::BitVector fixed = findFixed();
    classes.resize(all.size());
    stays.resize(ties.getNumClasses());
    for (unsigned index = 0; index < all.size(); ++index) {
      classes[index] = ties[index];
      if (fixed[index])
        stays.set(ties[index]);
    }
  }

  /// The class of a tensor that may move, or nothing.
  std::optional<unsigned> classOf(Value value) const {
    auto found = numbers.find(value);
    if (found == numbers.end() || stays[classes[found->second]])
      return std::nullopt;
    return classes[found->second];
  }

  /// Whether the channels and the pictures of both are the same ones, as far as
  /// maps say.
  static bool areAlike(AffineMap first, AffineMap second) {
    return first.getNumResults() == second.getNumResults() &&
           first.getResult(0) == second.getResult(0) &&
           first.getResult(kChannels) == second.getResult(kChannels);
  }

  /// Joins classes whose tensors are pixels of the same channels: of a
  /// convolution what it moves over and what it makes, but not its weights.
  void link(linalg::LinalgOp op, llvm::IntEqClasses &links) {
    SmallVector<std::pair<unsigned, AffineMap>> tensors;
    auto add = [&](Value value, AffineMap map) {
      if (std::optional<unsigned> each = classOf(value))
        tensors.emplace_back(*each, map);
    };
    for (OpOperand &operand : op->getOpOperands())
      if (!isDense(op) || operand.getOperandNumber() == 0)
        add(operand.get(), op.getMatchingIndexingMap(&operand));
    for (OpResult result : op->getResults())
      add(result, op.getIndexingMapMatchingResult(result));
    for (auto [index, each] : llvm::enumerate(tensors))
      for (auto &[other, map] : ArrayRef(tensors).take_front(index))
        if (isDense(op) || areAlike(each.second, map))
          links.join(each.first, other);
  }

  /// Whether an op that is no convolution reads pictures that stay, at the
  /// places where it writes \p result: then one of them lies across.
  bool readsAcross(linalg::LinalgOp op, OpResult result) const {
    AffineMap map = op.getIndexingMapMatchingResult(result);
    return !isDense(op) &&
           llvm::any_of(op.getDpsInputOperands(), [&](OpOperand *operand) {
             Value value = operand->get();
             return isOfPictures(value.getType()) && !isFresh(value) &&
                    !classOf(value) &&
                    op.getMatchingIndexingMap(operand) == map;
           });
  }

  void choose() {
    llvm::IntEqClasses links(stays.size());
    for (Operation *op : ops)
      if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
        link(linalgOp, links);
    links.compress();
    llvm::BitVector isRead(links.getNumClasses()), isWritten(isRead),
        isUnfit(isRead);
    auto note = [&](Value value, llvm::BitVector &set) {
      if (std::optional<unsigned> each = classOf(value))
        set.set(links[*each]);
    };
    for (Operation *op : ops) {
      if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
        for (OpResult result : op->getResults())
          if (readsAcross(linalgOp, result))
            note(result, isUnfit);
      if (!isDense(op) && !isDepthwise(op))
        continue;
      Type type = getElementTypeOrSelf(op->getOperand(0));
      bool isTaken = isDense(op) && (type.isF16() || type.isBF16() ||
                                     (takesFloat32 && type.isF32()));
      note(op->getOperand(0), isTaken ? isRead : isUnfit);
      note(op->getResult(0), isTaken ? isWritten : isUnfit);
    }
    isRead &= isWritten;
    isRead.reset(isUnfit);
    for (Value value : all)
      if (std::optional<unsigned> each = classOf(value))
        if (isRead[links[*each]])
          values.insert(value);
  }

  bool takesFloat32;
  SmallVector<Operation *> ops;
  SmallVector<Value> all;
  llvm::DenseMap<Value, unsigned> numbers;
  /// Of each value.
  SmallVector<unsigned> classes;
  /// Classes that stay.
  llvm::BitVector stays;
  /// What moves.
  llvm::DenseSet<Value> values;
};

/// Rewrites ops, one after the other.
class Mover {
public:
  Mover(Chosen &chosen, MLIRContext *context)
      : chosen(chosen), rewriter(context) {}

  void move(Operation *op) {
    auto isChosen = [&](Value value) { return chosen.contains(value); };
    if (llvm::none_of(op->getOperands(), isChosen) &&
        llvm::none_of(op->getResults(), isChosen))
      return;
    rewriter.setInsertionPoint(op);
    llvm::TypeSwitch<Operation *>(op)
        .Case<tensor::PadOp, tensor::InsertSliceOp, tensor::ExtractSliceOp,
              tensor::ConcatOp>([&](auto each) { moveTensorOp(each); })
        .Case<linalg::LinalgOp>([&](auto each) { moveLinalgOp(each); });
  }

private:
  void replace(Operation *op, Operation *made) {
    made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    for (auto [old, result] :
         llvm::zip_equal(op->getResults(), made->getResults())) {
      // A type that was inferred is of operands that may not have moved yet.
      result.setType(moved(old.getType()));
      chosen.replace(old, result);
    }
    rewriter.replaceOp(op, made);
  }

  void moveTensorOp(tensor::PadOp pad) {
    auto made = tensor::PadOp::create(
        rewriter, pad.getLoc(), moved(pad.getType()), anew(pad.getSource()),
        moved<OpFoldResult>(pad.getMixedLowPad()),
        moved<OpFoldResult>(pad.getMixedHighPad()), pad.getNofold());
    made.getRegion().takeBody(pad.getRegion());
    replace(pad, made);
  }

  void moveTensorOp(tensor::InsertSliceOp insert) {
    replace(insert, tensor::InsertSliceOp::create(
                        rewriter, insert.getLoc(), anew(insert.getSource()),
                        anew(insert.getDest()),
                        moved<OpFoldResult>(insert.getMixedOffsets()),
                        moved<OpFoldResult>(insert.getMixedSizes()),
                        moved<OpFoldResult>(insert.getMixedStrides())));
  }

  void moveTensorOp(tensor::ExtractSliceOp extract) {
    replace(extract, tensor::ExtractSliceOp::create(
                         rewriter, extract.getLoc(), moved(extract.getType()),
                         anew(extract.getSource()),
                         moved<OpFoldResult>(extract.getMixedOffsets()),
                         moved<OpFoldResult>(extract.getMixedSizes()),
                         moved<OpFoldResult>(extract.getMixedStrides())));
  }

  void moveTensorOp(tensor::ConcatOp concat) {
    SmallVector<int64_t> dims = moved<int64_t>(
        llvm::to_vector(llvm::seq<int64_t>(concat.getResultType().getRank())));
    int64_t dim = llvm::find(dims, concat.getDim()) - dims.begin();
    SmallVector<Value> inputs = llvm::map_to_vector(
        concat.getInputs(), [&](Value input) { return anew(input); });
    replace(concat,
            tensor::ConcatOp::create(rewriter, concat.getLoc(),
                                     moved(concat.getType()), dim, inputs));
  }

  void moveLinalgOp(linalg::LinalgOp op) {
    auto generic = dyn_cast<linalg::GenericOp>(op.getOperation());
    // What is made of a named op has the types of its outputs, which may have
    // moved already.
    SmallVector<Type> types(op->getResultTypes());
    if (!generic) {
      SmallVector<Value> old(op->getResults());
      generic = *linalg::generalizeNamedOp(rewriter, op);
      for (auto [before, after] : llvm::zip_equal(old, generic.getResults()))
        chosen.replace(before, after);
    }
    rewriter.setInsertionPoint(generic);
    SmallVector<AffineMap> maps = generic.getIndexingMapsArray();
    for (OpOperand &operand : generic->getOpOperands())
      if (chosen.contains(generic.isDpsInit(&operand)
                              ? generic.getTiedOpResult(&operand)
                              : operand.get()))
        maps[operand.getOperandNumber()] =
            moved(maps[operand.getOperandNumber()]);
    generic.setIndexingMapsAttr(rewriter.getAffineMapArrayAttr(maps));
    for (OpOperand &init : generic.getDpsInitsMutable()) {
      OpResult result = generic.getTiedOpResult(&init);
      Type type = types[result.getResultNumber()];
      if (chosen.contains(result)) {
        init.set(anew(init.get()));
        type = moved(type);
      }
      result.setType(type);
    }
  }

  /// `init` itself, where it has moved, or one like it that has.
  Value anew(Value init) {
    if (!isFresh(init))
      return init;
    linalg::FillOp fill = freshFill(init);
    auto empty =
        (fill ? fill.getOutputs()[0] : init).getDefiningOp<tensor::EmptyOp>();
    Value made = tensor::EmptyOp::create(
        rewriter, empty.getLoc(), moved<OpFoldResult>(empty.getMixedSizes()),
        empty.getType().getElementType());
    if (fill)
      made = linalg::FillOp::create(rewriter, fill.getLoc(),
                                    fill.getInputs()[0], made)
                 .getResult(0);
    return made;
  }

  Chosen &chosen;
  IRRewriter rewriter;
};

struct FastkChannelsLastPass
    : fastk::impl::FastkChannelsLastPassBase<FastkChannelsLastPass> {
  using Base::Base;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    Chosen chosen(function, float32);
    if (chosen.size() == 0)
      return;
    remark::passed(function.getLoc(), remark::RemarkOpts::name("channels-last")
                                          .category("fastk")
                                          .function(function.getName()))
        << remark::metric("tensors", static_cast<int>(chosen.size()))
        << remark::reason("they lie between convolutions");
    Mover mover(chosen, &getContext());
    for (Operation *op : chosen.getOps())
      mover.move(op);
  }
};
} // namespace
