//===- Roofline.cpp - Bytes, operations and floor of a workload -----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Analysis/Roofline.h"
#include "RooflineBuilder.h"
#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "fastk/Dialect/Fastk/PlanRegion.h"
#include "fastk/Protocol/Job.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"
#include <algorithm>

using namespace mlir;

namespace fastk {

double OperationCounts::flops() const {
  return 2 * multiplyAdd + addSub + multiply + divide + compare + squareRoot +
         transcendental + foldable;
}

OperationCounts &OperationCounts::operator+=(const OperationCounts &other) {
  multiplyAdd += other.multiplyAdd;
  addSub += other.addSub;
  multiply += other.multiply;
  divide += other.divide;
  compare += other.compare;
  squareRoot += other.squareRoot;
  transcendental += other.transcendental;
  conversion += other.conversion;
  integer += other.integer;
  foldable += other.foldable;
  return *this;
}

llvm::StringRef stringify(Bound bound) {
  return bound == Bound::Memory ? "memory" : "compute";
}

double Roofline::intensity() const {
  return compulsoryBytes() ? ops.flops() / compulsoryBytes() : 0;
}

RooflinePrecision toRoofline(Precision precision) {
  switch (precision) {
  case Precision::ieee:
    return RooflinePrecision::IEEE;
  case Precision::tf32:
    return RooflinePrecision::TF32;
  case Precision::half:
    return RooflinePrecision::Half;
  }
  llvm_unreachable("all precisions are named above");
}

CacheState Roofline::timedCaches(const TargetDescription &target) const {
  bool isGpu = llvm::StringRef(target.target).starts_with("cuda:");
  return isGpu || footprintBytes <= worker::alwaysFlushedBytes
             ? CacheState::Cold
             : CacheState::Warm;
}

double Roofline::memorySeconds(const TargetDescription &target,
                               CacheState cache) const {
  if (target.memoryBytesPerSecond <= 0)
    return 0;
  // Results may stay in the caches after the clock has stopped; operands may
  // be there when it starts, unless they were flushed.
  double cached = target.cacheBytes();
  double overBus =
      cache == CacheState::Cold
          ? readBytes + std::max(0.0, writtenBytes - cached)
          : std::max(0.0, static_cast<double>(compulsoryBytes()) - cached);
  double seconds = overBus / target.memoryBytesPerSecond;
  if (target.cacheBytesPerSecond > 0)
    seconds = std::max(seconds, compulsoryBytes() / target.cacheBytesPerSecond);
  return seconds;
}

double Roofline::computeSeconds(const TargetDescription &target,
                                RooflinePrecision precision) const {
  double f32 = target.f32OpsPerSecond, f64 = target.f64OpsPerSecond;
  if (f32 <= 0 || f64 <= 0)
    return 0;
  double f16 = std::max(f32, target.f16OpsPerSecond);
  double bf16 = std::max(f32, target.bf16OpsPerSecond);
  // An f32 product can be made of 16-bit ones: of three where the error class
  // keeps f32's accuracy or tf32's, of one where half precision will do.
  double fast = std::max(f16, bf16);
  double split =
      std::max(f32, precision == RooflinePrecision::Half ? fast : fast / 3);
  if (precision != RooflinePrecision::IEEE)
    split = std::max(split, target.tf32OpsPerSecond);
  if (precision == RooflinePrecision::Half)
    f16 = bf16 = fast;
  double contraction = 2 * (contraction16 / f16 + contractionB16 / bf16 +
                            contraction32 / split + contraction64 / f64);
  double rest = elementwise32 / f32 + elementwise64 / f64;
  return std::max(contraction, rest);
}

double Roofline::floorSeconds(const TargetDescription &target, CacheState cache,
                              RooflinePrecision precision) const {
  return std::max(memorySeconds(target, cache),
                  computeSeconds(target, precision));
}

Bound Roofline::bound(const TargetDescription &target, CacheState cache,
                      RooflinePrecision precision) const {
  return memorySeconds(target, cache) >= computeSeconds(target, precision)
             ? Bound::Memory
             : Bound::Compute;
}

/// linalg.softmax and its like are no LinalgOps; their parts are.
static void decomposeAggregates(IRRewriter &rewriter, Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    auto aggregate = dyn_cast<linalg::AggregatedOpInterface>(op);
    if (!aggregate)
      continue;
    rewriter.setInsertionPoint(&op);
    FailureOr<SmallVector<Value>> parts =
        aggregate.decomposeOperation(rewriter);
    if (succeeded(parts))
      rewriter.replaceOp(&op, *parts);
  }
}

Roofline computeRoofline(Region &pattern) {
  if (pattern.empty())
    return Roofline();
  return computeRoofline(pattern.front());
}

Roofline computeRoofline(Block &pattern) {
  // On a copy in which each value is computed once.
  Operation *terminator = pattern.getTerminator();
  MLIRContext *context = terminator->getContext();
  OpBuilder builder(context);
  auto function = func::FuncOp::create(
      builder, terminator->getLoc(), "pattern",
      builder.getFunctionType(pattern.getArgumentTypes(),
                              terminator->getOperandTypes()));
  OwningOpRef<func::FuncOp> owner(function);
  Block *copy = function.addEntryBlock();
  IRMapping mapping;
  mapping.map(pattern.getArguments(), copy->getArguments());
  builder.setInsertionPointToEnd(copy);
  for (Operation &op : pattern.without_terminator())
    builder.clone(op, mapping);
  SmallVector<Value> results;
  for (Value value : terminator->getOperands())
    results.push_back(mapping.lookupOrDefault(value));
  func::ReturnOp::create(builder, terminator->getLoc(), results);

  IRRewriter rewriter(context);
  decomposeAggregates(rewriter, *copy);
  DominanceInfo dominance(function);
  eliminateCommonSubExpressions(rewriter, dominance, function);
  Roofline roofline = RooflineBuilder(*copy).build();
  for (TypeRange types : {TypeRange(pattern.getArgumentTypes()),
                          TypeRange(terminator->getOperandTypes())})
    for (int64_t bytes : bufferBytes(types))
      roofline.footprintBytes += bytes;
  return roofline;
}

} // namespace fastk
