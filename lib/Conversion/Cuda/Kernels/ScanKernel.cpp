//===- ScanKernel.cpp - One block a row of a scan -------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block walks along its row, an element a thread: warps scan by shuffles,
// then each thread combines the totals of the warps before its own, which lie
// in shared memory. The order is fixed, so runs agree bit by bit. The totals
// have two places that take turns: one barrier a step suffices.
//
//===----------------------------------------------------------------------===//

#include "ScanKernel.h"
#include "BlockReduce.h"
#include "KernelBody.h"
#include "TMTensor/LowerTMTensor.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fastk;

static constexpr int64_t kWarp = 32;
/// Threads of a block where the rows fill the device, and where they do not.
static constexpr int64_t kThreads = 256, kMaxThreads = 1024, kManyRows = 512;

bool fastk::canScanByBlocks(tm_tensor::ScanOp op) {
  ShapedType type = op.getInputType(0);
  Type element = type.getElementType();
  int64_t dimension = op.getDimension();
  return op.getInclusive() && dimension + 1 == type.getRank() &&
         type.getDimSize(dimension) > 0 && element.isIntOrFloat() &&
         isAssociative(op) &&
         arith::getNeutralElement(&op.getRegion().front().front());
}

namespace {
class ScanBuilder {
public:
  ScanBuilder(tm_tensor::ScanOp op)
      : op(op), loc(op.getLoc()), builder(op.getContext()),
        type(cast<MemRefType>(op.getInputs()[0].getType())),
        length(type.getDimSize(op.getDimension())) {}

  DeviceKernel build(gpu::GPUModuleOp module, StringRef name);

private:
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }
  Value compare(arith::CmpIPredicate how, Value a, Value b) {
    return arith::CmpIOp::create(builder, loc, how, a, b);
  }
  Value combine(Value before, Value element) {
    return emitBody(builder, op.getRegion().front(), {before, element});
  }
  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  }
  void ifThen(Value condition, llvm::function_ref<void()> body) {
    auto branch = scf::IfOp::create(builder, loc, condition,
                                    /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    body();
  }
  /// The indices of the block's row, without those along it.
  SmallVector<Value> rowIndices(Value block);
  /// The input at `indices`, or what changes nothing where it ends.
  Value loadOrNeutral(Value input, ArrayRef<Value> indices, Value isInside);
  /// What the lanes up to this one have.
  Value scanWarp(Value value, Value lane);

  tm_tensor::ScanOp op;
  Location loc;
  OpBuilder builder;
  MemRefType type;
  int64_t length;
  Value neutral;
};
} // namespace

SmallVector<Value> ScanBuilder::rowIndices(Value block) {
  SmallVector<Value> indices(type.getRank() - 1);
  for (unsigned dim = indices.size(); dim-- > 0;) {
    Value extent = constant(type.getDimSize(dim));
    indices[dim] = arith::RemUIOp::create(builder, loc, block, extent);
    block = arith::DivUIOp::create(builder, loc, block, extent);
  }
  return indices;
}

Value ScanBuilder::loadOrNeutral(Value input, ArrayRef<Value> indices,
                                 Value isInside) {
  auto branch = scf::IfOp::create(builder, loc, type.getElementType(), isInside,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  Value loaded = memref::LoadOp::create(builder, loc, input, indices);
  scf::YieldOp::create(builder, loc, loaded);
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, loc, neutral);
  return branch.getResult(0);
}

Value ScanBuilder::scanWarp(Value value, Value lane) {
  for (int64_t distance = 1; distance < kWarp; distance *= 2) {
    Value before = shuffle(builder, loc, value, distance, gpu::ShuffleMode::UP);
    Value hasBefore =
        compare(arith::CmpIPredicate::uge, lane, constant(distance));
    value = select(hasBefore, combine(before, value), value);
  }
  return value;
}

DeviceKernel ScanBuilder::build(gpu::GPUModuleOp module, StringRef name) {
  DeviceKernel kernel;
  kernel.name = name.str();
  kernel.blocks = type.getNumElements() / length;
  kernel.threads =
      std::min<int64_t>(kernel.blocks < kManyRows ? kMaxThreads : kThreads,
                        llvm::alignTo(length, kWarp));
  int64_t warps = kernel.threads / kWarp;
  Value memrefs[] = {op.getInputs()[0], op.getOutputs()[0], op.getOutputs()[1]};
  IRMapping mapping;
  gpu::GPUFuncOp func = createKernel(builder, op, module, name, kernel.threads,
                                     memrefs, kernel.operands, mapping);
  Value input = mapping.lookup(memrefs[0]), output = mapping.lookup(memrefs[1]),
        accumulator = mapping.lookup(memrefs[2]);
  Type element = type.getElementType();
  auto space = gpu::AddressSpaceAttr::get(builder.getContext(),
                                          gpu::AddressSpace::Workgroup);
  Value totals = func.addWorkgroupAttribution(
      MemRefType::get({2, warps}, element, MemRefLayoutAttrInterface(), space),
      loc);
  neutral = arith::ConstantOp::create(
      builder, loc, *arith::getNeutralElement(&op.getRegion().front().front()));
  Value thread = gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x);
  SmallVector<Value> row =
      rowIndices(gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x));
  Value warp = arith::DivUIOp::create(builder, loc, thread, constant(kWarp)),
        lane = arith::RemUIOp::create(builder, loc, thread, constant(kWarp));
  Value isLastLane =
      compare(arith::CmpIPredicate::eq, lane, constant(kWarp - 1));

  // Every thread carries the total of what came before, and whose turn it is.
  auto loop = scf::ForOp::create(builder, loc, constant(0), constant(length),
                                 constant(kernel.threads),
                                 ValueRange{neutral, constant(0)});
  builder.setInsertionPointToStart(loop.getBody());
  Value carried = loop.getRegionIterArg(0), turn = loop.getRegionIterArg(1);
  Value position =
      arith::AddIOp::create(builder, loc, loop.getInductionVar(), thread);
  SmallVector<Value> at(row);
  at.push_back(position);
  Value isInside =
      compare(arith::CmpIPredicate::ult, position, constant(length));
  Value value = scanWarp(loadOrNeutral(input, at, isInside), lane);
  ifThen(isLastLane, [&] {
    memref::StoreOp::create(builder, loc, value, totals,
                            ValueRange{turn, warp});
  });
  gpu::BarrierOp::create(builder, loc);
  Value before = carried, total = carried;
  for (int64_t other = 0; other < warps; ++other) {
    Value theirs = memref::LoadOp::create(builder, loc, totals,
                                          ValueRange{turn, constant(other)});
    total = combine(total, theirs);
    Value isBefore = compare(arith::CmpIPredicate::ult, constant(other), warp);
    before = select(isBefore, total, before);
  }
  value = combine(before, value);
  ifThen(isInside,
         [&] { memref::StoreOp::create(builder, loc, value, output, at); });
  Value isLast =
      compare(arith::CmpIPredicate::eq, position, constant(length - 1));
  ifThen(isLast, [&] {
    memref::StoreOp::create(builder, loc, value, accumulator, row);
  });
  Value next = arith::SubIOp::create(builder, loc, constant(1), turn);
  scf::YieldOp::create(builder, loc, ValueRange{total, next});
  return kernel;
}

namespace {
class ScanStrategy : public KernelStrategy {
public:
  explicit ScanStrategy(tm_tensor::ScanOp op) : op(op) {}

  LogicalResult decide(KernelChoices &) override { return success(); }
  FailureOr<KernelSequence> emit(gpu::GPUModuleOp module,
                                 unsigned firstNumber) override {
    DeviceKernel kernel =
        ScanBuilder(op).build(module, kernelName(firstNumber));
    return KernelSequence(kernel);
  }

private:
  tm_tensor::ScanOp op;
};
} // namespace

std::unique_ptr<KernelStrategy> fastk::matchScan(Operation *op,
                                                 const KernelContext &) {
  auto scan = dyn_cast<tm_tensor::ScanOp>(op);
  if (!scan || !canScanByBlocks(scan))
    return nullptr;
  return std::make_unique<ScanStrategy>(scan);
}
