//===- DeviceKernels.cpp - A function on memrefs to kernels and a plan ----===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceKernels.h"
#include "Cuda/Contraction/Contraction.h"
#include "KernelBody.h"
#include "MemrefPlace.h"
#include "fastk/Dialect/Fastk/PlanRegion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace fastk;
using worker::BufferRef;

/// How a place moves in the repeats that `loops` become.
static FailureOr<BufferRef> toRef(const LoopNumber &bytes,
                                  ArrayRef<scf::ForOp> loops) {
  BufferRef ref;
  ref.offset = bytes.constant;
  for (const LoopNumber::Term &term : bytes.terms) {
    const auto *loop = llvm::find(loops, term.loop);
    if (loop == loops.end())
      return failure();
    if (term.each == 0 && term.odd == 0)
      continue;
    size_t depth = loop - loops.begin();
    if (ref.motions.size() <= depth)
      ref.motions.resize(depth + 1);
    ref.motions[depth] = {term.each, term.odd};
  }
  return ref;
}

FailureOr<BufferRef> DeviceKernels::locate(Value memref) {
  std::optional<MemrefPlace> place = findPlace(memref);
  if (!place)
    return failure();
  FailureOr<BufferRef> found = toRef(place->bytes, loops);
  if (failed(found))
    return failure();
  BufferRef ref = std::move(*found);
  if (Operation *op = place->buffer.getDefiningOp()) {
    if (auto global = dyn_cast<memref::GetGlobalOp>(op); global && programs) {
      StringAttr name = global.getNameAttr().getAttr();
      constants.insert(name);
      ref.index = numInputs + (llvm::find(constants, name) - constants.begin());
      return ref;
    }
    if (!isa<memref::AllocOp>(op))
      return failure();
    ref.space = BufferRef::Space::Workspace;
    if (scratchAllocs.contains(op))
      ref.index = *scratch;
    return ref;
  }
  unsigned number = cast<BlockArgument>(place->buffer).getArgNumber();
  bool isInput = number < numInputs;
  ref.space = isInput ? BufferRef::Space::Input : BufferRef::Space::Output;
  ref.index = isInput ? number : number - numInputs;
  return ref;
}

LogicalResult DeviceKernels::addKernels(Operation *op,
                                        const ChosenKernel &chosen) {
  const KernelStrategyEntry *entry = findKernelStrategy(chosen.strategy);
  if (!entry)
    return refuseChosen(op, "'fastk.kernel' names no strategy that there is: "
                            "docs/cuda.md lists them; it is '" +
                                Twine(chosen.strategy) + "'");
  std::unique_ptr<KernelStrategy> strategy = entry->match(op, context),
                                  model = entry->match(op, context);
  if (!strategy)
    return refuseChosen(op, "the strategy '" + Twine(chosen.strategy) +
                                "' of 'fastk.kernel' does not take it");
  // What would be decided now tells what somebody has changed.
  KernelChoices byModel = given;
  byModel.begin(entry->name);
  if (failed(model->decide(byModel)))
    return refuseChosen(op, byModel.problem());
  choices.begin(entry->name);
  if (failed(chosen.follow(op, byModel.kernels().back().choices, choices)))
    return failure();
  if (failed(strategy->decide(choices)))
    return refuseChosen(op, choices.problem());
  FailureOr<KernelSequence> kernels = strategy->emit(module, plan.steps.size());
  return failed(kernels) ? failure() : launch(op, *kernels);
}

LogicalResult DeviceKernels::launch(Operation *op, const DeviceKernel &kernel,
                                    ArrayRef<BufferRef> more) {
  worker::Launch launch;
  launch.kernel = kernel.name;
  launch.grid = {kernel.blocks, kernel.blocksY, kernel.blocksZ};
  launch.block = {kernel.threads, 1, 1};
  launch.sharedBytes = kernel.sharedBytes;
  for (Value operand : kernel.operands) {
    FailureOr<BufferRef> ref = locate(operand);
    if (failed(ref))
      return op->emitError()
             << "works on a buffer whose place is not known when it is "
                "compiled (required by 'fastk.device_kernels')";
    launch.arguments.emplace_back(*ref);
  }
  for (const BufferRef &ref : more)
    launch.arguments.emplace_back(ref);
  plan.steps.emplace_back(std::move(launch));
  return success();
}

void DeviceKernels::share(memref::AllocOp memory) {
  if (!scratch) {
    scratch = plan.workspaces.size();
    plan.workspaces.push_back({0, false});
  }
  MemRefType type = memory.getType();
  int64_t bytes = type.getNumElements() * elementBytes(type.getElementType());
  plan.workspaces[*scratch].bytes =
      std::max(plan.workspaces[*scratch].bytes, bytes);
  scratchAllocs.insert(memory);
}

LogicalResult DeviceKernels::launch(Operation *op,
                                    const KernelSequence &kernels) {
  memref::AllocOp shared = kernels.shared;
  if (shared)
    share(shared);
  SmallVector<BufferRef> scratch;
  for (int64_t offset : kernels.scratch)
    scratch.push_back(
        {BufferRef::Space::Workspace, int64_t(plan.workspaces.size()), offset});
  if (kernels.scratchBytes)
    plan.workspaces.push_back({kernels.scratchBytes, false});
  for (const DeviceKernel &kernel : kernels.kernels)
    if (failed(launch(op, kernel, scratch)))
      return failure();
  return success();
}

void DeviceKernels::findFolds() {
  // What a schedule's loops read and write is not looked into.
  if (!func.getOps<scf::ForallOp>().empty())
    return;
  auto rangeOf = [&](Value memref) -> std::optional<ByteRange> {
    auto type = dyn_cast<MemRefType>(memref.getType());
    // Constants are never written.
    if (isConstantGlobal(memref))
      return ByteRange{-1, 0, 0};
    SmallVector<int64_t> strides;
    int64_t offset = 0;
    if (!type)
      return std::nullopt;
    FailureOr<BufferRef> ref = locate(memref);
    if (failed(ref) || failed(type.getStridesAndOffset(strides, offset)))
      return std::nullopt;
    int64_t elements = 1;
    for (auto [extent, stride] : llvm::zip_equal(type.getShape(), strides))
      elements += (extent - 1) * stride;
    return ByteRange{ref->index * 3 + int64_t(ref->space), ref->offset,
                     ref->offset +
                         elements * elementBytes(type.getElementType())};
  };
  context.folds = findContractionFolds(func, rangeOf);
}

void DeviceKernels::dropUnusedWorkspaces() {
  std::vector<worker::Workspace> used;
  auto references = [&](int64_t index) {
    SmallVector<BufferRef *> refs;
    auto collect = [&](BufferRef &ref) {
      if (ref.space == BufferRef::Space::Workspace && ref.index == index)
        refs.push_back(&ref);
    };
    for (worker::TensorMap &map : plan.tensorMaps)
      collect(map.buffer);
    for (worker::PlanStep &step : plan.steps)
      if (auto *launch = std::get_if<worker::Launch>(&step)) {
        for (worker::PlanArgument &argument : launch->arguments)
          if (auto *ref = std::get_if<BufferRef>(&argument))
            collect(*ref);
      } else if (auto *memset = std::get_if<worker::Memset>(&step)) {
        collect(memset->target);
      }
    return refs;
  };
  for (auto [index, workspace] : llvm::enumerate(plan.workspaces)) {
    SmallVector<BufferRef *> refs = references(index);
    if (refs.empty())
      continue;
    for (BufferRef *ref : refs)
      ref->index = used.size();
    used.push_back(workspace);
  }
  plan.workspaces = std::move(used);
}

void DeviceKernels::keepChosenFolds() {
  auto isChosen = [](linalg::GenericOp op) {
    auto fields = op->getAttrOfType<DictionaryAttr>(kKernelAttr);
    return fields && fields.get(kStrategyName) ==
                         StringAttr::get(op->getContext(), kFoldStrategy);
  };
  llvm::DenseMap<Operation *, ContractionFold> kept;
  for (auto [op, fold] : context.folds) {
    for (linalg::GenericOp *each : {&fold.start, &fold.end})
      if (*each && isChosen(*each))
        folded.insert(*each);
      else
        *each = nullptr;
    if (fold.start || fold.end)
      kept[op] = fold;
  }
  context.folds = std::move(kept);
}

LogicalResult DeviceKernels::emit(gpu::GPUModuleOp device) {
  module = device;
  findFolds();
  keepChosenFolds();
  if (failed(addBlock(func.getBody().front())))
    return failure();
  dropUnusedWorkspaces();
  return success();
}

LogicalResult DeviceKernels::addBlock(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator())) {
    if (auto alloc = dyn_cast<memref::AllocOp>(op))
      plan.workspaces.push_back({alloc.getType().getNumElements(), false});
    else if (isDone(&op) && failed(addOp(&op)))
      return failure();
  }
  return success();
}

LogicalResult DeviceKernels::addLoop(scf::ForOp loop) {
  if (loops.size() == worker::mostRepeatDepth)
    return loop.emitError()
           << "is in " << loops.size()
           << " loops, and a plan repeats steps no deeper: write one of them "
              "out, or make two one (required by 'fastk.repeat')";
  size_t place = plan.steps.size();
  plan.steps.emplace_back(worker::Repeat{
      static_cast<int64_t>(loop.getStaticTripCount()->getZExtValue()), 0});
  loops.push_back(loop);
  LogicalResult added = addBlock(*loop.getBody());
  loops.pop_back();
  size_t size = plan.steps.size() - place - 1;
  // What has no elements is not computed.
  if (size == 0)
    plan.steps.pop_back();
  else
    std::get<worker::Repeat>(plan.steps[place]).size = size;
  return added;
}

LogicalResult DeviceKernels::addOp(Operation *op) {
  if (auto call = dyn_cast<CallOp>(op); call && programs)
    return splice(call);
  if (programs && isPlanLoop(op))
    return addLoop(cast<scf::ForOp>(op));
  FailureOr<Operation *> generic = generalize(op);
  if (failed(generic))
    return failure();
  if (hasNoPoints(*generic))
    return success();
  FailureOr<ChosenKernel> chosen = ChosenKernel::read(op);
  if (failed(chosen))
    return failure();
  if (chosen->strategy != kFoldStrategy)
    return addKernels(*generic, *chosen);
  if (folded.contains(op))
    return success();
  return refuseChosen(op,
                      "'fastk.kernel' says that the kernel of a contraction "
                      "computes it, and none can");
}
