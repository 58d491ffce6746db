//===- CompileModel.cpp - Functions that call lowerings to LLVM IR --------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CallFrame.h"
#include "Host/HostPipeline.h"
#include "ModelInterface.h"
#include "fastk/Conversion/Passes.h"
#include "fastk/Dialect/Fastk/PlanRegion.h"
#include "fastk/Transforms/Passes.h"
#include "fastk/Transforms/RunPasses.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"

using namespace mlir;
using namespace fastk;

/// While the model is compiled its functions go by another name, so that none
/// is taken for a function of the run-time libraries or one that the compiler
/// makes.
static constexpr StringLiteral kHidden = "fastk.model.";

/// Hides the names of all functions of `module`, and those that call them.
static LogicalResult hideNames(ModuleOp module, const HostTarget &target) {
  for (auto func : module.getOps<func::FuncOp>()) {
    if (func.isPublic() && failed(checkExportedName(func, target)))
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

/// Refuses resources without data, and makes plain constants of those of truth
/// values and complex numbers: the translation to LLVM IR knows no others.
static LogicalResult resolveResources(ModuleOp module) {
  WalkResult walk = module.walk([](arith::ConstantOp op) {
    auto resource = dyn_cast<DenseResourceElementsAttr>(op.getValue());
    if (!resource)
      return WalkResult::advance();
    ShapedType type = resource.getType();
    Type element = type.getElementType();
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    int64_t bytes = type.getNumElements() * elementBytes(element);
    if (!blob || static_cast<int64_t>(blob->getData().size()) != bytes) {
      op.emitError() << "has not the " << bytes
                     << " bytes of data that it names: the file was cut or "
                        "printed without its resources; print it whole "
                        "(required by 'fastk.compile_model')";
      return WalkResult::interrupt();
    }
    ArrayRef<char> data = blob->getData();
    if (element.isInteger(1))
      op.setValueAttr(DenseElementsAttr::get(
          type,
          ArrayRef(reinterpret_cast<const bool *>(data.data()), data.size())));
    else if (isa<ComplexType>(element))
      op.setValueAttr(DenseElementsAttr::getFromRawBuffer(type, data));
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

FailureOr<std::unique_ptr<llvm::Module>>
fastk::compileModel(ModuleOp model, llvm::LLVMContext &context,
                    const HostTarget &target, KernelRole role) {
  loadHostDialects(model.getContext());
  OwningOpRef<ModuleOp> host(model.clone());
  boxScalars(*host);
  if (failed(resolveResources(*host)))
    return failure();
  PassManager state(host->getContext());
  state.addPass(createFastkCopyStatePass());
  if (failed(runPasses(state, *host)))
    return failure();
  if (failed(checkModelInterface(*host, /*allowDynamic=*/true)))
    return failure();

  FailureOr<std::map<std::string, LoweringOp>> lowerings =
      findCalledLowerings(model);
  if (failed(lowerings))
    return failure();

  struct Entry {
    std::string name, signature;
  };
  SmallVector<Entry> entries;
  for (auto func : host->getOps<func::FuncOp>()) {
    if (!func.isPublic())
      continue;
    entries.push_back({func.getName().str(), describeSignature(func)});
  }

  if (failed(hideNames(*host, target)))
    return failure();
  // First the kernels: the model's plan has room for what they need.
  std::vector<std::pair<std::string, std::unique_ptr<llvm::Module>>> kernels;
  llvm::StringMap<int64_t> workspaces;
  for (auto &[symbol, lowering] : *lowerings) {
    // A winner is no oracle: it was judged by one.
    KernelRole own = lowering.getLanguage() == Language::generic
                         ? role
                         : KernelRole::Program;
    auto kernel = compileWinnerOrDefault<std::unique_ptr<llvm::Module>>(
        lowering, [&, &symbol = symbol](LoweringOp each) {
          return compileKernel(each, own, symbol, context, target,
                               &workspaces[symbol]);
        });
    if (failed(kernel))
      return failure();
    kernels.emplace_back(symbol, std::move(*kernel));
  }
  for (auto lowering : host->getOps<LoweringOp>())
    if (int64_t bytes = workspaces.lookup(lowering.getSymName()))
      lowering->setAttr(kWorkspaceAttr,
                        Builder(*host).getI64IntegerAttr(bytes));
  bool isOracle = role == KernelRole::Oracle;
  PassManager scalars(host->getContext());
  scalars.addNestedPass<func::FuncOp>(
      createFastkLegalizeScalarsPass({isOracle, /*hasComplexLibm=*/isOracle}));
  if (failed(runPasses(scalars, *host)))
    return failure();
  PassManager passes(host->getContext());
  // The lowerings' verifier computes their keys anew.
  passes.enableVerifier(false);
  passes.addPass(createFastkDecomposeAttentionPass());
  passes.addPass(createFastkFoldEmptyPass());
  buildBufferizePipeline(passes);
  passes.addPass(createFastkLowerCallsPass());
  if (failed(runPasses(passes, *host)) ||
      failed(lowerToLLVMDialect(*host, target, /*approximate=*/!isOracle,
                                /*isModel=*/true)))
    return failure();
  ErrorTexts errors = ErrorTexts::takeFrom(*host);
  std::unique_ptr<llvm::Module> result =
      translateModuleToLLVMIR(*host, context, "model");
  if (!result) {
    emitError(model.getLoc()) << "model could not be translated to LLVM IR";
    return failure();
  }
  attachTarget(*result, target);

  for (auto &[symbol, kernel] : kernels) {
    if (llvm::Linker::linkModules(*result, std::move(kernel))) {
      emitError((*lowerings)[symbol].getLoc())
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
  if (failed(linkCallFrame(*result))) {
    emitError(model.getLoc()) << "fastk's own functions could not be linked "
                                 "into the model";
    return failure();
  }
  for (const Entry &entry : entries) {
    addPackedEntry(*result, entry.name, entry.signature);
    addErrorEntry(*result, entry.name, errors);
  }
  attachTarget(*result, target);
  return result;
}
