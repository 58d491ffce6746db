//===- fastk-opt.cpp - mlir-opt with fastk, and the compiler driver -------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "fastk/Transforms/Passes.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::registerAllPasses();
  fastk::registerFastkFormWorkloadsPass();
  fastk::registerFastkInlineWorkloadsPass();
  fastk::registerFastkPrintAnalysisPass();
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registry.insert<fastk::FastkDialect>();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "fastk-opt\n", registry));
}
