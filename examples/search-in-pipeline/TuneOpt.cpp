//===- TuneOpt.cpp - A search in a pipeline of one's own ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An mlir-opt with a pipeline that has upstream's passes, fastk's and one of
// its own in it:
//
//   tune-opt model.mlir --tune="bank=winners search='budget=minutes=5'"
//
// The pass of its own decides what is searched: workloads with few operations
// go back to linalg, where the rest of the pipeline takes them, and cost the
// search nothing.
//
//===----------------------------------------------------------------------===//

#include "fastk/Analysis/Roofline.h"
#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "fastk/Driver/RunSearch.h"
#include "fastk/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

namespace {
struct DissolveSmallWorkloads
    : mlir::PassWrapper<DissolveSmallWorkloads,
                        mlir::OperationPass<mlir::ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(DissolveSmallWorkloads)

  DissolveSmallWorkloads() = default;
  DissolveSmallWorkloads(const DissolveSmallWorkloads &other)
      : PassWrapper(other) {}

  llvm::StringRef getArgument() const final {
    return "dissolve-small-workloads";
  }
  llvm::StringRef getDescription() const final {
    return "Turn workloads with few operations into the ops that they are of";
  }

  void runOnOperation() final {
    llvm::SmallVector<fastk::WorkloadOp> small;
    getOperation().walk([&](fastk::WorkloadOp workload) {
      fastk::Roofline cost = fastk::computeRoofline(workload->getRegion(0));
      if (cost.ops.flops() < double(minFlops))
        small.push_back(workload);
    });
    mlir::IRRewriter rewriter(&getContext());
    for (fastk::WorkloadOp workload : small)
      dissolve(rewriter, workload);
  }

  Option<int64_t> minFlops{
      *this, "min-flops", llvm::cl::init(1000000),
      llvm::cl::desc("Operations from which on a workload is kept")};

private:
  static void dissolve(mlir::RewriterBase &rewriter,
                       fastk::WorkloadOp workload) {
    mlir::Block &body = workload->getRegion(0).front();
    mlir::Operation *yield = body.getTerminator();
    llvm::SmallVector<mlir::Value> results(yield->getOperands());
    rewriter.eraseOp(yield);
    rewriter.inlineBlockBefore(&body, workload, workload->getOperands());
    rewriter.replaceOp(workload, results);
  }
};

struct TuneOptions : mlir::PassPipelineOptions<TuneOptions> {
  Option<std::string> bank{*this, "bank",
                           llvm::cl::desc("Folder of winners, found or new")};
  Option<std::string> target{*this, "target", llvm::cl::init("host"),
                             llvm::cl::desc("What is compiled for")};
  Option<std::string> search{
      *this, "search", llvm::cl::init("scope=none"),
      llvm::cl::desc("Options of fastk-search; default: nothing is searched")};
  Option<int64_t> minFlops{
      *this, "min-flops", llvm::cl::init(1000000),
      llvm::cl::desc("Operations from which on a workload is searched")};
};
} // namespace

/// Passes by their text: what options are named is a promise, what the C++
/// behind them is, is not.
static void addPasses(mlir::OpPassManager &passes, const TuneOptions &options) {
  std::string where = "bank=" + options.bank + " target=" + options.target;
  std::string text =
      "canonicalize,fastk-form-workloads,"
      "dissolve-small-workloads{min-flops=" +
      std::to_string(options.minFlops) + "},fastk-search{" + where + " " +
      options.search + "},fastk-apply-winners{" + where +
      "},fastk-inline-workloads,func.func(linalg-fuse-elementwise-ops),cse";
  if (mlir::failed(mlir::parsePassPipeline(text, passes)))
    llvm::report_fatal_error(
        "tune-opt: --tune: its options make no pipeline, see above",
        /*gen_crash_diag=*/false);
}

int main(int argc, char **argv) {
  fastk::registerFastkPasses();
  fastk::registerSearchPass();
  mlir::registerTransformsPasses();
  mlir::registerLinalgPasses();
  mlir::PassRegistration<DissolveSmallWorkloads>();
  mlir::PassPipelineRegistration<TuneOptions>(
      "tune", "Search, apply winners, and lower the rest as ever", addPasses);
  mlir::DialectRegistry registry;
  // What the input may hold; passes bring what they make.
  registry.insert<fastk::FastkDialect, mlir::affine::AffineDialect,
                  mlir::arith::ArithDialect, mlir::func::FuncDialect,
                  mlir::linalg::LinalgDialect, mlir::math::MathDialect,
                  mlir::tensor::TensorDialect>();
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "tune-opt: an example of a pipeline with a search\n",
      registry));
}
