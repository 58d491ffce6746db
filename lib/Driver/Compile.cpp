//===- Compile.cpp - A model's way through the compiler -------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Driver/Compile.h"
#include "fastk/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace fastk;

/// Runs one pass on the module, with the printing and timing that the user
/// asked for.
static LogicalResult runPass(ModuleOp module, std::unique_ptr<Pass> pass,
                             bool onFunctions = false) {
  PassManager manager(module.getContext());
  if (failed(applyPassManagerCLOptions(manager)))
    return failure();
  if (onFunctions)
    manager.nest<func::FuncOp>().addPass(std::move(pass));
  else
    manager.addPass(std::move(pass));
  return manager.run(module);
}

LogicalResult fastk::formWorkloads(ModuleOp module, StringRef fusion) {
  FastkFormWorkloadsPassOptions options;
  options.fusion = fusion.str();
  return runPass(module, createFastkFormWorkloadsPass(options));
}

LogicalResult fastk::inlineWorkloads(ModuleOp module) {
  return runPass(module, createFastkInlineWorkloadsPass());
}

LogicalResult fastk::lowerWorkloads(ModuleOp module, StringRef target) {
  FastkLowerWorkloadsPassOptions options;
  options.target = target.str();
  return runPass(module, createFastkLowerWorkloadsPass(options));
}

LogicalResult fastk::promoteToF64(ModuleOp module) {
  return runPass(module, createFastkPromoteToF64Pass(), /*onFunctions=*/true);
}
