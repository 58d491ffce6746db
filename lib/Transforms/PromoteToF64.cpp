//===- PromoteToF64.cpp - The oracle's arithmetic -------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Types are changed in place: every op that computes on floats does so on any
// float. What depends on the width of a float is refused.
//
//===----------------------------------------------------------------------===//

#include "fastk/Transforms/Passes.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace fastk {
#define GEN_PASS_DEF_FASTKPROMOTETOF64PASS
#include "fastk/Transforms/Passes.h.inc"
} // namespace fastk

/// f64 in place of each smaller float, also inside complex numbers and tensors.
static Type promote(Type type) {
  if (isa<FloatType>(type))
    return Float64Type::get(type.getContext());
  if (auto complex = dyn_cast<ComplexType>(type))
    return ComplexType::get(promote(complex.getElementType()));
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return tensor.clone(promote(tensor.getElementType()));
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.clone(promote(vector.getElementType()));
  return type;
}

static APFloat toDouble(APFloat value) {
  bool lost;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lost);
  return value;
}

/// The same constant in f64. Null when there is no such thing.
static TypedAttr promoteConstant(TypedAttr value) {
  Type type = promote(value.getType());
  if (type == value.getType())
    return value;
  if (auto number = dyn_cast<FloatAttr>(value))
    return FloatAttr::get(type, toDouble(number.getValue()));
  auto dense = dyn_cast<DenseFPElementsAttr>(value);
  if (!dense)
    return nullptr;
  auto shaped = cast<ShapedType>(type);
  if (dense.isSplat())
    return DenseElementsAttr::get(shaped,
                                  toDouble(dense.getSplatValue<APFloat>()));
  SmallVector<APFloat> values;
  for (APFloat element : dense.getValues<APFloat>())
    values.push_back(toDouble(element));
  return DenseElementsAttr::get(shaped, values);
}

/// The parts of a complex constant in f64; null when they have no such form.
static ArrayAttr promoteParts(ArrayAttr parts) {
  SmallVector<Attribute> promoted;
  for (Attribute part : parts) {
    auto number = dyn_cast<FloatAttr>(part);
    if (!number)
      return nullptr;
    promoted.push_back(promoteConstant(number));
  }
  return ArrayAttr::get(parts.getContext(), promoted);
}

/// A tensor of smaller floats that is no list of floats: weights whose bytes
/// lie beside the module, as torch-mlir prints them, or complex numbers. It
/// stays as it is and is extended, as an argument is.
static bool isExtended(arith::ConstantOp constant) {
  return isa<RankedTensorType>(constant.getType()) &&
         !isa<DenseFPElementsAttr>(constant.getValue()) &&
         promote(constant.getType()) != constant.getType();
}

static bool isWiderThanF64(Type type) {
  type = getElementTypeOrSelf(type);
  if (auto complex = dyn_cast<ComplexType>(type))
    type = complex.getElementType();
  auto number = dyn_cast<FloatType>(type);
  return number && number.getWidth() > 64;
}

/// Ops whose meaning lies in the bits of a float, not in its value.
static bool dependsOnWidth(Operation *op) {
  auto isFloat = [](Type type) {
    return isa<FloatType, ComplexType>(getElementTypeOrSelf(type));
  };
  return isa<arith::BitcastOp, tensor::BitcastOp>(op) &&
         (isFloat(op->getOperand(0).getType()) ||
          isFloat(op->getResult(0).getType()));
}

namespace {
struct FastkPromoteToF64Pass
    : fastk::impl::FastkPromoteToF64PassBase<FastkPromoteToF64Pass> {
  using Base::Base;

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isDeclaration())
      return;
    if (failed(check(func)))
      return signalPassFailure();

    Block &entry = func.getBody().front();
    SmallVector<Operation *> ops;
    func.getBody().walk([&](Operation *op) { ops.push_back(op); });
    // Converted on entry, and from there on as f64.
    OpBuilder builder = OpBuilder::atBlockBegin(&entry);
    for (BlockArgument argument : entry.getArguments()) {
      builder.setInsertionPointToStart(&entry);
      extend(builder, argument);
    }

    for (Operation *op : ops) {
      if (auto constant = dyn_cast<arith::ConstantOp>(op);
          constant && isExtended(constant)) {
        builder.setInsertionPointAfter(constant);
        extend(builder, constant.getResult());
        continue;
      }
      for (Region &region : op->getRegions())
        for (Block &block : region)
          for (BlockArgument argument : block.getArguments())
            argument.setType(promote(argument.getType()));
      for (OpResult result : op->getResults())
        result.setType(promote(result.getType()));
      if (auto constant = dyn_cast<arith::ConstantOp>(op))
        constant.setValueAttr(promoteConstant(constant.getValue()));
      if (auto constant = dyn_cast<complex::ConstantOp>(op))
        constant.setValueAttr(promoteParts(constant.getValue()));
    }
    // Operands and results of a conversion now have one type.
    for (Operation *op : ops)
      if (isa<arith::ExtFOp, arith::TruncFOp>(op)) {
        op->getResult(0).replaceAllUsesWith(op->getOperand(0));
        op->erase();
      }
    func.setFunctionType(
        FunctionType::get(func.getContext(), entry.getArgumentTypes(),
                          entry.getTerminator()->getOperandTypes()));
  }

  LogicalResult check(func::FuncOp func) {
    WalkResult walk = func.walk([&](Operation *op) {
      auto refuse = [&](const Twine &why) {
        op->emitOpError() << why << " (required by 'fastk-promote-to-f64')";
        return WalkResult::interrupt();
      };
      for (Type type : llvm::concat<const Type>(op->getOperandTypes(),
                                                op->getResultTypes()))
        if (isWiderThanF64(type))
          return refuse("computes in a float wider than f64, which an oracle "
                        "in f64 cannot judge");
      if (dependsOnWidth(op))
        return refuse("reinterprets the bits of a float, which have no "
                      "counterpart in f64");
      if (isa<math::IsNormalOp>(op) &&
          !getElementTypeOrSelf(op->getOperand(0).getType()).isF64())
        return refuse("asks whether a number is normal, which is another "
                      "question in f64");
      if (auto constant = dyn_cast<arith::ConstantOp>(op))
        if (!isExtended(constant) && !promoteConstant(constant.getValue()))
          return refuse("has a constant that cannot be converted to f64");
      if (auto constant = dyn_cast<complex::ConstantOp>(op))
        if (!promoteParts(constant.getValue()))
          return refuse("has a constant that cannot be converted to f64");
      return WalkResult::advance();
    });
    return failure(walk.wasInterrupted());
  }

  /// Makes users of \p source use it in f64; that is made where \p builder is.
  static void extend(OpBuilder &builder, Value source) {
    Type type = promote(source.getType());
    if (type == source.getType())
      return;
    Location loc = source.getLoc();
    auto tensor = dyn_cast<RankedTensorType>(source.getType());
    if (!tensor) {
      auto extend = arith::ExtFOp::create(builder, loc, type, source);
      source.replaceAllUsesExcept(extend, extend);
      return;
    }
    SmallVector<OpFoldResult> sizes =
        tensor::getMixedSizes(builder, loc, source);
    Value empty = tensor::EmptyOp::create(
        builder, loc, sizes, cast<RankedTensorType>(type).getElementType());
    AffineMap identity = builder.getMultiDimIdentityMap(tensor.getRank());
    SmallVector<utils::IteratorType> iterators(tensor.getRank(),
                                               utils::IteratorType::parallel);
    auto extend = linalg::GenericOp::create(
        builder, loc, TypeRange{type}, ValueRange{source}, ValueRange{empty},
        ArrayRef<AffineMap>{identity, identity}, iterators,
        [](OpBuilder &b, Location l, ValueRange args) {
          Type to = args[1].getType();
          Value value;
          if (auto complex = dyn_cast<ComplexType>(to)) {
            auto from = cast<ComplexType>(args[0].getType());
            Type part = complex.getElementType();
            Value re =
                complex::ReOp::create(b, l, from.getElementType(), args[0]);
            Value im =
                complex::ImOp::create(b, l, from.getElementType(), args[0]);
            re = arith::ExtFOp::create(b, l, part, re);
            im = arith::ExtFOp::create(b, l, part, im);
            value = complex::CreateOp::create(b, l, to, re, im);
          } else {
            value = arith::ExtFOp::create(b, l, to, args[0]);
          }
          linalg::YieldOp::create(b, l, value);
        });
    SmallPtrSet<Operation *, 4> keep = {extend};
    for (Operation *user : source.getUsers())
      if (isa<tensor::DimOp>(user))
        keep.insert(user);
    source.replaceAllUsesExcept(extend.getResult(0), keep);
  }
};
} // namespace
