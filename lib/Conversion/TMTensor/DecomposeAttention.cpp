//===- DecomposeAttention.cpp - tm_tensor.attention to linalg -------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LowerTMTensor.h"
#include "fastk/Conversion/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace fastk;
using utils::IteratorType;

namespace {
/// Replaces one op.
class AttentionEmitter {
public:
  AttentionEmitter(OpBuilder &builder, tm_tensor::AttentionOp op)
      : builder(builder), op(op), loc(op.getLoc()) {
    Type element = op.getOutputType(0).getElementType();
    narrow = cast<FloatType>(element);
    wide = narrow.isF64() ? narrow : FloatType(builder.getF32Type());
  }

  Value emit();

private:
  using Body = llvm::function_ref<Value(ValueRange)>;
  Value constant(double value) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getFloatAttr(wide, value));
  }
  Value widen(Value value) {
    auto type = cast<FloatType>(value.getType());
    if (type == wide)
      return value;
    if (type.getWidth() > wide.getWidth())
      return arith::TruncFOp::create(builder, loc, wide, value);
    return arith::ExtFOp::create(builder, loc, wide, value);
  }
  /// The scale: an attribute, or one over the root of the size of a head.
  Value scale();
  /// A tensor of `sizes`, each element made by `body` of those of `inputs`,
  /// which are read by `maps`; `initial` where loops reduce.
  Value generic(FloatType element, ArrayRef<OpFoldResult> sizes,
                std::optional<double> initial, ValueRange inputs,
                ArrayRef<ArrayRef<unsigned>> maps,
                ArrayRef<IteratorType> iterators, Body body);

  OpBuilder &builder;
  tm_tensor::AttentionOp op;
  Location loc;
  FloatType narrow, wide;
};
} // namespace

Value AttentionEmitter::scale() {
  if (std::optional<APFloat> given = op.getScale())
    return constant(given->convertToDouble());
  ShapedType query = op.getInputType(0);
  if (!query.isDynamicDim(2))
    return constant(1.0 / std::sqrt(static_cast<double>(query.getDimSize(2))));
  Value size = tensor::DimOp::create(builder, loc, op.getInputs()[0], 2);
  size = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), size);
  size = arith::SIToFPOp::create(builder, loc, wide, size);
  return arith::DivFOp::create(builder, loc, constant(1.0),
                               math::SqrtOp::create(builder, loc, size));
}

Value AttentionEmitter::generic(FloatType element, ArrayRef<OpFoldResult> sizes,
                                std::optional<double> initial,
                                ValueRange inputs,
                                ArrayRef<ArrayRef<unsigned>> maps,
                                ArrayRef<IteratorType> iterators, Body body) {
  Value init = tensor::EmptyOp::create(builder, loc, sizes, element);
  if (initial)
    init = linalg::FillOp::create(builder, loc, constant(*initial), init)
               .getResult(0);
  SmallVector<AffineMap> affine;
  for (ArrayRef<unsigned> map : maps)
    affine.push_back(AffineMap::getMultiDimMapWithTargets(
        iterators.size(), map, builder.getContext()));
  return linalg::GenericOp::create(
             builder, loc, init.getType(), inputs, init, affine, iterators,
             [&](OpBuilder &nested, Location, ValueRange arguments) {
               OpBuilder::InsertionGuard guard(builder);
               builder.restoreInsertionPoint(nested.saveInsertionPoint());
               Value result = body(arguments);
               linalg::YieldOp::create(builder, loc, result);
             })
      .getResult(0);
}

Value AttentionEmitter::emit() {
  constexpr auto parallel = IteratorType::parallel,
                 reduction = IteratorType::reduction;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Value query = op.getInputs()[0], key = op.getInputs()[1],
        value = op.getInputs()[2];
  auto queries = tensor::getMixedSizes(builder, loc, query);
  auto values = tensor::getMixedSizes(builder, loc, value);
  OpFoldResult batch = queries[0], rows = queries[1], columns = values[1];
  auto minimum = constant(-infinity);

  // Loops: batch, row, column, element of a head.
  Value scores = generic(
      wide, {batch, rows, columns}, 0.0, {query, key},
      {{0, 1, 3}, {0, 2, 3}, {0, 1, 2}},
      {parallel, parallel, parallel, reduction}, [&](ValueRange in) -> Value {
        Value product =
            arith::MulFOp::create(builder, loc, widen(in[0]), widen(in[1]));
        return arith::AddFOp::create(builder, loc, in[2], product);
      });
  Value factor = scale();
  SmallVector<Value> inputs = {scores};
  static constexpr unsigned kIdentity[] = {0, 1, 2};
  SmallVector<ArrayRef<unsigned>> maps(2, kIdentity);
  if (op.getInputs().size() == 4) {
    inputs.push_back(op.getInputs()[3]);
    maps.push_back(kIdentity);
  }
  scores = generic(
      wide, {batch, rows, columns}, std::nullopt, inputs, maps,
      {parallel, parallel, parallel}, [&](ValueRange in) -> Value {
        Value scaled = arith::MulFOp::create(builder, loc, in[0], factor);
        if (in.size() == 2)
          return scaled;
        if (in[1].getType().isInteger(1))
          return arith::SelectOp::create(builder, loc, in[1], scaled, minimum);
        return arith::AddFOp::create(builder, loc, scaled, widen(in[1]));
      });
  Value largest =
      generic(wide, {batch, rows}, -infinity, scores, {{0, 1, 2}, {0, 1}},
              {parallel, parallel, reduction}, [&](ValueRange in) -> Value {
                return arith::MaximumFOp::create(builder, loc, in[0], in[1]);
              });
  Value zero = constant(0.0);
  // Of a row that is shut out wholly nothing is left, rather than NaNs.
  Value weights = generic(
      wide, {batch, rows, columns}, std::nullopt, {scores, largest},
      {{0, 1, 2}, {0, 1}, {0, 1, 2}}, {parallel, parallel, parallel},
      [&](ValueRange in) -> Value {
        Value isOut = arith::CmpFOp::create(
            builder, loc, arith::CmpFPredicate::OEQ, in[1], minimum);
        Value shifted = arith::SubFOp::create(builder, loc, in[0], in[1]);
        Value weight = math::ExpOp::create(builder, loc, shifted);
        return arith::SelectOp::create(builder, loc, isOut, zero, weight);
      });
  Value sums =
      generic(wide, {batch, rows}, 0.0, weights, {{0, 1, 2}, {0, 1}},
              {parallel, parallel, reduction}, [&](ValueRange in) -> Value {
                return arith::AddFOp::create(builder, loc, in[1], in[0]);
              });
  // Loops: batch, row, element of a value, column.
  Value mixed = generic(
      wide, {batch, rows, values[2]}, 0.0, {weights, value},
      {{0, 1, 3}, {0, 3, 2}, {0, 1, 2}},
      {parallel, parallel, parallel, reduction}, [&](ValueRange in) -> Value {
        Value product =
            arith::MulFOp::create(builder, loc, in[0], widen(in[1]));
        return arith::AddFOp::create(builder, loc, in[2], product);
      });
  Value result =
      generic(narrow, {batch, rows, values[2]}, std::nullopt, {mixed, sums},
              {{0, 1, 2}, {0, 1}, {0, 1, 2}}, {parallel, parallel, parallel},
              [&](ValueRange in) -> Value {
                Value isOut = arith::CmpFOp::create(
                    builder, loc, arith::CmpFPredicate::OEQ, in[1], zero);
                Value mean = arith::DivFOp::create(builder, loc, in[0], in[1]);
                mean = arith::SelectOp::create(builder, loc, isOut, zero, mean);
                if (narrow == wide)
                  return mean;
                return arith::TruncFOp::create(builder, loc, narrow, mean);
              });
  Type wanted = op.getOutputs()[0].getType();
  if (result.getType() != wanted)
    result = tensor::CastOp::create(builder, loc, wanted, result);
  return result;
}

static void decomposeAttention(ModuleOp module) {
  SmallVector<tm_tensor::AttentionOp> ops;
  module.walk([&](tm_tensor::AttentionOp op) {
    if (op.hasPureTensorSemantics())
      ops.push_back(op);
  });
  OpBuilder builder(module.getContext());
  for (tm_tensor::AttentionOp op : ops) {
    remark::passed(op.getLoc(),
                   remark::RemarkOpts::name("tm_tensor").category("fastk"))
        << remark::metric("op", "tm_tensor.attention")
        << remark::reason("lowered to linalg; no part of a workload");
    builder.setInsertionPoint(op);
    Value result = AttentionEmitter(builder, op).emit();
    op.getResults()[0].replaceAllUsesWith(result);
    op.erase();
  }
}

namespace fastk {
#define GEN_PASS_DEF_FASTKDECOMPOSEATTENTIONPASS
#include "fastk/Conversion/Passes.h.inc"

namespace {
struct FastkDecomposeAttentionPass
    : impl::FastkDecomposeAttentionPassBase<FastkDecomposeAttentionPass> {
  using Base::Base;
  void runOnOperation() override { decomposeAttention(getOperation()); }
};
} // namespace
} // namespace fastk
