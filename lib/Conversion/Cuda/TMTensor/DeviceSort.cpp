//===- DeviceSort.cpp - A sort as parallel loops --------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A merge sort in which each element finds its own place. First in short runs,
// by counting what goes before it; then runs are merged two by two: an element
// stands behind those of its own run that it stood behind before, and behind
// those of the other run that a binary search finds.
//
//===----------------------------------------------------------------------===//

#include "DeviceSort.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fastk;

/// Counting is n^2, a merge is a kernel of its own.
static constexpr int64_t kRun = 64;

namespace {
class DeviceSorter {
public:
  DeviceSorter(OpBuilder &builder, Location loc, ValueRange buffers,
               int64_t dimension, Order order)
      : builder(builder), loc(loc), from(buffers), dimension(dimension),
        order(order), shape(cast<MemRefType>(buffers[0].getType()).getShape()),
        length(shape[dimension]) {}

  void emit();

private:
  using Body = llvm::function_ref<void(SmallVector<Value> &indices, Value at)>;
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }
  Value add(Value a, Value b) {
    return arith::AddIOp::create(builder, loc, a, b);
  }
  Value sub(Value a, Value b) {
    return arith::SubIOp::create(builder, loc, a, b);
  }
  Value smaller(Value a, Value b) {
    return arith::MinUIOp::create(builder, loc, a, b);
  }
  Value compare(arith::CmpIPredicate how, Value a, Value b) {
    return arith::CmpIOp::create(builder, loc, how, a, b);
  }
  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  }
  /// Where the run of `width` that `position` is in begins.
  Value runOf(Value position, int64_t width) {
    Value number =
        arith::DivUIOp::create(builder, loc, position, constant(width));
    return arith::MulIOp::create(builder, loc, number, constant(width));
  }
  SmallVector<Value> load(ArrayRef<Value> indices, Value position);
  /// Puts an element where it goes in the other buffers.
  void store(ArrayRef<Value> indices, Value position, ArrayRef<Value> element);
  /// Whether `a` and `b` may stay in that order.
  Value ask(ArrayRef<Value> a, ArrayRef<Value> b);
  /// A loop over all elements, after which the buffers change places.
  void pass(Body body);
  void sortRuns();
  void mergeRuns(int64_t width);

  OpBuilder &builder;
  Location loc;
  SmallVector<Value> from, to;
  int64_t dimension;
  Order order;
  ArrayRef<int64_t> shape;
  int64_t length;
};
} // namespace

SmallVector<Value> DeviceSorter::load(ArrayRef<Value> indices, Value position) {
  SmallVector<Value> at(indices), element;
  at[dimension] = position;
  for (Value buffer : from)
    element.push_back(memref::LoadOp::create(builder, loc, buffer, at));
  return element;
}

void DeviceSorter::store(ArrayRef<Value> indices, Value position,
                         ArrayRef<Value> element) {
  SmallVector<Value> at(indices);
  at[dimension] = position;
  for (auto [value, buffer] : llvm::zip_equal(element, to))
    memref::StoreOp::create(builder, loc, value, buffer, at);
}

Value DeviceSorter::ask(ArrayRef<Value> a, ArrayRef<Value> b) {
  SmallVector<Value> arguments;
  for (auto [first, second] : llvm::zip_equal(a, b))
    arguments.append({first, second});
  return order(builder, arguments);
}

void DeviceSorter::pass(Body body) {
  SmallVector<Value> lower(shape.size(), constant(0)), upper,
      step(shape.size(), constant(1));
  for (int64_t size : shape)
    upper.push_back(constant(size));
  auto loop = scf::ParallelOp::create(builder, loc, lower, upper, step);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> indices(loop.getInductionVars());
    body(indices, indices[dimension]);
  }
  std::swap(from, to);
}

void DeviceSorter::sortRuns() {
  pass([&](SmallVector<Value> &indices, Value at) {
    SmallVector<Value> own = load(indices, at);
    Value start = runOf(at, kRun);
    Value end = smaller(add(start, constant(kRun)), constant(length));
    auto loop = scf::ForOp::create(builder, loc, start, end, constant(1),
                                   ValueRange(start));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value other = loop.getInductionVar();
    SmallVector<Value> theirs = load(indices, other), earlier, later;
    Value isEarlier = compare(arith::CmpIPredicate::ult, other, at);
    for (auto [a, b] : llvm::zip_equal(own, theirs)) {
      earlier.push_back(select(isEarlier, b, a));
      later.push_back(select(isEarlier, a, b));
    }
    // Before this one are the earlier ones that stay so, and the later ones
    // that do not.
    Value goesBefore =
        compare(arith::CmpIPredicate::eq, ask(earlier, later), isEarlier);
    Value isOther = compare(arith::CmpIPredicate::ne, other, at);
    goesBefore = arith::AndIOp::create(builder, loc, goesBefore, isOther);
    Value place = loop.getRegionIterArg(0);
    place = select(goesBefore, add(place, constant(1)), place);
    scf::YieldOp::create(builder, loc, place);
    builder.setInsertionPointAfter(loop);
    store(indices, loop.getResult(0), own);
  });
}

void DeviceSorter::mergeRuns(int64_t width) {
  pass([&](SmallVector<Value> &indices, Value at) {
    SmallVector<Value> own = load(indices, at);
    Value start = runOf(at, 2 * width), size = constant(length);
    Value middle = smaller(add(start, constant(width)), size),
          end = smaller(add(start, constant(2 * width)), size);
    Value isLeft = compare(arith::CmpIPredicate::ult, at, middle);
    // The first of the other run that goes behind this one.
    auto search = scf::ForOp::create(
        builder, loc, constant(0), constant(llvm::Log2_64_Ceil(width) + 1),
        constant(1),
        ValueRange{select(isLeft, middle, start), select(isLeft, end, middle)});
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(search.getBody());
      Value low = search.getRegionIterArg(0), high = search.getRegionIterArg(1);
      Value isOpen = compare(arith::CmpIPredicate::ult, low, high);
      Value probe =
          arith::ShRUIOp::create(builder, loc, add(low, high), constant(1));
      SmallVector<Value> theirs =
          load(indices, smaller(probe, constant(length - 1)));
      SmallVector<Value> left, right;
      for (auto [a, b] : llvm::zip_equal(own, theirs)) {
        left.push_back(select(isLeft, a, b));
        right.push_back(select(isLeft, b, a));
      }
      Value isBehind =
          compare(arith::CmpIPredicate::eq, ask(left, right), isLeft);
      Value newLow = select(isBehind, low, add(probe, constant(1))),
            newHigh = select(isBehind, probe, high);
      scf::YieldOp::create(builder, loc,
                           ValueRange{select(isOpen, newLow, low),
                                      select(isOpen, newHigh, high)});
    }
    // Those before it in its own run, and those of the other one.
    store(indices, add(sub(at, middle), search.getResult(0)), own);
  });
}

void DeviceSorter::emit() {
  if (length < 2)
    return;
  for (Value buffer : from) {
    Type element = cast<MemRefType>(buffer.getType()).getElementType();
    to.push_back(
        memref::AllocOp::create(builder, loc, MemRefType::get(shape, element)));
  }
  SmallVector<Value> given(from);
  sortRuns();
  for (int64_t width = kRun; width < length; width *= 2)
    mergeRuns(width);
  if (from == given)
    return;
  for (auto [source, target] : llvm::zip_equal(from, given))
    memref::CopyOp::create(builder, loc, source, target);
}

void fastk::emitDeviceSort(OpBuilder &builder, Location loc, ValueRange buffers,
                           int64_t dimension, Order order) {
  DeviceSorter(builder, loc, buffers, dimension, order).emit();
}
