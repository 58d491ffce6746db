//===- EmbeddedCode.cpp - Machine code beside lowerings -------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `gpu.binary @<symbol>_code` holds the cubin of `fastk.lowering @<symbol>`.
// Its object names the digest of the program that the cubin was made of:
// another program's is never taken for it.
//
//===----------------------------------------------------------------------===//

#include "Host/Model/ModelInterface.h"
#include "fastk/Conversion/DeviceModel.h"
#include "fastk/Cuda/CompileInChild.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace fastk;

static constexpr StringLiteral kSuffix = "_code";
static constexpr StringLiteral kDigest = "digest";
static constexpr StringLiteral kCompiler = "nvrtc";

/// A winner was proved before: a slow machine may take its time.
static constexpr double kSeconds = 120;

/// The cubin beside the lowering, if there is one for it.
static std::optional<std::string> findEmbedded(LoweringOp lowering,
                                               StringRef chip) {
  auto module = lowering->getParentOfType<ModuleOp>();
  if (!module)
    return std::nullopt;
  auto binary = module.lookupSymbol<gpu::BinaryOp>(
      (lowering.getSymName() + kSuffix).str());
  if (!binary)
    return std::nullopt;
  for (auto object : binary.getObjects().getAsRange<gpu::ObjectAttr>()) {
    auto target = dyn_cast<NVVM::NVVMTargetAttr>(object.getTarget());
    DictionaryAttr properties = object.getProperties();
    auto digest =
        properties ? properties.getAs<StringAttr>(kDigest) : StringAttr();
    if (target && target.getChip() == chip && digest &&
        digest == lowering.getDigestAttr() &&
        object.getFormat() == gpu::CompilationTarget::Binary)
      return object.getObject().getValue().str();
  }
  return std::nullopt;
}

static FailureOr<cuda::CompileResult> compile(LoweringOp lowering,
                                              const CudaTarget &target) {
  cuda::CompileRequest request;
  request.source = lowering.getSource()->str();
  request.arch = target.chip;
  cuda::CompileLimits limits;
  limits.cpuSeconds = limits.wallSeconds = kSeconds;
  cuda::CompileResult result = cuda::compileCached(request, limits);
  if (!result.ok()) {
    lowering.emitError() << *lowering.getFile()
                         << " does not compile: " << result.error;
    return failure();
  }
  return result;
}

FailureOr<std::string> fastk::compileCubin(LoweringOp lowering,
                                           const CudaTarget &target) {
  if (std::optional<std::string> cubin = findEmbedded(lowering, target.chip))
    return *cubin;
  FailureOr<cuda::CompileResult> result = compile(lowering, target);
  if (failed(result))
    return failure();
  return std::move(result->cubin);
}

void fastk::embedCode(ModuleOp module, const CudaTarget &target) {
  MLIRContext *context = module.getContext();
  context->loadDialect<gpu::GPUDialect, NVVM::NVVMDialect>();
  for (auto lowering : llvm::to_vector(module.getOps<LoweringOp>())) {
    if (lowering.getLanguage() != Language::cuda || !lowering.getSource() ||
        findEmbedded(lowering, target.chip))
      continue;
    FailureOr<cuda::CompileResult> result = failure();
    std::string error =
        collectError(context, [&] { result = compile(lowering, target); });
    if (failed(result)) {
      emitWarning(lowering.getLoc()) << "winner " << lowering.getSymName()
                                     << " has no code in it: " << error;
      continue;
    }
    std::string name = (lowering.getSymName() + kSuffix).str();
    // For another chip, or of another program.
    if (Operation *old = module.lookupSymbol(name))
      old->erase();
    OpBuilder builder(context);
    builder.setInsertionPointAfter(lowering);
    auto properties = builder.getDictionaryAttr(
        {builder.getNamedAttr(kDigest, lowering.getDigestAttr()),
         builder.getNamedAttr(kCompiler,
                              builder.getStringAttr(result->nvrtcVersion))});
    auto object = gpu::ObjectAttr::get(
        NVVM::NVVMTargetAttr::get(context, /*optLevel=*/2,
                                  "nvptx64-nvidia-cuda", target.chip),
        gpu::CompilationTarget::Binary, builder.getStringAttr(result->cubin),
        properties);
    gpu::BinaryOp::create(builder, lowering.getLoc(), name, Attribute(),
                          ArrayRef<Attribute>{object});
  }
}
