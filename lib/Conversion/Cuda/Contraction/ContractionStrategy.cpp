//===- ContractionStrategy.cpp - Sums of products to kernels --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tiles on tensor cores where the factors are f16 or bf16 values, by scalar
// arithmetic elsewhere. Both cut sums in parts and fold what stands around.
//
//===----------------------------------------------------------------------===//

#include "Contraction.h"

using namespace mlir;
using namespace fastk;

namespace {
class ContractionStrategy : public KernelStrategy {
public:
  explicit ContractionStrategy(Contraction contraction)
      : contraction(std::move(contraction)) {}

  LogicalResult decide(KernelChoices &choices) override;
  FailureOr<KernelSequence> emit(gpu::GPUModuleOp module,
                                 unsigned firstNumber) override;

private:
  DeviceKernel build(gpu::GPUModuleOp module, const Contraction &part,
                     unsigned number) const {
    auto *tiles = contraction.onTensorCores ? buildTensorCoreContraction
                                            : buildScalarContraction;
    return tiles(module, part, kernelName(number));
  }

  Contraction contraction;
  /// Parts of each sum.
  int64_t split = 1;
};
} // namespace

LogicalResult ContractionStrategy::decide(KernelChoices &choices) {
  contraction.choices = &choices;
  contraction.band = choices.decide("contraction_band", contraction.band);
  std::optional<int64_t> chosen = chooseSplit(contraction);
  if (!chosen)
    return failure();
  split = choices.decide("contraction_parts", *chosen);
  // A tile is of one part's products.
  auto *decideTile =
      contraction.onTensorCores ? decideTensorCoreTile : decideScalarTile;
  return success(decideTile(
      split == 1 ? contraction : takeProducts(contraction, split, nullptr)));
}

FailureOr<KernelSequence> ContractionStrategy::emit(gpu::GPUModuleOp module,
                                                    unsigned firstNumber) {
  if (split == 1)
    return KernelSequence(build(module, contraction, firstNumber));
  linalg::GenericOp op = contraction.op;
  OpBuilder builder(op);
  KernelSequence made;
  made.shared = memref::AllocOp::create(
      builder, op.getLoc(),
      MemRefType::get({countPartials(contraction, split)},
                      contraction.element));
  made.kernels.push_back(build(
      module, takeProducts(contraction, split, made.shared), firstNumber));
  made.kernels.push_back(
      buildSumsKernel(module, takeSums(contraction, split, made.shared),
                      kernelName(firstNumber + 1)));
  return made;
}

static std::unique_ptr<KernelStrategy>
matchTiles(Operation *op, const KernelContext &context, bool onTensorCores) {
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic)
    return nullptr;
  std::optional<Contraction> contraction =
      matchContraction(generic, context.folds.lookup(op));
  if (!contraction || (onTensorCores && !fitsTensorCores(*contraction)))
    return nullptr;
  contraction->device = context.limits;
  contraction->onTensorCores = onTensorCores;
  return std::make_unique<ContractionStrategy>(std::move(*contraction));
}

std::unique_ptr<KernelStrategy>
fastk::matchTensorCoreTiles(Operation *op, const KernelContext &context) {
  return matchTiles(op, context, /*onTensorCores=*/true);
}

std::unique_ptr<KernelStrategy>
fastk::matchScalarTiles(Operation *op, const KernelContext &context) {
  return matchTiles(op, context, /*onTensorCores=*/false);
}
