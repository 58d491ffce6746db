//===- LoopKernel.cpp - A parallel loop, one thread a point ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For what is no structured op: the loops that tm_tensor ops become, and what
// is computed on single numbers.
//
//===----------------------------------------------------------------------===//

#include "KernelBody.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace fastk;

static constexpr int64_t kThreads = 256;

namespace {
/// One dimension of the loop.
struct Trips {
  int64_t lower, step, count;
};

/// One thread for every point of a loop of constant bounds; parallel loops
/// inside are serial. Nothing is to be decided.
class LoopStrategy : public KernelStrategy {
public:
  explicit LoopStrategy(scf::ParallelOp loop) : loop(loop) {}

  LogicalResult decide(KernelChoices &) override { return success(); }
  FailureOr<KernelSequence> emit(gpu::GPUModuleOp module,
                                 unsigned firstNumber) override;

private:
  scf::ParallelOp loop;
};
} // namespace

static FailureOr<SmallVector<Trips>> tripsOf(scf::ParallelOp loop) {
  SmallVector<Trips> all;
  for (auto [lower, upper, step] : llvm::zip_equal(
           loop.getLowerBound(), loop.getUpperBound(), loop.getStep())) {
    std::optional<int64_t> from = getConstantIntValue(lower),
                           to = getConstantIntValue(upper),
                           by = getConstantIntValue(step);
    if (!from || !to || !by)
      return failure();
    all.push_back(
        {*from, *by, std::max<int64_t>(0, llvm::divideCeil(*to - *from, *by))});
  }
  return all;
}

/// Makes what is parallel inside of a thread serial.
static LogicalResult serialize(gpu::GPUFuncOp kernel) {
  SmallVector<scf::ParallelOp> nested;
  kernel.walk([&](scf::ParallelOp op) { nested.push_back(op); });
  IRRewriter rewriter(kernel.getContext());
  // Inner loops come first.
  for (scf::ParallelOp op : nested) {
    rewriter.setInsertionPoint(op);
    if (failed(scf::parallelForToNestedFors(rewriter, op)))
      return failure();
  }
  return success();
}

FailureOr<KernelSequence> LoopStrategy::emit(gpu::GPUModuleOp module,
                                             unsigned firstNumber) {
  FailureOr<SmallVector<Trips>> trips = tripsOf(loop);
  if (failed(trips))
    return loop.emitError() << "has bounds that are not known when it is "
                               "compiled (required by 'fastk.device_kernels')";
  int64_t points = 1;
  for (const Trips &each : *trips)
    points *= each.count;
  DeviceKernel kernel;
  kernel.name = kernelName(firstNumber);
  kernel.threads = std::max<int64_t>(1, std::min(kThreads, points));
  kernel.blocks =
      std::max<int64_t>(1, llvm::divideCeil(points, kernel.threads));

  llvm::SetVector<Value> used;
  getUsedValuesDefinedAbove(loop.getRegion(), used);
  for (Value value : used)
    if (!isa<MemRefType>(value.getType()) && !matchPattern(value, m_Constant()))
      return loop.emitError()
             << "uses a number that is computed between kernels (required by "
                "'fastk.device_kernels')";
  Location loc = loop.getLoc();
  OpBuilder builder(loop.getContext());
  IRMapping mapping;
  gpu::GPUFuncOp func =
      createKernel(builder, loop, module, kernel.name, kernel.threads,
                   used.getArrayRef(), kernel.operands, mapping);
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  Value block = gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x);
  Value thread = gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x);
  Value first =
      arith::MulIOp::create(builder, loc, block, constant(kernel.threads));
  Value number = arith::AddIOp::create(builder, loc, first, thread);
  if (points % kernel.threads != 0 || points == 0) {
    Value inside = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::ult, number, constant(points));
    auto guard = scf::IfOp::create(builder, loc, inside,
                                   /*withElseRegion=*/false);
    builder.setInsertionPointToStart(guard.thenBlock());
  }
  // The last dimension is the fastest: neighbours in memory.
  for (unsigned dim = trips->size(); dim-- > 0;) {
    const Trips &each = (*trips)[dim];
    Value index = number;
    if (dim > 0) {
      Value count = constant(std::max<int64_t>(each.count, 1));
      index = arith::RemUIOp::create(builder, loc, number, count);
      number = arith::DivUIOp::create(builder, loc, number, count);
    }
    if (each.step != 1)
      index = arith::MulIOp::create(builder, loc, index, constant(each.step));
    if (each.lower != 0)
      index = arith::AddIOp::create(builder, loc, index, constant(each.lower));
    mapping.map(loop.getInductionVars()[dim], index);
  }
  for (Operation &op : loop.getBody()->without_terminator())
    builder.clone(op, mapping);
  if (failed(serialize(func)))
    return loop.emitError() << "cannot be made serial inside of a thread "
                               "(required by 'fastk.device_kernels')";
  return KernelSequence(kernel);
}

std::unique_ptr<KernelStrategy>
fastk::matchParallelLoop(Operation *op, const KernelContext &) {
  auto loop = dyn_cast<scf::ParallelOp>(op);
  if (!loop)
    return nullptr;
  return std::make_unique<LoopStrategy>(loop);
}
