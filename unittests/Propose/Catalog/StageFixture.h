//===- StageFixture.h - Patterns of text for tests of stages ----*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_UNITTESTS_PROPOSE_CATALOG_STAGEFIXTURE_H
#define FASTK_UNITTESTS_PROPOSE_CATALOG_STAGEFIXTURE_H

#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

namespace fastk::test {

/// The body of a text's function.
class StagePattern {
public:
  explicit StagePattern(llvm::StringRef text) {
    context.loadDialect<FastkDialect, mlir::arith::ArithDialect,
                        mlir::func::FuncDialect, mlir::linalg::LinalgDialect,
                        mlir::math::MathDialect, mlir::tensor::TensorDialect>();
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text.str();
  }

  mlir::Block &block() {
    return (*module->getOps<mlir::func::FuncOp>().begin()).getBody().front();
  }
  /// The result of the op of that number.
  mlir::Value value(unsigned number) {
    return std::next(block().begin(), number)->getResult(0);
  }
  /// What the function returns.
  mlir::Value root() { return block().getTerminator()->getOperand(0); }

private:
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

} // namespace fastk::test

#endif // FASTK_UNITTESTS_PROPOSE_CATALOG_STAGEFIXTURE_H
