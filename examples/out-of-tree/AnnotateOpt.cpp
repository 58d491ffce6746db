//===- AnnotateOpt.cpp - A pass of one's own beside fastk's ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An mlir-opt that has fastk's passes, and one more that writes what each
// workload costs onto it:
//
//   annotate-opt model.mlir --fastk-form-workloads --annotate-workloads
//
//===----------------------------------------------------------------------===//

#include "fastk/Analysis/Roofline.h"
#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "fastk/Transforms/Passes.h"
#include "mlir/IR/Builders.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

namespace {
struct AnnotateWorkloads
    : mlir::PassWrapper<AnnotateWorkloads, mlir::OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AnnotateWorkloads)

  llvm::StringRef getArgument() const final { return "annotate-workloads"; }
  llvm::StringRef getDescription() const final {
    return "Write the bytes and operations of each workload onto it";
  }

  void runOnOperation() final {
    mlir::Builder builder(&getContext());
    getOperation()->walk([&](fastk::WorkloadOp workload) {
      fastk::Roofline cost = fastk::computeRoofline(workload->getRegion(0));
      workload->setAttr("example.bytes",
                        builder.getI64IntegerAttr(cost.compulsoryBytes()));
      workload->setAttr("example.flops",
                        builder.getI64IntegerAttr(int64_t(cost.ops.flops())));
    });
  }
};
} // namespace

int main(int argc, char **argv) {
  fastk::registerFastkPasses();
  mlir::registerTransformsPasses();
  mlir::PassRegistration<AnnotateWorkloads>();
  mlir::DialectRegistry registry;
  // What the input may hold; passes bring what they make.
  registry.insert<fastk::FastkDialect, mlir::affine::AffineDialect,
                  mlir::arith::ArithDialect, mlir::func::FuncDialect,
                  mlir::linalg::LinalgDialect, mlir::math::MathDialect,
                  mlir::tensor::TensorDialect>();
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "annotate-opt: an example of a tool on fastk\n", registry));
}
