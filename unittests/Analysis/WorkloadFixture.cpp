//===- WorkloadFixture.cpp - Workloads for tests --------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WorkloadFixture.h"
#include "fastk/Transforms/Passes.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::test;

MLIRContext &fastk::test::context() {
  static MLIRContext *context = [] {
    DialectRegistry registry;
    registerCanonicalFormDialects(registry);
    registry.insert<complex::ComplexDialect, scf::SCFDialect>();
    auto *result = new MLIRContext(registry, MLIRContext::Threading::DISABLED);
    result->loadAllAvailableDialects();
    return result;
  }();
  return *context;
}

/// Whether the model reads at positions that are data and asserts that they are
/// in bounds: a model that may abort is no workload as a whole.
static bool hasBoundsChecks(StringRef path) {
  auto file = llvm::MemoryBuffer::getFile(path);
  return file && (*file)->getBuffer().contains("cf.assert");
}

std::vector<std::string> fastk::test::smallGoldenInputs() {
  std::vector<std::string> paths;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(FASTK_GOLDEN_DIR, error), end;
       it != end && !error; it.increment(error))
    if (StringRef(it->path()).ends_with("_small.mlir") &&
        !hasBoundsChecks(it->path()))
      paths.push_back(it->path());
  llvm::sort(paths);
  return paths;
}

/// Moves the body of the module's function into a workload.
static void wrap(ModuleOp module) {
  auto func = *module.getOps<func::FuncOp>().begin();
  Block &old = func.getBody().front();
  Operation *ret = old.getTerminator();
  SmallVector<Type> results(ret->getOperandTypes());

  Block *outer = new Block();
  for (BlockArgument arg : old.getArguments())
    outer->addArgument(arg.getType(), arg.getLoc());
  OpBuilder builder(module.getContext());
  builder.setInsertionPointToEnd(outer);
  auto workload = WorkloadOp::create(builder, func.getLoc(), results, "whole",
                                     outer->getArguments());
  func::ReturnOp::create(builder, ret->getLoc(), workload.getResults());
  OpBuilder inner(ret);
  YieldOp::create(inner, ret->getLoc(), ret->getOperands());
  ret->erase();
  workload.getBody().getBlocks().splice(workload.getBody().end(),
                                        func.getBody().getBlocks());
  func.getBody().push_back(outer);
}

Module fastk::test::wrapIntoWorkload(StringRef text) {
  Module module = parseSourceString<ModuleOp>(text, &context());
  if (module)
    wrap(*module);
  return module;
}

Module fastk::test::wrapFileIntoWorkload(StringRef path) {
  auto file = llvm::MemoryBuffer::getFile(path);
  return file ? wrapIntoWorkload((*file)->getBuffer()) : Module();
}

std::vector<Module> fastk::test::formWorkloads(StringRef path) {
  std::vector<Module> result;
  Module model = parseSourceFile<ModuleOp>(path, &context());
  PassManager passes(&context());
  passes.addPass(createFastkFormWorkloadsPass());
  if (!model || failed(passes.run(*model)))
    return result;
  model->walk([&](WorkloadOp workload) {
    Location loc = workload.getLoc();
    Module module = ModuleOp::create(loc);
    OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
    auto func = func::FuncOp::create(
        builder, loc, "f",
        builder.getFunctionType(workload.getOperandTypes(),
                                workload.getResultTypes()));
    Block *entry = func.addEntryBlock();
    builder.setInsertionPointToEnd(entry);
    IRMapping mapping;
    for (auto [operand, arg] :
         llvm::zip_equal(workload.getInputs(), entry->getArguments()))
      mapping.map(operand, arg);
    Operation *copy = builder.clone(*workload, mapping);
    func::ReturnOp::create(builder, loc, copy->getResults());
    result.push_back(std::move(module));
  });
  return result;
}

Module fastk::test::parseQuietly(StringRef text) {
  ScopedDiagnosticHandler quiet(&context(),
                                [](Diagnostic &) { return success(); });
  return parseSourceString<ModuleOp>(text, &context());
}

WorkloadOp fastk::test::getWorkload(ModuleOp module) {
  WorkloadOp found;
  module.walk([&](WorkloadOp op) { found = op; });
  return found;
}

std::string fastk::test::keyOf(ModuleOp module) {
  FailureOr<CanonicalForm> form = computeCanonicalForm(getWorkload(module));
  return succeeded(form) ? form->key : "";
}

Module fastk::test::canonicalModule(CanonicalForm &form) {
  Module module = ModuleOp::create(UnknownLoc::get(&context()));
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  buildKernelFunc(builder, form.getLowering(), "kernel");
  wrap(*module);
  return module;
}

std::string fastk::test::print(Operation *op) {
  std::string text;
  llvm::raw_string_ostream os(text);
  op->print(os);
  return text;
}
