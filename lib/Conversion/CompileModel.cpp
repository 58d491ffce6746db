//===- CompileModel.cpp - Functions that call lowerings to LLVM IR --------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostPipeline.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"

using namespace mlir;
using namespace fastk;

/// Refuses what the host's calling convention cannot express, before anything
/// is changed.
static LogicalResult checkModel(ModuleOp model) {
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
      auto isDynamic = [](Type type) {
        auto shaped = dyn_cast<ShapedType>(type);
        return shaped && !shaped.hasStaticShape();
      };
      for (Type type : op->getResultTypes())
        if (isDynamic(type)) {
          op->emitError()
              << "makes " << type
              << ": fastk compiles models of static shape to code; import the "
                 "model with example inputs of the size you want (required by "
                 "'fastk.static_shape')";
          return WalkResult::interrupt();
        }
      return WalkResult::advance();
    });
    if (walk.wasInterrupted())
      return failure();
    for (Type type : llvm::concat<const Type>(func.getArgumentTypes(),
                                              func.getResultTypes())) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (!tensor || !tensor.hasStaticShape())
        return func.emitError()
               << "takes or returns " << type
               << ": the functions of a compiled model take tensors of static "
                  "shape; import the model with example inputs of the size "
                  "you want (required by 'fastk.static_shape')";
    }
  }
  return success();
}

/// {"dtype": ..., "shape": [...]} of each tensor.
static llvm::json::Array describeTypes(TypeRange types) {
  llvm::json::Array result;
  for (Type type : types) {
    auto tensor = cast<RankedTensorType>(type);
    std::string dtype;
    llvm::raw_string_ostream(dtype) << tensor.getElementType();
    result.push_back(llvm::json::Object{
        {"dtype", dtype}, {"shape", llvm::json::Array(tensor.getShape())}});
  }
  return result;
}

/// Turns fastk.call on memrefs into calls of the kernels by name. `workspace`
/// bytes of each function's own allocation serve all of its calls in turn.
static void lowerCalls(ModuleOp module,
                       const llvm::StringMap<int64_t> &workspaces) {
  MLIRContext *context = module.getContext();
  Type pointer = LLVM::LLVMPointerType::get(context);
  OpBuilder builder(context);
  for (auto func : llvm::to_vector(module.getOps<func::FuncOp>())) {
    SmallVector<CallOp> calls;
    int64_t bytes = 0;
    func.walk([&](CallOp call) {
      calls.push_back(call);
      bytes = std::max(bytes, workspaces.lookup(call.getLowering()));
    });
    if (calls.empty())
      continue;
    Location loc = func.getLoc();
    builder.setInsertionPointToStart(&func.getBody().front());
    Value workspace;
    if (bytes > 0) {
      auto alloc = memref::AllocOp::create(
          builder, loc, MemRefType::get({bytes}, builder.getI8Type()),
          ValueRange{}, builder.getI64IntegerAttr(64));
      Value address =
          memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, alloc);
      address = arith::IndexCastOp::create(builder, loc, builder.getI64Type(),
                                           address);
      workspace = LLVM::IntToPtrOp::create(builder, loc, pointer, address);
      // Its uses are hidden behind the integer: without this the plan would put
      // other buffers on top of it.
      alloc->setAttr(kLiveToEndAttr, builder.getUnitAttr());
    } else {
      workspace = LLVM::ZeroOp::create(builder, loc, pointer);
    }
    for (CallOp call : calls) {
      SmallVector<Value> operands(call->getOperands());
      operands.push_back(workspace);
      StringRef name = call.getLowering();
      auto callee = module.lookupSymbol<func::FuncOp>(name);
      if (!callee) {
        builder.setInsertionPointToEnd(module.getBody());
        callee = func::FuncOp::create(
            builder, call.getLoc(), name,
            builder.getFunctionType(ValueRange(operands).getTypes(), {}));
        callee.setPrivate();
      }
      builder.setInsertionPoint(call);
      func::CallOp::create(builder, call.getLoc(), callee, operands);
      call.erase();
    }
  }
}

/// While the model is compiled its functions go by another name, so that none
/// is taken for a function of the run-time libraries or one that the compiler
/// makes.
static constexpr StringLiteral kHidden = "fastk.model.";

/// Refuses names that a library cannot export beside what fastk adds.
static LogicalResult checkName(func::FuncOp func,
                               const llvm::TargetLibraryInfo &known) {
  StringRef name = func.getName();
  llvm::LibFunc ignored;
  StringRef why;
  if (known.getLibFunc(name, ignored) || name.starts_with("omp_") ||
      name.starts_with("__"))
    why = "is that of a library function, which the compiled code may call";
  else if (name.starts_with("fastk_signature_") ||
           name.starts_with("fastk_packed_"))
    why = "is kept for what fastk adds to the library";
  if (why.empty())
    return success();
  return func.emitError() << "the name '" << name << "' " << why
                          << ": give the function another one (required by "
                             "'fastk.symbol')";
}

/// Hides the names of all functions of `module`, and those that call them.
static LogicalResult hideNames(ModuleOp module, const HostTarget &target) {
  llvm::TargetLibraryInfoImpl impl{llvm::Triple(target.triple)};
  llvm::TargetLibraryInfo known(impl);
  for (auto func : module.getOps<func::FuncOp>()) {
    if (func.isPublic() && failed(checkName(func, known)))
      return failure();
    std::string hidden = (kHidden + func.getName()).str();
    auto attr = StringAttr::get(module.getContext(), hidden);
    if (failed(SymbolTable::replaceAllSymbolUses(func, attr, module)))
      return func.emitError() << "cannot be renamed: a symbol is used in a way "
                                 "that fastk does not know (required by "
                                 "'fastk.symbol')";
    func.setName(hidden);
  }
  return success();
}

/// Gives the functions that `names` lists their own names back. Others are
/// nobody's business outside.
static void showNames(llvm::Module &module, ArrayRef<std::string> names) {
  for (llvm::Function &function : module)
    if (!function.isDeclaration() && function.getName().starts_with(kHidden))
      function.setLinkage(llvm::GlobalValue::InternalLinkage);
  for (const std::string &name : names) {
    llvm::Function *function = module.getFunction((kHidden + name).str());
    // A kernel of that name is internal: it takes any other.
    if (llvm::GlobalValue *taken = module.getNamedValue(name))
      taken->setName(name + ".kernel");
    function->setName(name);
    function->setLinkage(llvm::GlobalValue::ExternalLinkage);
    // Being internal for a moment made it local for good.
    function->setDSOLocal(false);
  }
}

/// `void f_packed(void **pointers)` and the signature of f.
/// Where the model itself has a function of the name f_packed, ours is
/// fastk_packed_f.
static void addPackedEntry(llvm::Module &module, StringRef name,
                           const std::string &signature) {
  llvm::LLVMContext &context = module.getContext();
  llvm::Function *callee = module.getFunction(name);
  auto *pointer = llvm::PointerType::get(context, 0);
  auto *type = llvm::FunctionType::get(llvm::Type::getVoidTy(context),
                                       {pointer}, /*isVarArg=*/false);
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
  builder.CreateCall(callee, arguments);
  builder.CreateRetVoid();
  auto *text = llvm::ConstantDataArray::getString(context, signature);
  new llvm::GlobalVariable(module, text->getType(), /*isConstant=*/true,
                           llvm::GlobalValue::ExternalLinkage, text,
                           "fastk_signature_" + name);
}

/// The lowering's kernel. A winner that does not compile here (another clang, a
/// rule that is newer than the winner) is as good as none: the model gets the
/// default lowering of its pattern, and a warning says so.
static FailureOr<std::unique_ptr<llvm::Module>>
compileWinnerOrDefault(LoweringOp lowering, StringRef symbol,
                       llvm::LLVMContext &context, const HostTarget &target) {
  if (lowering.getLanguage() == Language::generic)
    return compileKernel(lowering, KernelRole::Program, symbol, context,
                         target);
  std::string reason;
  {
    ScopedDiagnosticHandler collect(
        lowering.getContext(), [&](Diagnostic &diagnostic) {
          if (reason.empty() &&
              diagnostic.getSeverity() == DiagnosticSeverity::Error)
            reason = diagnostic.str();
          return success();
        });
    auto kernel =
        compileKernel(lowering, KernelRole::Program, symbol, context, target);
    if (succeeded(kernel))
      return kernel;
  }
  emitWarning(lowering.getLoc())
      << "winner " << symbol << " does not compile here: " << reason
      << "; its workloads take the default lowering (search again to replace "
         "it)";
  OwningOpRef<LoweringOp> fallback(cast<LoweringOp>(lowering->clone()));
  fallback->setLanguage(Language::generic);
  fallback->removeFileAttr();
  fallback->removeDigestAttr();
  fallback->removeSealAttr();
  fallback->removeSourceAttr();
  fallback->setWorkspace(0);
  return compileKernel(*fallback, KernelRole::Program, symbol, context, target);
}

FailureOr<std::unique_ptr<llvm::Module>>
fastk::compileModel(ModuleOp model, llvm::LLVMContext &context,
                    const HostTarget &target) {
  loadHostDialects(model.getContext());
  if (failed(checkModel(model)))
    return failure();
  OwningOpRef<ModuleOp> host(model.clone());

  // The lowerings that are called, in the order of their symbols.
  std::map<std::string, LoweringOp> lowerings;
  llvm::StringMap<int64_t> workspaces;
  WalkResult walk = model.walk([&](CallOp call) {
    auto lowering = model.lookupSymbol<LoweringOp>(call.getLowering());
    if (!lowering) {
      call.emitOpError() << "'" << call.getLoweringAttr()
                         << "' is not a fastk.lowering of this module "
                            "(required by 'fastk.call')";
      return WalkResult::interrupt();
    }
    lowerings[call.getLowering().str()] = lowering;
    workspaces[call.getLowering()] = lowering.getWorkspace();
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return failure();

  struct Entry {
    std::string name, signature;
  };
  SmallVector<Entry> entries;
  for (auto func : host->getOps<func::FuncOp>()) {
    if (!func.isPublic())
      continue;
    std::string signature;
    llvm::raw_string_ostream(signature) << llvm::json::Value(
        llvm::json::Object{{"inputs", describeTypes(func.getArgumentTypes())},
                           {"outputs", describeTypes(func.getResultTypes())}});
    entries.push_back({func.getName().str(), signature});
  }

  if (failed(hideNames(*host, target)))
    return failure();
  // Patterns are compiled on their own; here they would be bufferized as well.
  for (auto lowering : llvm::make_early_inc_range(host->getOps<LoweringOp>()))
    lowering.erase();
  foldEmpty(*host);
  if (failed(bufferizeFunctions(*host)))
    return failure();
  lowerCalls(*host, workspaces);
  if (failed(lowerToLLVMDialect(*host, target, /*approximate=*/true)))
    return failure();
  std::unique_ptr<llvm::Module> result =
      translateModuleToLLVMIR(*host, context, "model");
  if (!result) {
    emitError(model.getLoc()) << "model could not be translated to LLVM IR";
    return failure();
  }
  attachTarget(*result, target);

  for (auto &[symbol, lowering] : lowerings) {
    auto kernel = compileWinnerOrDefault(lowering, symbol, context, target);
    if (failed(kernel))
      return failure();
    if (llvm::Linker::linkModules(*result, std::move(*kernel))) {
      emitError(lowering.getLoc())
          << "kernel " << symbol << " could not be linked into the model";
      return failure();
    }
    // Kept as a function of its own: a profile then names the workload.
    llvm::Function *function = result->getFunction(symbol);
    function->setLinkage(llvm::GlobalValue::InternalLinkage);
    function->addFnAttr(llvm::Attribute::NoInline);
  }
  SmallVector<std::string> names;
  for (const Entry &entry : entries)
    names.push_back(entry.name);
  showNames(*result, names);
  for (const Entry &entry : entries)
    addPackedEntry(*result, entry.name, entry.signature);
  attachTarget(*result, target);
  return result;
}
