//===- PoolFixture.h - A pool of this machine, for tests --------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_UNITTESTS_EVALUATE_POOLFIXTURE_H
#define FASTK_UNITTESTS_EVALUATE_POOLFIXTURE_H

#include "../Bank/BankTestUtils.h"
#include "fastk/Analysis/CanonicalForm.h"
#include "fastk/Evaluate/LocalPool.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"
#include <map>

namespace fastk::test {

class PoolFixture : public testing::Test {
protected:
  PoolFixture() {
    context.loadDialect<FastkDialect, mlir::arith::ArithDialect,
                        mlir::func::FuncDialect, mlir::linalg::LinalgDialect,
                        mlir::tensor::TensorDialect>();
    module = workload(64);
    options.jobs.compiler = FASTK_OPT;
    options.worker = FASTK_WORKER;
    options.jobs.threads = 1;
    options.jobs.timeSeconds = 0.1;
  }
  /// A `default` lowering of x + x on `size` floats.
  mlir::OwningOpRef<mlir::ModuleOp> workload(int64_t size,
                                             llvm::StringRef target = "host") {
    std::string text = R"(
      #id = affine_map<(i) -> (i)>
      func.func @f(%x: tensor<Nxf32>) -> tensor<Nxf32> {
        %r = fastk.workload "double"(%x) : (tensor<Nxf32>) -> tensor<Nxf32> {
        ^bb0(%a: tensor<Nxf32>):
          %e = tensor.empty() : tensor<Nxf32>
          %y = linalg.generic {indexing_maps = [#id, #id],
                               iterator_types = ["parallel"]}
            ins(%a : tensor<Nxf32>) outs(%e : tensor<Nxf32>) {
          ^bb1(%in: f32, %out: f32):
            %s = arith.addf %in, %in : f32
            linalg.yield %s : f32
          } -> tensor<Nxf32>
          fastk.yield %y : tensor<Nxf32>
        }
        return %r : tensor<Nxf32>
      })";
    for (size_t at; (at = text.find("Nx")) != std::string::npos;)
      text.replace(at, 1, std::to_string(size));
    auto parsed = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    mlir::OpBuilder builder(&context);
    mlir::OwningOpRef<mlir::ModuleOp> result =
        mlir::ModuleOp::create(builder.getUnknownLoc());
    builder.setInsertionPointToEnd(result->getBody());
    parsed->walk([&](WorkloadOp op) {
      auto form = computeCanonicalForm(op);
      EXPECT_TRUE(mlir::succeeded(form) && mlir::succeeded(buildDefaultLowering(
                                               builder, *form, target)));
    });
    return result;
  }
  /// An executable script.
  std::string script(const std::string &name, const std::string &text) {
    std::string path = folder.file(name);
    writeAll(path, "#!/bin/sh\n" + text);
    EXPECT_FALSE(llvm::sys::fs::setPermissions(
        path, llvm::sys::fs::all_read | llvm::sys::fs::all_exe));
    return path;
  }
  std::unique_ptr<Evaluator> pool() {
    auto pool = createLocalPool(options);
    if (!pool) {
      ADD_FAILURE() << llvm::toString(pool.takeError());
      return nullptr;
    }
    return std::move(*pool);
  }
  /// What the parts are, by their names; `expected` are the languages of
  /// variants that may come, and `unused` are the names of parts that they do
  /// not rest on.
  std::map<std::string, std::string>
  provenance(mlir::ModuleOp of,
             const std::optional<Languages> &expected = std::nullopt,
             std::vector<std::string> *unused = nullptr) {
    std::unique_ptr<Evaluator> evaluator = pool();
    if (expected)
      EXPECT_EQ(llvm::toString(evaluator->check(*expected, {})), "");
    auto parts = evaluator->provenance(TestContext::loweringOf(of), {});
    if (!parts) {
      ADD_FAILURE() << llvm::toString(parts.takeError());
      return {};
    }
    std::map<std::string, std::string> contents;
    for (const ProvenancePart &part : *parts) {
      contents[part.name] = part.content;
      if (unused && !part.isUsed)
        unused->push_back(part.name);
    }
    return contents;
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  TemporaryFolder folder;
  LocalPoolOptions options;
};

/// A variant in CUDA-C that is launched with `threads` a block.
inline Variant deviceVariant(int64_t threads) {
  Variant variant;
  variant.language = Language::cuda;
  variant.program = "extern \"C\" __global__ void twice() {}";
  worker::Launch launch;
  launch.kernel = "twice";
  launch.block = {threads, 1, 1};
  launch.arguments = {worker::BufferRef{},
                      worker::BufferRef{worker::BufferRef::Space::Output}};
  variant.plan.emplace();
  variant.plan->steps.push_back(launch);
  return variant;
}

} // namespace fastk::test

#endif // FASTK_UNITTESTS_EVALUATE_POOLFIXTURE_H
