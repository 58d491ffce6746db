//===- ThreadKernel.cpp - One thread a point ------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelBody.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fastk;

/// Threads of a block: enough warps to hide latency, few enough registers.
static constexpr int64_t kThreads = 256;

/// Whether the body looks at the old value of a result.
static bool readsResult(linalg::GenericOp op, unsigned index) {
  return op.payloadUsesValueFromOperand(op.getDpsInitOperand(index));
}

/// Loops over the reduction dimensions from `next` on; `values` go through
/// them.
static SmallVector<Value> reduce(KernelBody &body, ArrayRef<unsigned> dims,
                                 MutableArrayRef<Value> indices,
                                 ValueRange values) {
  if (dims.empty())
    return body.evaluate(indices, values);
  auto loop = scf::ForOp::create(body.builder, body.loc, body.constant(0),
                                 body.constant(body.extents[dims.front()]),
                                 body.constant(1), values);
  OpBuilder::InsertionGuard guard(body.builder);
  body.builder.setInsertionPointToStart(loop.getBody());
  indices[dims.front()] = loop.getInductionVar();
  SmallVector<Value> results =
      reduce(body, dims.drop_front(), indices, loop.getRegionIterArgs());
  scf::YieldOp::create(body.builder, body.loc, results);
  return llvm::to_vector_of<Value>(loop.getResults());
}

namespace {
/// Loops over the dimensions that are not parallel. Any linalg.generic of
/// static shape has such a kernel.
class PointsStrategy : public KernelStrategy {
public:
  explicit PointsStrategy(linalg::GenericOp op) : op(op) {}

  LogicalResult decide(KernelChoices &choices) override {
    threads = choices.decide("point_threads", kThreads);
    return success();
  }
  FailureOr<KernelSequence> emit(gpu::GPUModuleOp module,
                                 unsigned firstNumber) override;

private:
  linalg::GenericOp op;
  int64_t threads = 1;
};
} // namespace

FailureOr<KernelSequence> PointsStrategy::emit(gpu::GPUModuleOp module,
                                               unsigned firstNumber) {
  KernelBody body(op);
  SmallVector<unsigned> order = body.orderForCoalescing(body.parallelDims);
  int64_t points = body.countPoints(order);
  DeviceKernel kernel;
  kernel.name = kernelName(firstNumber);
  kernel.threads = std::min(threads, points);
  kernel.blocks = llvm::divideCeil(points, kernel.threads);
  body.createFunction(module, kernel.name, kernel.threads);
  kernel.operands = body.operands;

  OpBuilder &builder = body.builder;
  Location loc = body.loc;
  Value block = gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x);
  Value thread = gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x);
  Value first =
      arith::MulIOp::create(builder, loc, block, body.constant(kernel.threads));
  Value number = arith::AddIOp::create(builder, loc, first, thread);
  if (points % kernel.threads != 0) {
    Value inside = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::ult, number, body.constant(points));
    auto guard = scf::IfOp::create(builder, loc, inside,
                                   /*withElseRegion=*/false);
    builder.setInsertionPointToStart(guard.thenBlock());
  }
  SmallVector<Value> indices(body.extents.size());
  body.delinearize(number, order, indices);

  unsigned results = op.getNumDpsInits();
  SmallVector<Value> values;
  for (unsigned i = 0; i < results; ++i) {
    if (readsResult(op, i)) {
      values.push_back(body.loadResult(i, indices));
      continue;
    }
    // Never read: any value of the type.
    Type type =
        cast<MemRefType>(op.getDpsInits()[i].getType()).getElementType();
    values.push_back(body.zero(type));
  }
  values = reduce(body, body.reductionDims, indices, values);
  for (unsigned i = 0; i < results; ++i)
    body.storeResult(i, indices, values[i]);
  return KernelSequence(kernel);
}

std::unique_ptr<KernelStrategy>
fastk::matchPoints(Operation *op, const KernelContext &context) {
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic || context.folds.contains(op))
    return nullptr;
  return std::make_unique<PointsStrategy>(generic);
}
