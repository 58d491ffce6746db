//===- CompileKernel.cpp - One lowering to LLVM IR ------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostPipeline.h"
#include "Schedule/ScheduleRules.h"
#include "fastk/Analysis/CanonicalForm.h"
#include "fastk/Conversion/Passes.h"
#include "fastk/Transforms/Passes.h"
#include "fastk/Transforms/RunPasses.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

using namespace mlir;
using namespace fastk;

FailureOr<OwningOpRef<ModuleOp>>
fastk::createPatternFunction(LoweringOp lowering, StringRef symbol) {
  FunctionType type = lowering.getWorkloadType();
  auto isSupported = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.hasStaticShape() &&
           (tensor.getElementType().isIntOrIndexOrFloat() ||
            isa<ComplexType>(tensor.getElementType()));
  };
  for (Type operand :
       llvm::concat<const Type>(type.getInputs(), type.getResults()))
    if (!isSupported(operand)) {
      lowering.emitOpError()
          << "has an operand or result of type " << operand
          << "; kernels take tensors of static shape (required by "
             "'fastk.kernel_abi')";
      return failure();
    }
  OwningOpRef<ModuleOp> module = ModuleOp::create(lowering.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  buildKernelFunc(builder, lowering, symbol);
  return module;
}

LogicalResult fastk::legalizePattern(ModuleOp module, KernelRole role,
                                     bool hasComplexLibm) {
  PassManager passes(module.getContext());
  if (role == KernelRole::Oracle)
    passes.addNestedPass<func::FuncOp>(createFastkPromoteToF64Pass());
  else if (role != KernelRole::Program)
    passes.addNestedPass<func::FuncOp>(createFastkDeriveConditionPass(
        {/*tf32=*/role == KernelRole::ConditionOfTF32}));
  passes.addNestedPass<func::FuncOp>(createFastkLegalizeScalarsPass(
      {/*isOracle=*/role != KernelRole::Program, hasComplexLibm}));
  return runPasses(passes, module);
}

FailureOr<OwningOpRef<ModuleOp>>
fastk::createScheduledFunction(LoweringOp lowering, StringRef symbol) {
  loadHostDialects(lowering.getContext());
  auto module = createPatternFunction(lowering, symbol);
  // Before a schedule: what it makes vectors of must have a lowering.
  if (failed(module) || failed(legalizePattern(**module, KernelRole::Program,
                                               /*hasComplexLibm=*/false)))
    return failure();
  return module;
}

namespace {
/// Keeps diagnostics from the user while something is tried, and remembers the
/// first error.
class Attempt {
public:
  explicit Attempt(MLIRContext *context)
      : handler(context, [this](Diagnostic &diagnostic) {
          // Remarks are about what was tried; they go on.
          if (diagnostic.getSeverity() == DiagnosticSeverity::Remark)
            return failure();
          if (diagnostic.getSeverity() == DiagnosticSeverity::Error &&
              reason.empty())
            reason = diagnostic.str();
          return success();
        }) {}
  StringRef getReason() const {
    return reason.empty() ? StringRef("unknown") : StringRef(reason);
  }

private:
  std::string reason;
  ScopedDiagnosticHandler handler;
};
} // namespace

/// Runs the default schedule.
static LogicalResult applyDefaultSchedule(ModuleOp module,
                                          const HostTarget &target,
                                          bool skipZeros) {
  PassManager passes(module->getContext());
  FastkDefaultSchedulePassOptions options;
  options.vectorBytes = target.vectorBytes;
  options.skipZeros = skipZeros;
  passes.addNestedPass<func::FuncOp>(createFastkDefaultSchedulePass(options));
  return runPasses(passes, module);
}

/// Removes loops that never run.
static LogicalResult foldEmpty(ModuleOp module) {
  PassManager passes(module.getContext());
  passes.addPass(createFastkFoldEmptyPass());
  return runPasses(passes, module);
}

/// From a module with one function on tensors to LLVM IR. With `workspaceBytes`
/// its temporaries lie in the workspace, and this is their size.
static FailureOr<std::unique_ptr<llvm::Module>>
compileFunction(ModuleOp module, StringRef symbol, llvm::LLVMContext &context,
                const HostTarget &target, bool approximate,
                int64_t *workspaceBytes) {
  if (failed(bufferizeFunctions(module)))
    return failure();
  PassManager passes(module.getContext());
  passes.addNestedPass<func::FuncOp>(
      createFastkAppendWorkspacePass({/*planned=*/workspaceBytes != nullptr}));
  if (failed(runPasses(passes, module)) ||
      failed(lowerToLLVMDialect(module, target, approximate)))
    return failure();
  auto llvmFunc = module.lookupSymbol<LLVM::LLVMFuncOp>(symbol);
  if (workspaceBytes)
    *workspaceBytes =
        cast<IntegerAttr>(llvmFunc->removeAttr(kWorkspaceAttr)).getInt();
  std::unique_ptr<llvm::Module> result =
      translateModuleToLLVMIR(module, context, symbol);
  if (!result) {
    emitError(module.getLoc())
        << "kernel " << symbol << " could not be translated to LLVM IR";
    return failure();
  }
  attachTarget(*result, target);
  return result;
}

/// The scheduled version, or the plain one when that does not make it to LLVM:
/// a schedule may cost speed, never the kernel.
static FailureOr<std::unique_ptr<llvm::Module>>
compileScheduled(OwningOpRef<ModuleOp> module, StringRef symbol,
                 llvm::LLVMContext &context, const HostTarget &target,
                 bool approximate, int64_t *workspaceBytes) {
  Location loc = module->getLoc();
  std::string reason;
  {
    OwningOpRef<ModuleOp> scheduled(module->clone());
    Attempt attempt(module->getContext());
    // The oracle is as the model is written.
    if (succeeded(applyDefaultSchedule(*scheduled, target,
                                       /*skipZeros=*/approximate))) {
      auto result = compileFunction(*scheduled, symbol, context, target,
                                    approximate, workspaceBytes);
      if (succeeded(result))
        return result;
    }
    reason = attempt.getReason().str();
  }
  remark::missed(loc,
                 remark::RemarkOpts::name("default-schedule").category("fastk"))
      << remark::reason("fell back to plain loops: {0}", reason);
  return compileFunction(*module, symbol, context, target, approximate,
                         workspaceBytes);
}

FailureOr<std::unique_ptr<llvm::Module>>
fastk::compileKernel(LoweringOp lowering, KernelRole role, StringRef symbol,
                     llvm::LLVMContext &context, const HostTarget &target,
                     int64_t *workspaceBytes) {
  loadHostDialects(lowering.getContext());
  if (role == KernelRole::Program && lowering.getLanguage() == Language::c) {
    if (!lowering.getSource()) {
      lowering.emitOpError() << "has no source: read " << *lowering.getFile()
                             << " into it first (required by 'fastk.language')";
      return failure();
    }
    if (workspaceBytes)
      *workspaceBytes = lowering.getWorkspace();
    FunctionType type = lowering.getWorkloadType();
    return compileCProgram(lowering.getLoc(), *lowering.getSource(),
                           type.getNumInputs() + type.getNumResults() + 1,
                           symbol, context, target);
  }

  if (role != KernelRole::Program) {
    auto module = createPatternFunction(lowering, symbol);
    if (failed(module) || failed(foldEmpty(**module)) ||
        failed(legalizePattern(**module, role, /*hasComplexLibm=*/true)))
      return failure();
    return compileScheduled(std::move(*module), symbol, context, target,
                            /*approximate=*/false, workspaceBytes);
  }
  auto module = createScheduledFunction(lowering, symbol);
  if (failed(module))
    return failure();
  if (lowering.getLanguage() == Language::schedule) {
    auto func = (*module)->lookupSymbol<func::FuncOp>(symbol);
    if (failed(applySchedule(lowering, func)) || failed(foldEmpty(**module)))
      return failure();
    return compileFunction(**module, symbol, context, target,
                           /*approximate=*/true, workspaceBytes);
  }

  if (failed(foldEmpty(**module)))
    return failure();
  return compileScheduled(std::move(*module), symbol, context, target,
                          /*approximate=*/true, workspaceBytes);
}
