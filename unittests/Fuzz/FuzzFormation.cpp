//===- FuzzFormation.cpp - Models from anywhere ---------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FuzzTargets.h"
#include "ModelFromBytes.h"
#include "fastk/Analysis/CanonicalForm.h"
#include "fastk/Transforms/FormWorkloads.h"
#include "fastk/Transforms/Passes.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace fastk;

static std::string textOf(Operation *op) {
  std::string text;
  llvm::raw_string_ostream os(text);
  op->print(os);
  return text;
}

/// Forms workloads on a copy; the text of what came of it, or "" when the pass
/// failed.
static std::string formed(ModuleOp module, llvm::StringRef fusion,
                          OwningOpRef<ModuleOp> &copy) {
  copy = module.clone();
  PassManager passes(module.getContext());
  passes.addPass(createFormWorkloadsPass(fusion, /*winners=*/nullptr));
  return succeeded(passes.run(*copy)) ? textOf(*copy) : "";
}

void fastk::fuzz::fuzzFormation(std::string_view data) {
  // A context keeps all that it ever saw: one for each model.
  DialectRegistry registry;
  registry.insert<FastkDialect, cf::ControlFlowDialect,
                  complex::ComplexDialect, func::FuncDialect, scf::SCFDialect>();
  registerCanonicalFormDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  std::string diagnostics;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    diagnostics += diagnostic.str() + "\n";
    return success();
  });

  llvm::StringRef text(data.data(), data.size());
  bool generated = text.consume_front("bytes\n");
  std::string model =
      generated ? modelFromBytes({text.data(), text.size()}) : text.str();
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(model, ParserConfig(&context));
  if (!module) {
    if (generated)
      fail("the generator's models parse", diagnostics + model);
    return;
  }
  for (const char *fusion : {"op", "greedy", "whole"}) {
    diagnostics.clear();
    OwningOpRef<ModuleOp> first, second;
    std::string once = formed(*module, fusion, first);
    if (once.empty() && diagnostics.empty())
      fail("a pass that fails says why", model);
    if (formed(*module, fusion, second) != once)
      fail("the same model gives the same workloads", model);
    if (once.empty())
      continue;
    // What was formed is whole: it has a key, and its ops go back to where they
    // came from.
    first->walk([&](WorkloadOp workload) {
      diagnostics.clear();
      auto form = computeCanonicalForm(workload);
      if (failed(form)) {
        if (diagnostics.empty())
          fail("a workload without a key says why", once);
        return;
      }
      auto again = computeCanonicalForm(workload);
      if (failed(again) || again->key != form->key)
        fail("a workload has one key", once);
    });
    PassManager back(&context);
    back.addPass(createFastkInlineWorkloadsPass());
    if (failed(back.run(*first)) || failed(verify(*first)))
      fail("workloads can be inlined", diagnostics + once);
  }
}
