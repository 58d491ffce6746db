//===- CompileDeviceModel.cpp - Functions that call lowerings to plans ----===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A function's own block becomes one plan: bufferized, its temporaries and the
// workspaces of the programs it calls laid into one arena by their lives, then
// each call replaced by the steps of its program, and each loop around calls by
// a repeat of theirs. What stands between calls, such as a copy, gets a kernel
// of the default lowering.
//
//===----------------------------------------------------------------------===//

#include "Cuda/Kernels/DeviceKernels.h"
#include "Cuda/Loops/RepeatLoops.h"
#include "Cuda/PTX/EmitPTX.h"
#include "Cuda/TMTensor/LowerTMTensorForDevice.h"
#include "Host/HostPipeline.h"
#include "Host/Model/ModelInterface.h"
#include "OutlineScalars.h"
#include "fastk/Conversion/DeviceModel.h"
#include "fastk/Conversion/Passes.h"
#include "fastk/Dialect/Fastk/PlanRegion.h"
#include "fastk/Transforms/Passes.h"
#include "fastk/Transforms/RunPasses.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace fastk;

/// The program of a lowering, CUDA-C compiled, PTX of others assembled.
static FailureOr<DeviceProgram>
compileProgram(LoweringOp lowering, KernelRole role, const CudaTarget &target) {
  FailureOr<DeviceProgram> program =
      compileDeviceKernel(lowering, role, target);
  if (failed(program))
    return failure();
  if (role == KernelRole::Program && lowering.getLanguage() == Language::ptx &&
      failed(assembleProgram(lowering.getLoc(), *lowering.getFile(), *program,
                             target)))
    return failure();
  if (program->kind != DeviceCode::CudaC)
    return program;
  FailureOr<std::string> cubin = compileCubin(lowering, target);
  if (failed(cubin))
    return failure();
  program->code = std::move(*cubin);
  return program;
}

/// The bytes of a constant as a kernel reads them.
static FailureOr<std::string> bytesOf(memref::GlobalOp global) {
  auto fail = [&]() -> FailureOr<std::string> {
    global.emitError() << "has no value of a kind that fastk can copy to a GPU "
                          "(required by 'fastk.device_model')";
    return failure();
  };
  std::optional<Attribute> value = global.getInitialValue();
  if (!value)
    return fail();
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(*value)) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob)
      return fail();
    return std::string(blob->getData().begin(), blob->getData().end());
  }
  auto dense = dyn_cast<DenseElementsAttr>(*value);
  if (!dense)
    return fail();
  if (dense.getElementType().isInteger(1)) {
    std::string bytes;
    for (bool element : dense.getValues<bool>())
      bytes.push_back(element);
    return bytes;
  }
  ArrayRef<char> raw = dense.getRawData();
  std::string bytes(raw.begin(), raw.end());
  if (!dense.isSplat())
    return bytes;
  std::string all;
  for (int64_t i = 0, e = dense.getNumElements(); i < e; ++i)
    all += bytes;
  return all;
}

/// Lets a concatenation have the static types of its parts: what hides them are
/// casts that nobody else folds.
static void takeStaticParts(ModuleOp module) {
  module.walk([](tensor::ConcatOp op) {
    for (OpOperand &part : op->getOpOperands()) {
      auto cast = part.get().getDefiningOp<tensor::CastOp>();
      if (!cast || !tensor::preservesStaticInformation(
                       cast.getType(), cast.getSource().getType()))
        continue;
      part.set(cast.getSource());
      if (cast->use_empty())
        cast.erase();
    }
  });
}

namespace {
class ModelCompiler {
public:
  ModelCompiler(ModuleOp model, const CudaTarget &target, KernelRole role)
      : model(model), target(target), role(role), interface(model.clone()) {
    boxScalars(*interface);
    takeStaticParts(*interface);
    module = interface->clone();
  }

  FailureOr<DeviceModel> run();

private:
  LogicalResult compilePrograms();
  LogicalResult compile(func::FuncOp func, func::FuncOp original);
  LogicalResult addGlue(gpu::GPUModuleOp device, DeviceFunction &function);
  LogicalResult verify(func::FuncOp func, const DeviceFunction &function);

  ModuleOp model;
  const CudaTarget &target;
  const KernelRole role;
  /// The model as it looks from outside, and what becomes of it.
  OwningOpRef<ModuleOp> interface, module;
  llvm::StringMap<DeviceProgram> programs;
  DeviceModel result;
};
} // namespace

LogicalResult ModelCompiler::compilePrograms() {
  FailureOr<std::map<std::string, LoweringOp>> lowerings =
      findCalledLowerings(model);
  if (failed(lowerings))
    return failure();
  for (auto &[symbol, lowering] : *lowerings) {
    FailureOr<DeviceProgram> program =
        compileWinnerOrDefault<DeviceProgram>(lowering, [&](LoweringOp each) {
          return compileProgram(each, role, target);
        });
    if (failed(program))
      return failure();
    if (!program->plan.steps.empty())
      result.images.push_back({symbol, program->code});
    programs[symbol] = std::move(*program);
  }
  return success();
}

/// Renames the launches of `device`, and makes an image of it where there are
/// any.
LogicalResult ModelCompiler::addGlue(gpu::GPUModuleOp device,
                                     DeviceFunction &function) {
  bool any = false;
  for (worker::PlanStep &step : function.plan.steps)
    if (auto *launch = std::get_if<worker::Launch>(&step))
      if (launch->kernel.find("::") == std::string::npos) {
        launch->kernel = function.name + "::" + launch->kernel;
        any = true;
      }
  if (!any)
    return success();
  FailureOr<std::string> ptx = emitPTX(device, target);
  if (failed(ptx))
    return failure();
  result.images.push_back({function.name, std::move(*ptx)});
  return success();
}

/// What came together must keep the rules that each part kept.
LogicalResult ModelCompiler::verify(func::FuncOp func,
                                    const DeviceFunction &function) {
  std::vector<int64_t> inputs = function.inputBytes;
  for (const std::string &constant : function.constants)
    inputs.push_back(constant.size());
  // How much memory there is the driver says: a model may need more than what
  // is given to a variant.
  worker::PlanLimits limits = target.limits;
  limits.workspaceBytes = worker::mostWorkspaceBytes;
  std::vector<std::string> problems =
      worker::verifyLaunchPlan(function.plan, inputs, function.outputBytes,
                               limits, worker::PlanOf::Model);
  if (problems.empty())
    return success();
  return func.emitError() << "cannot be launched on " << target.chip << ": "
                          << problems.front()
                          << " (required by 'fastk.device_model')";
}

LogicalResult ModelCompiler::compile(func::FuncOp func, func::FuncOp original) {
  DeviceFunction function;
  function.name = func.getName().str();
  function.inputBytes = bufferBytes(original.getArgumentTypes());
  function.outputBytes = bufferBytes(original.getResultTypes());

  OpBuilder builder(func.getContext());
  func.walk([&](CallOp call) {
    int64_t bytes = workspaceBytes(programs[call.getLowering()].plan);
    if (bytes == 0)
      return;
    builder.setInsertionPoint(call);
    Value memory = memref::AllocOp::create(
        builder, call.getLoc(), MemRefType::get({bytes}, builder.getI8Type()));
    call.getInitsMutable().append(memory);
  });
  if (failed(placeCarriedBuffers(func)))
    return failure();
  passSlices(func);
  if (failed(lowerTMTensorForDevice(func)) || failed(outlineScalars(func)) ||
      failed(planLoopBuffers(func, kWorkspaceAlignment)) ||
      failed(planBuffers(func, kWorkspaceAlignment)))
    return failure();

  builder.setInsertionPointToEnd(module->getBody());
  auto device = gpu::GPUModuleOp::create(builder, func.getLoc(),
                                         function.name + ".device");
  auto kernelsOf = [&] {
    DeviceKernels kernels(func, function.inputBytes.size(), target.limits,
                          /*given=*/{});
    kernels.programs = &programs;
    return kernels;
  };
  DeviceKernels kernels = kernelsOf();
  if (failed(kernelsOf().choose()) || failed(kernels.emit(device)))
    return failure();
  function.plan = std::move(kernels.plan);
  for (StringAttr name : kernels.constants) {
    FailureOr<std::string> bytes =
        bytesOf(cast<memref::GlobalOp>(module->lookupSymbol(name)));
    if (failed(bytes))
      return failure();
    function.constants.push_back(std::move(*bytes));
  }
  if (failed(addGlue(device, function)) || failed(verify(func, function)))
    return failure();
  function.signature =
      describeSignature(original, result.target, workspaceBytes(function.plan));
  result.functions.push_back(std::move(function));
  return success();
}

FailureOr<DeviceModel> ModelCompiler::run() {
  if (failed(checkModelInterface(*interface, /*allowDynamic=*/false)))
    return failure();
  HostTarget host = HostTarget::detect();
  for (auto func : model.getOps<func::FuncOp>())
    if (func.isPublic() && failed(checkExportedName(func, host)))
      return failure();
  result.target = "cuda:" + target.chip;
  if (failed(compilePrograms()))
    return failure();
  bool isOracle = role == KernelRole::Oracle;
  PassManager passes(module->getContext());
  OpPassManager &functions = passes.nest<func::FuncOp>();
  functions.addPass(
      createFastkLegalizeScalarsPass({isOracle, /*hasComplexLibm=*/false}));
  functions.addPass(createCanonicalizerPass());
  if (failed(runPasses(passes, *module)))
    return failure();
  for (Operation &op : llvm::make_early_inc_range(*module->getBody()))
    if (isa<LoweringOp, gpu::BinaryOp>(op))
      op.erase();
  PassManager tensors(module->getContext());
  // Calls stand without the lowerings they name from here on.
  tensors.enableVerifier(false);
  tensors.addPass(createFastkCopyStatePass());
  tensors.addPass(createFastkDecomposeAttentionPass());
  tensors.addPass(createFastkFoldEmptyPass());
  if (failed(runPasses(tensors, *module)))
    return failure();
  for (auto func : module->getOps<func::FuncOp>())
    prepareLoops(func);
  if (failed(bufferizeFunctions(*module)))
    return failure();
  for (auto original : interface->getOps<func::FuncOp>())
    if (original.isPublic() &&
        failed(compile(module->lookupSymbol<func::FuncOp>(original.getName()),
                       original)))
      return failure();
  return std::move(result);
}

FailureOr<DeviceModel> fastk::compileDeviceModel(ModuleOp model,
                                                 const CudaTarget &target,
                                                 KernelRole role) {
  loadHostDialects(model.getContext());
  model.getContext()->loadDialect<gpu::GPUDialect, NVVM::NVVMDialect>();
  return ModelCompiler(model, target, role).run();
}
