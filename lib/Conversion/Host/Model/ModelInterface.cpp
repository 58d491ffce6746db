//===- ModelInterface.cpp - What a compiled model looks like from outside -===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModelInterface.h"
#include "fastk/Analysis/PlanLoops.h"
#include "mlir/Dialect/MLProgram/IR/MLProgram.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace fastk;

/// What a GPU's plan has no room for.
static LogicalResult checkStatic(func::FuncOp func) {
  WalkResult walk = func.walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Type type : op->getResultTypes()) {
      auto shaped = dyn_cast<ShapedType>(type);
      if (!shaped || shaped.hasStaticShape())
        continue;
      op->emitError() << "makes " << type
                      << ": fastk compiles models of static shape for a GPU; "
                         "import the model with example inputs of the size you "
                         "want (required by 'fastk.static_shape')";
      return WalkResult::interrupt();
    }
    Operation *parent = op->getParentOp();
    auto loop = dyn_cast<scf::ForOp>(op);
    if (isa<scf::SCFDialect>(op->getDialect()) && !isa<scf::YieldOp>(op) &&
        (parent == func || isPlanLoop(parent)) &&
        !(loop && canBePlanLoop(loop))) {
      op->emitOpError()
          << "is a loop or a branch between kernels, which a model "
             "for a GPU cannot have: it is one plan, made before "
             "it runs (which repeats loops of known length, or has "
             "them in full, up to 65536 ops); compile with "
             "--target=host, or write the model without (required by "
             "'fastk.static_control_flow')";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

/// On a GPU each function has memory of its own.
static LogicalResult checkStateIsOfOne(ModuleOp model) {
  llvm::StringMap<func::FuncOp> users;
  for (auto func : model.getOps<func::FuncOp>()) {
    WalkResult walk = func.walk([&](ml_program::GlobalLoadOp load) {
      func::FuncOp &user =
          users[load.getGlobal().getLeafReference().getValue()];
      if (user && user != func) {
        load.emitOpError()
            << "is state that function '" << user.getName()
            << "' has, too, which functions for a GPU cannot share: compile "
               "with --target=host, or compile one function at a time "
               "(required by 'fastk.device_model')";
        return WalkResult::interrupt();
      }
      user = func;
      return WalkResult::advance();
    });
    if (walk.wasInterrupted())
      return failure();
  }
  return success();
}

LogicalResult fastk::checkModelInterface(ModuleOp model, bool allowDynamic) {
  if (!allowDynamic && failed(checkStateIsOfOne(model)))
    return failure();
  for (auto func : model.getOps<func::FuncOp>()) {
    if (func.isDeclaration())
      return func.emitError() << "has no body; fastk compiles whole models: "
                                 "add the function to the module (required by "
                                 "'fastk.compile_model')";
    WalkResult walk = func.walk([&](Operation *op) {
      if (isa<WorkloadOp>(op)) {
        op->emitError() << "is left in the module: run fastk-lower-workloads "
                           "first (required by 'fastk.compile_model')";
        return WalkResult::interrupt();
      }
      if (isa<CallOpInterface>(op)) {
        op->emitError() << "is left in the module: inline it first, with the "
                           "pass 'inline' (required by 'fastk.compile_model')";
        return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    if (walk.wasInterrupted() || (!allowDynamic && failed(checkStatic(func))))
      return failure();
    if (!llvm::hasSingleElement(func.getBody()))
      return func.emitError()
             << "has several blocks: fastk compiles structured control flow, "
                "that of scf (required by 'fastk.compile_model')";
    for (Type type : llvm::concat<const Type>(func.getArgumentTypes(),
                                              func.getResultTypes())) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (!tensor)
        return func.emitError()
               << "takes or returns " << type
               << ": the functions of a compiled model take and return ranked "
                  "tensors (required by 'fastk.compile_model')";
      if (!allowDynamic && !tensor.hasStaticShape())
        return func.emitError()
               << "takes or returns " << type
               << ": the functions of a model for a GPU take tensors of static "
                  "shape; import the model with example inputs of the size "
                  "you want (required by 'fastk.static_shape')";
      Type element = tensor.getElementType();
      if (auto complex = dyn_cast<ComplexType>(element))
        element = complex.getElementType();
      if (!element.isIntOrFloat() || tensor.getEncoding())
        return func.emitError()
               << "takes or returns " << type
               << ": its elements have no form outside; use integers, floats "
                  "or "
                  "complex numbers (required by 'fastk.compile_model')";
    }
  }
  return success();
}

/// {"dtype": ..., "shape": [...]} of each tensor, with "scalar": true for what
/// is a number in the model.
static llvm::json::Array
describeTypes(TypeRange types, llvm::function_ref<bool(unsigned)> isScalar) {
  llvm::json::Array result;
  for (auto [i, type] : llvm::enumerate(types)) {
    auto tensor = cast<RankedTensorType>(type);
    std::string dtype;
    llvm::raw_string_ostream(dtype) << tensor.getElementType();
    llvm::json::Array shape;
    for (int64_t size : tensor.getShape())
      shape.push_back(ShapedType::isDynamic(size) ? -1 : size);
    llvm::json::Object described{{"dtype", dtype}, {"shape", std::move(shape)}};
    if (isScalar(i))
      described["scalar"] = true;
    result.push_back(std::move(described));
  }
  return result;
}

std::string fastk::describeSignature(func::FuncOp func, StringRef target,
                                     int64_t workspaceBytes) {
  llvm::json::Object signature{
      {"inputs", describeTypes(func.getArgumentTypes(),
                               [&](unsigned i) {
                                 return bool(func.getArgAttr(i, kScalarAttr));
                               })},
      {"outputs", describeTypes(func.getResultTypes(), [&](unsigned i) {
         return bool(func.getResultAttr(i, kScalarAttr));
       })}};
  if (!target.empty()) {
    signature["target"] = target;
    signature["workspace"] = workspaceBytes;
  }
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(std::move(signature));
  return text;
}

FailureOr<std::map<std::string, LoweringOp>>
fastk::findCalledLowerings(ModuleOp model) {
  std::map<std::string, LoweringOp> lowerings;
  WalkResult walk = model.walk([&](CallOp call) {
    auto lowering = model.lookupSymbol<LoweringOp>(call.getLowering());
    if (!lowering) {
      call.emitOpError() << "'" << call.getLoweringAttr()
                         << "' is not a fastk.lowering of this module "
                            "(required by 'fastk.call')";
      return WalkResult::interrupt();
    }
    lowerings[call.getLowering().str()] = lowering;
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return failure();
  return lowerings;
}

LogicalResult fastk::checkExportedName(func::FuncOp func,
                                       const HostTarget &target) {
  llvm::TargetLibraryInfoImpl impl{llvm::Triple(target.triple)};
  llvm::TargetLibraryInfo known(impl);
  StringRef name = func.getName();
  llvm::LibFunc ignored;
  StringRef why;
  if (known.getLibFunc(name, ignored) || name.starts_with("omp_") ||
      name.starts_with("__"))
    why = "is that of a library function, which the compiled code may call";
  else if (name.starts_with("fastk_signature_") ||
           name.starts_with("fastk_packed_") ||
           name.starts_with("fastk_error_") ||
           name.starts_with("fastk_version_") ||
           name.starts_with("fastk_interface_") ||
           name.starts_with("fastk_matches_") ||
           name.starts_with("fastk_prepare") ||
           name.starts_with("fastk_release") || name.starts_with("fastk_call"))
    why = "is kept for what fastk adds to the library";
  if (why.empty())
    return success();
  return func.emitError() << "the name '" << name << "' " << why
                          << ": give the function another one (required by "
                             "'fastk.symbol')";
}

void fastk::addPackedEntry(llvm::Module &module, StringRef name,
                           const std::string &signature) {
  llvm::LLVMContext &context = module.getContext();
  llvm::Function *callee = module.getFunction(name);
  auto *pointer = llvm::PointerType::get(context, 0);
  auto *type = llvm::FunctionType::get(callee->getReturnType(), {pointer},
                                       /*isVarArg=*/false);
  std::string packedName = (name + "_packed").str();
  if (module.getNamedValue(packedName))
    packedName = ("fastk_packed_" + name).str();
  auto *packed = llvm::Function::Create(
      type, llvm::GlobalValue::ExternalLinkage, packedName, module);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "entry", packed));
  SmallVector<llvm::Value *> arguments;
  for (unsigned i = 0, e = callee->arg_size(); i < e; ++i)
    arguments.push_back(builder.CreateLoad(
        pointer,
        builder.CreateConstInBoundsGEP1_64(pointer, packed->getArg(0), i)));
  llvm::Value *status = builder.CreateCall(callee, arguments);
  if (status->getType()->isVoidTy())
    builder.CreateRetVoid();
  else
    builder.CreateRet(status);
  auto addConstant = [&](const llvm::Twine &prefix, llvm::Constant *value) {
    new llvm::GlobalVariable(module, value->getType(), /*isConstant=*/true,
                             llvm::GlobalValue::ExternalLinkage, value,
                             prefix + name);
  };
  addConstant("fastk_signature_",
              llvm::ConstantDataArray::getString(context, signature));
  addConstant("fastk_version_",
              llvm::ConstantDataArray::getString(context, FASTK_VERSION));
  addConstant("fastk_interface_", builder.getInt32(kInterfaceVersion));
}

OwningOpRef<LoweringOp> fastk::replaceByDefault(LoweringOp lowering,
                                                StringRef reason) {
  emitWarning(lowering.getLoc())
      << "winner " << lowering.getSymName()
      << " does not compile here: " << reason
      << "; its workloads take the default lowering (search again to replace "
         "it)";
  OwningOpRef<LoweringOp> copy(cast<LoweringOp>(lowering->clone()));
  copy->setLanguage(Language::generic);
  copy->removeFileAttr();
  copy->removeDigestAttr();
  copy->removeSealAttr();
  copy->removeSourceAttr();
  copy->setWorkspace(0);
  copy->getPlan().getBlocks().clear();
  return copy;
}

std::string fastk::collectError(MLIRContext *context,
                                llvm::function_ref<void()> run) {
  std::string error;
  ScopedDiagnosticHandler collect(context, [&](Diagnostic &diagnostic) {
    if (error.empty() && diagnostic.getSeverity() == DiagnosticSeverity::Error)
      error = diagnostic.str();
    return success();
  });
  run();
  return error;
}
