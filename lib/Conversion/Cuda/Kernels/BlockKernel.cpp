//===- BlockKernel.cpp - One block a point --------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Access.h"
#include "KernelBody.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fastk;

/// Below this many elements a block has too little to share.
static constexpr int64_t kShortestReduction = 128;
/// With so many points a thread each keeps the device busy as well.
static constexpr int64_t kManyPoints = 1 << 17;

namespace {
class SharedPointsStrategy : public KernelStrategy {
public:
  explicit SharedPointsStrategy(linalg::GenericOp op) : op(op) {}

  LogicalResult decide(KernelChoices &choices) override;
  FailureOr<KernelSequence> emit(gpu::GPUModuleOp module,
                                 unsigned firstNumber) override;

private:
  linalg::GenericOp op;
  int64_t threads = 1;
};
} // namespace

/// Whether a block for every point pays: a long reduction along memory, every
/// result combined by one op with a neutral element.
static bool wantsBlockKernel(linalg::GenericOp op) {
  KernelBody body(op);
  if (body.countPoints(body.reductionDims) < kShortestReduction)
    return false;
  for (unsigned i = 0; i < op.getNumDpsInits(); ++i)
    if (!findCombiner(op, i).op)
      return false;
  if (body.countPoints(body.parallelDims) < kManyPoints / kShortestReduction)
    return true;
  // Along memory: the fastest dimension of the operands that are read through
  // is reduced.
  int64_t votes = 0;
  for (unsigned i = 0; i < op.getNumDpsInputs(); ++i) {
    for (unsigned dim : body.reductionDims)
      votes += body.strideOf(i, dim) == 1;
    for (unsigned dim : body.parallelDims)
      votes -= body.strideOf(i, dim) == 1;
  }
  return votes > 0 && body.countPoints(body.parallelDims) < kManyPoints * 8;
}

LogicalResult SharedPointsStrategy::decide(KernelChoices &choices) {
  KernelBody body(op);
  int64_t length = body.countPoints(body.reductionDims);
  threads = choices.decide("share_threads", length >= 8192  ? 512
                                            : length >= 512 ? 256
                                                            : 128);
  return success();
}

FailureOr<KernelSequence> SharedPointsStrategy::emit(gpu::GPUModuleOp module,
                                                     unsigned firstNumber) {
  KernelBody body(op);
  SmallVector<unsigned> order = body.orderForCoalescing(body.reductionDims);
  int64_t length = body.countPoints(order);
  DeviceKernel kernel;
  kernel.name = kernelName(firstNumber);
  kernel.threads = threads;
  kernel.blocks = body.countPoints(body.parallelDims);
  gpu::GPUFuncOp func =
      body.createFunction(module, kernel.name, kernel.threads);
  kernel.operands = body.operands;

  OpBuilder &builder = body.builder;
  Location loc = body.loc;
  Value block = gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x);
  Value thread = gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x);
  SmallVector<Value> indices(body.extents.size());
  body.delinearize(block, body.parallelDims, indices);

  // Each thread takes every so many-th element.
  unsigned results = op.getNumDpsInits();
  SmallVector<Operation *> combiners;
  SmallVector<Value> values;
  for (unsigned i = 0; i < results; ++i) {
    combiners.push_back(findCombiner(op, i).op);
    values.push_back(arith::ConstantOp::create(
        builder, loc, *arith::getNeutralElement(combiners.back())));
  }
  auto loop = scf::ForOp::create(builder, loc, thread, body.constant(length),
                                 body.constant(kernel.threads), values);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    body.delinearize(loop.getInductionVar(), order, indices);
    SmallVector<Value> next = body.evaluate(indices, loop.getRegionIterArgs());
    scf::YieldOp::create(builder, loc, next);
  }

  // Then halves are added to halves in shared memory.
  auto combine = [&](unsigned i, Value a, Value b) -> Value {
    Operation *copy = builder.clone(*combiners[i]);
    copy->setOperands({a, b});
    return copy->getResult(0);
  };
  auto space = gpu::AddressSpaceAttr::get(builder.getContext(),
                                          gpu::AddressSpace::Workgroup);
  SmallVector<Value> shared;
  for (unsigned i = 0; i < results; ++i) {
    Value value = loop.getResult(i);
    auto type = MemRefType::get({kernel.threads}, value.getType(),
                                MemRefLayoutAttrInterface(), space);
    shared.push_back(func.addWorkgroupAttribution(type, loc));
    memref::StoreOp::create(builder, loc, value, shared.back(), thread);
  }
  for (int64_t half = kernel.threads / 2; half > 0; half /= 2) {
    gpu::BarrierOp::create(builder, loc);
    Value takes = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                        thread, body.constant(half));
    auto branch =
        scf::IfOp::create(builder, loc, takes, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    Value other =
        arith::AddIOp::create(builder, loc, thread, body.constant(half));
    for (unsigned i = 0; i < results; ++i) {
      Value a = memref::LoadOp::create(builder, loc, shared[i], thread);
      Value b = memref::LoadOp::create(builder, loc, shared[i], other);
      memref::StoreOp::create(builder, loc, combine(i, a, b), shared[i],
                              thread);
    }
  }
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        thread, body.constant(0));
  auto branch =
      scf::IfOp::create(builder, loc, isFirst, /*withElseRegion=*/false);
  builder.setInsertionPointToStart(branch.thenBlock());
  for (unsigned i = 0; i < results; ++i) {
    Value sum =
        memref::LoadOp::create(builder, loc, shared[i], body.constant(0));
    body.storeResult(i, indices, combine(i, body.loadResult(i, indices), sum));
  }
  return KernelSequence(kernel);
}

std::unique_ptr<KernelStrategy>
fastk::matchSharedPoints(Operation *op, const KernelContext &context) {
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic || context.folds.contains(op) || !wantsBlockKernel(generic))
    return nullptr;
  return std::make_unique<SharedPointsStrategy>(generic);
}
