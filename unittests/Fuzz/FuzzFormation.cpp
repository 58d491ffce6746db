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
#include <utility>

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
static std::string formed(ModuleOp module, Fusion fusion,
                          OwningOpRef<ModuleOp> &copy) {
  copy = module.clone();
  PassManager passes(module.getContext());
  passes.addPass(createFormWorkloadsPass(fusion, /*winners=*/nullptr));
  return succeeded(passes.run(*copy)) ? textOf(*copy) : "";
}

/// A context keeps all that it ever saw; a new one is made before that is much.
static MLIRContext &contextForSome() {
  static std::unique_ptr<MLIRContext> context;
  static unsigned uses = 0;
  if (!context || ++uses % 100 == 0) {
    DialectRegistry registry;
    registry
        .insert<FastkDialect, cf::ControlFlowDialect, complex::ComplexDialect,
                func::FuncDialect, scf::SCFDialect>();
    registerCanonicalFormDialects(registry);
    context = std::make_unique<MLIRContext>(registry,
                                            MLIRContext::Threading::DISABLED);
  }
  return *context;
}

void fastk::fuzz::fuzzFormation(std::string_view data) {
  MLIRContext &context = contextForSome();
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
  // One mode for each input: a fuzzer has inputs enough.
  Fusion fusion = Choices<Fusion>::values[data.size() % 3];
  diagnostics.clear();
  OwningOpRef<ModuleOp> first, second;
  std::string once = formed(*module, fusion, first);
  if (once.empty() && diagnostics.empty())
    fail("a pass that fails says why", model);
  if (formed(*module, fusion, second) != once)
    fail("the same model gives the same workloads", model);
  if (once.empty())
    return;
  // What was formed is whole: it has a key, and its ops go back to where they
  // came from. A copy that was made by itself has the same keys.
  SmallVector<std::string> keys;
  auto keysOf = [&](ModuleOp formed) {
    formed.walk([&](WorkloadOp workload) {
      diagnostics.clear();
      auto form = computeCanonicalForm(workload);
      if (failed(form) && diagnostics.empty())
        fail("a workload without a key says why", once);
      keys.push_back(failed(form) ? "" : form->key);
    });
    return std::exchange(keys, {});
  };
  if (keysOf(*first) != keysOf(*second))
    fail("a workload has one key", once);
  PassManager back(&context);
  back.addPass(createFastkInlineWorkloadsPass());
  if (failed(back.run(*first)) || failed(verify(*first)))
    fail("workloads can be inlined", diagnostics + once);
}
