//===- ParsedModule.h - IR for the tests of the analyses --------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_UNITTESTS_ANALYSIS_PARSEDMODULE_H
#define FASTK_UNITTESTS_ANALYSIS_PARSEDMODULE_H

#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

namespace fastk {

class ParsedModule {
public:
  explicit ParsedModule(llvm::StringRef text) {
    load();
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module) << "does not parse";
  }
  /// A golden input by name.
  static std::unique_ptr<ParsedModule> golden(llvm::StringRef name) {
    std::unique_ptr<ParsedModule> parsed(new ParsedModule());
    parsed->load();
    parsed->module = mlir::parseSourceFile<mlir::ModuleOp>(
        (FASTK_GOLDEN_DIR "/" + name + ".mlir").str(), &parsed->context);
    EXPECT_TRUE(parsed->module) << name.str() << " does not parse";
    return parsed;
  }
  mlir::Region &body() {
    return (*module->getOps<mlir::func::FuncOp>().begin()).getBody();
  }
  /// Named linalg ops become generics, as in canonical form.
  void generalize() {
    mlir::IRRewriter rewriter(&context);
    llvm::SmallVector<mlir::linalg::LinalgOp> ops;
    module->walk([&](mlir::linalg::LinalgOp op) { ops.push_back(op); });
    for (mlir::linalg::LinalgOp op : ops) {
      if (mlir::isa<mlir::linalg::GenericOp>(op))
        continue;
      rewriter.setInsertionPoint(op);
      EXPECT_TRUE(
          mlir::succeeded(mlir::linalg::generalizeNamedOp(rewriter, op)));
    }
  }

private:
  ParsedModule() = default;
  void load() {
    context.loadDialect<FastkDialect, mlir::arith::ArithDialect,
                        mlir::func::FuncDialect, mlir::linalg::LinalgDialect,
                        mlir::math::MathDialect, mlir::tensor::TensorDialect>();
  }
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

} // namespace fastk

#endif // FASTK_UNITTESTS_ANALYSIS_PARSEDMODULE_H
