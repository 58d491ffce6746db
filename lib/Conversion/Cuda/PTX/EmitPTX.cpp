//===- EmitPTX.cpp - A gpu.module to PTX ----------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmitPTX.h"
#include "Cuda/Program/GPUProgram.h"
#include "Host/LLVM/OptimizeLLVM.h"
#include "fastk/Transforms/RunPasses.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Linker/Linker.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/IPO/Internalize.h"
#include <mutex>

using namespace mlir;
using namespace fastk;

/// The first PTX version that knows everything of sm_90a (CUDA 12.0).
static constexpr StringLiteral kPTXFeature = "+ptx80";

/// Reductions over a warp become shuffles.
static LogicalResult lowerSubgroupReductions(gpu::GPUModuleOp module) {
  if (!module
           .walk([](gpu::SubgroupReduceOp) { return WalkResult::interrupt(); })
           .wasInterrupted())
    return success();
  RewritePatternSet patterns(module.getContext());
  populateGpuBreakDownSubgroupReducePatterns(patterns,
                                             /*maxShuffleBitwidth=*/32,
                                             /*benefit=*/2);
  populateGpuLowerSubgroupReduceToShufflePatterns(patterns,
                                                  /*subgroupSize=*/32);
  populateGpuLowerClusteredSubgroupReduceToShufflePatterns(patterns,
                                                           /*subgroupSize=*/32);
  return applyPatternsGreedily(module, std::move(patterns));
}

/// Tensor maps lie in the parameters themselves: 128 bytes, aligned to 64.
static void passTensorMapsByValue(gpu::GPUModuleOp module) {
  Builder builder(module.getContext());
  auto map = LLVM::LLVMArrayType::get(builder.getI8Type(), 128);
  for (auto func : module.getOps<LLVM::LLVMFuncOp>()) {
    auto numbers = func->getAttrOfType<DenseI64ArrayAttr>(kTensorMapsAttr);
    if (!numbers)
      continue;
    func->removeAttr(kTensorMapsAttr);
    for (int64_t number : numbers.asArrayRef()) {
      func.setArgAttr(number, LLVM::LLVMDialect::getByValAttrName(),
                      TypeAttr::get(map));
      func.setArgAttr(number, LLVM::LLVMDialect::getAlignAttrName(),
                      builder.getI64IntegerAttr(64));
      func.setArgAttr(number, NVVM::NVVMDialect::getGridConstantAttrName(),
                      builder.getUnitAttr());
    }
  }
}

/// What gpu.dynamic_shared_memory becomes has no size, and internal linkage: a
/// backend may make one byte of static memory of it. External, it begins behind
/// the static memory, at 1024 bytes for what tensor maps swizzle.
static void placeDynamicSharedMemory(gpu::GPUModuleOp module) {
  for (auto global : module.getOps<LLVM::GlobalOp>()) {
    auto array = dyn_cast<LLVM::LLVMArrayType>(global.getGlobalType());
    if (array && array.getNumElements() == 0 &&
        global.getAddrSpace() == unsigned(NVVM::NVVMMemorySpace::Shared) &&
        global.getLinkage() == LLVM::Linkage::Internal) {
      global.setLinkage(LLVM::Linkage::External);
      global.setAlignment(1024);
    }
  }
}

/// A root that is rounded once. Of halves by way of f32, whose 24 bits are more
/// than twice theirs: the second rounding changes nothing. An approximate root
/// would be beyond the middle of two halves, as that of 4 - 2^-9 in f16.
static Value exactRoot(OpBuilder &builder, math::SqrtOp sqrt) {
  Location loc = sqrt.getLoc();
  Type type = sqrt.getType(), f32 = builder.getF32Type();
  Value x = sqrt.getOperand();
  if (type != f32)
    x = arith::ExtFOp::create(builder, loc, f32, x);
  Value root = LLVM::CallIntrinsicOp::create(
                   builder, loc, f32,
                   builder.getStringAttr("llvm.nvvm.sqrt.rn.f"), ValueRange{x})
                   ->getResult(0);
  if (type != f32)
    root = arith::TruncFOp::create(builder, loc, type, root);
  return root;
}

/// Ops for which LLVM has an intrinsic that the backend selects, and libdevice
/// no function that MLIR's conversion calls, or a worse one.
static void lowerToIntrinsics(gpu::GPUModuleOp module) {
  IRRewriter rewriter(module.getContext());
  module.walk([&](Operation *op) {
    rewriter.setInsertionPoint(op);
    if (op->getNumResults() != 1)
      return;
    Type type = op->getResult(0).getType();
    // libdevice's sqrtf asks __nvvm_reflect for the precision, which LLVM
    // answers with 0: approximate.
    auto sqrt = dyn_cast<math::SqrtOp>(op);
    bool isExact =
        sqrt && (type.isF32() || type.isF16() || type.isBF16()) &&
        !bitEnumContainsAny(sqrt.getFastmath(), arith::FastMathFlags::afn);
    if (isExact)
      rewriter.replaceOp(op, exactRoot(rewriter, sqrt));
    else if (isa<math::TruncOp>(op))
      rewriter.replaceOpWithNewOp<LLVM::FTruncOp>(op, type, op->getOperand(0));
    else if (isa<math::AbsIOp>(op))
      rewriter.replaceOpWithNewOp<LLVM::AbsOp>(op, type, op->getOperand(0),
                                               /*is_int_min_poison=*/false);
    else if (isa<math::CountLeadingZerosOp>(op))
      rewriter.replaceOpWithNewOp<LLVM::CountLeadingZerosOp>(
          op, type, op->getOperand(0), /*is_zero_poison=*/false);
    else if (isa<math::CountTrailingZerosOp>(op))
      rewriter.replaceOpWithNewOp<LLVM::CountTrailingZerosOp>(
          op, type, op->getOperand(0), /*is_zero_poison=*/false);
    else if (isa<math::CtPopOp>(op))
      rewriter.replaceOpWithNewOp<LLVM::CtPopOp>(op, type, op->getOperand(0));
  });
}

static LogicalResult lowerToNVVM(gpu::GPUModuleOp module) {
  if (failed(lowerSubgroupReductions(module)))
    return failure();
  // Before intrinsics: complex functions take roots.
  PassManager complexes(module.getContext(),
                        gpu::GPUModuleOp::getOperationName());
  complexes.addPass(createConvertComplexToStandardPass());
  if (failed(runPasses(complexes, module)))
    return failure();
  lowerToIntrinsics(module);
  PassManager passes(module.getContext(), gpu::GPUModuleOp::getOperationName());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  passes.addPass(createLoopInvariantCodeMotionPass());
  passes.addPass(createConvertNVGPUToNVVMPass());
  passes.addPass(createConvertVectorToSCFPass());
  passes.addPass(memref::createExpandStridedMetadataPass());
  passes.addPass(createLowerAffinePass());
  passes.addPass(createSCFToControlFlowPass());
  ConvertVectorToLLVMPassOptions vectors;
  vectors.useVectorAlignment = true;
  passes.addPass(createConvertVectorToLLVMPass(vectors));
  ConvertGpuOpsToNVVMOpsOptions options;
  options.useBarePtrCallConv = true;
  passes.addPass(createConvertGpuOpsToNVVMOps(options));
  passes.addPass(createConvertNVVMToLLVMPass());
  passes.addPass(createConvertIndexToLLVMPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  if (failed(runPasses(passes, module)))
    return failure();
  passTensorMapsByValue(module);
  placeDynamicSharedMemory(module);
  return success();
}

static std::unique_ptr<llvm::TargetMachine>
createMachine(const CudaTarget &target, std::string &error) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  llvm::Triple triple("nvptx64-nvidia-cuda");
  const llvm::Target *backend =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!backend)
    return nullptr;
  llvm::TargetOptions options;
  // What is marked `contract` may become an FMA, nothing else.
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  return std::unique_ptr<llvm::TargetMachine>(backend->createTargetMachine(
      triple, target.chip, kPTXFeature, options, std::nullopt, std::nullopt,
      llvm::CodeGenOptLevel::Aggressive));
}

/// Links the functions of libdevice that are called.
static LogicalResult linkLibdevice(Location loc, llvm::Module &module,
                                   const CudaTarget &target) {
  std::string missing;
  for (llvm::Function &function : module)
    if (function.isDeclaration() && function.getName().starts_with("__nv_"))
      missing = function.getName().str();
  if (missing.empty())
    return success();
  if (target.libdevice.empty())
    return emitError(loc)
           << "needs " << missing
           << " of libdevice.10.bc, which was not found: run "
              "scripts/install-deps.sh --cuda, or set FASTK_CUDA_PATH to a "
              "CUDA of version 12.4 or later; beside the wheel pip install "
              "'fastk[cuda]' brings it; docs/cuda.md says where it is "
              "looked for (required by 'fastk.libdevice')";
  llvm::SMDiagnostic problem;
  // Bodies are read when they are linked: of hundreds a kernel calls a few.
  std::unique_ptr<llvm::Module> library =
      llvm::getLazyIRFileModule(target.libdevice, problem, module.getContext());
  if (!library)
    return emitError(loc) << target.libdevice
                          << " does not read as LLVM bitcode: "
                          << problem.getMessage().str();
  library->setTargetTriple(module.getTargetTriple());
  library->setDataLayout(module.getDataLayout());
  bool failed = llvm::Linker::linkModules(
      module, std::move(library), llvm::Linker::LinkOnlyNeeded,
      [](llvm::Module &merged, const llvm::StringSet<> &taken) {
        llvm::internalizeModule(merged, [&](const llvm::GlobalValue &value) {
          return !value.hasName() || !taken.contains(value.getName());
        });
      });
  if (failed)
    return emitError(loc) << target.libdevice << " could not be linked";
  // Without it __nvvm_reflect("__CUDA_FTZ") stays; denormals are kept.
  module.addModuleFlag(llvm::Module::Override, "nvvm-reflect-ftz", uint32_t(0));
  return success();
}

FailureOr<std::string> fastk::emitPTX(gpu::GPUModuleOp module,
                                      const CudaTarget &target) {
  Location loc = module.getLoc();
  // Ops that the chip does not have would end the backend, not the compilation.
  if (failed(lowerToNVVM(module)) ||
      failed(NVVM::NVVMTargetAttr::get(module.getContext(), /*optLevel=*/3,
                                       "nvptx64-nvidia-cuda", target.chip)
                 .verifyTarget(module)))
    return failure();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> llvmModule =
      translateModuleToLLVMIR(module, context, "fastk");
  if (!llvmModule) {
    emitError(loc) << "kernels could not be translated to LLVM IR";
    return failure();
  }
  std::string error;
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(target, error);
  if (!machine) {
    emitError(loc) << "this LLVM has no NVPTX backend: " << error;
    return failure();
  }
  llvmModule->setTargetTriple(machine->getTargetTriple());
  llvmModule->setDataLayout(machine->createDataLayout());
  if (failed(linkLibdevice(loc, *llvmModule, target)))
    return failure();
  optimizeLLVM(*llvmModule, *machine);
  SmallString<0> text;
  llvm::raw_svector_ostream os(text);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, os, nullptr,
                                   llvm::CodeGenFileType::AssemblyFile)) {
    emitError(loc) << "this LLVM cannot print PTX";
    return failure();
  }
  passes.run(*llvmModule);
  return std::string(text);
}
