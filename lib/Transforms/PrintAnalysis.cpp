//===- PrintAnalysis.cpp - Shows what is known of workloads ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Analysis/Roofline.h"
#include "fastk/Analysis/WorkloadKind.h"
#include "fastk/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

namespace fastk {
#define GEN_PASS_DEF_FASTKPRINTANALYSISPASS
#include "fastk/Transforms/Passes.h.inc"

using namespace mlir;

namespace {

/// Round numbers, so that a floor can be checked in one's head.
TargetDescription roundTarget() {
  TargetDescription target;
  target.target = "round";
  target.memoryBytesPerSecond = 100e9;
  target.f32OpsPerSecond = 1e12;
  target.f64OpsPerSecond = 0.5e12;
  target.f16OpsPerSecond = target.bf16OpsPerSecond = 1e12;
  return target;
}

void printKind(raw_ostream &os, const WorkloadFeatures &features) {
  os << "  name: " << features.name << "\n  kind: " << stringify(features.kind)
     << "\n  reduction: " << features.reductionLength << "\n";
  if (features.rows)
    os << "  rows: " << features.rows << " x " << features.rowLength << "\n";
  for (const ContractionFeatures &c : features.contractions)
    os << "  contraction: batch " << c.batch << ", m " << c.m << ", n " << c.n
       << ", k " << c.k << ", " << c.typeA
       << (c.transposedA ? " transposed" : "") << " x " << c.typeB
       << (c.transposedB ? " transposed" : "") << " -> " << c.accumulator
       << "\n";
  for (const ConvolutionFeatures &c : features.convolutions) {
    os << "  convolution: batch " << c.batch << ", channels " << c.inputChannels
       << " -> " << c.outputChannels << ", groups " << c.groups;
    auto list = [&](StringRef label, ArrayRef<int64_t> values) {
      os << ", " << label << " ";
      llvm::interleave(values, os, "x");
    };
    list("output", c.output);
    list("kernel", c.kernel);
    list("stride", c.stride);
    list("padding", c.padding);
    list("dilation", c.dilation);
    os << "\n";
  }
  if (!features.epilogue.empty())
    os << "  epilogue: " << llvm::join(features.epilogue, ", ") << "\n";
  os << "  inputs:";
  for (const InputFeatures &input : features.inputs)
    os << " " << stringify(input.role);
  os << "\n";
}

void printRoofline(raw_ostream &os, const Roofline &roofline,
                   const TargetDescription &target) {
  const OperationCounts &ops = roofline.ops;
  os << "  bytes: " << roofline.compulsoryBytes() << " (" << roofline.readBytes
     << " read, " << roofline.writtenBytes << " written)\n  ops:";
  auto print = [&](StringRef name, double count) {
    if (count)
      os << " " << name << " " << llvm::format("%.0f", count);
  };
  print("multiply-add", ops.multiplyAdd);
  print("add", ops.addSub);
  print("multiply", ops.multiply);
  print("divide", ops.divide);
  print("compare", ops.compare);
  print("sqrt", ops.squareRoot);
  print("transcendental", ops.transcendental);
  print("convert", ops.conversion);
  print("integer", ops.integer);
  print("foldable", ops.foldable);
  CacheState caches = roofline.timedCaches(target);
  os << "\n  floor: "
     << llvm::format("%.4g", 1e6 * roofline.floorSeconds(target, caches))
     << " us, " << stringify(roofline.bound(target, caches)) << " bound, "
     << llvm::format("%.4g", roofline.intensity()) << " op/byte\n";
  for (const std::string &name : roofline.unmodelled)
    os << "  not modelled: " << name << "\n";
}

struct PrintAnalysis : public impl::FastkPrintAnalysisPassBase<PrintAnalysis> {
  using FastkPrintAnalysisPassBase::FastkPrintAnalysisPassBase;

  void runOnOperation() override {
    if (target != "round" && target != "host") {
      getOperation()->emitError("fastk-print-analysis: unknown target '")
          << target << "'; use round or host";
      return signalPassFailure();
    }
    TargetDescription device =
        target == "host" ? hostDescription() : roundTarget();
    getOperation()->walk<WalkOrder::PreOrder>([&](Operation *op) {
      Region *body = nullptr;
      std::string label;
      if (auto function = dyn_cast<func::FuncOp>(op)) {
        label = "func @" + function.getName().str();
        // A function that workloads were formed in is their frame.
        bool formed = !function.getOps<WorkloadOp>().empty();
        if (!function.isExternal() && !formed)
          body = &function.getBody();
      } else if (auto workload = dyn_cast<WorkloadOp>(op)) {
        label = "workload \"" + workload.getName().str() + "\"";
        body = &workload.getBody();
      } else if (auto lowering = dyn_cast<LoweringOp>(op)) {
        label = "lowering @" + lowering.getSymName().str();
        body = &lowering.getPattern();
      }
      if (!body)
        return WalkResult::advance();
      llvm::outs() << label << "\n";
      if (!body->hasOneBlock()) {
        llvm::outs() << "  not analysed: more than one block\n";
        return WalkResult::skip();
      }
      bool isStatic = true;
      body->walk([&](Operation *inner) {
        for (Type type : inner->getResultTypes())
          if (auto shaped = dyn_cast<ShapedType>(type))
            isStatic &= shaped.hasStaticShape();
      });
      for (Type type : body->getArgumentTypes())
        if (auto shaped = dyn_cast<ShapedType>(type))
          isStatic &= shaped.hasStaticShape();
      if (!isStatic) {
        llvm::outs() << "  not analysed: dynamic shapes\n";
        return WalkResult::skip();
      }
      printKind(llvm::outs(), analyzeWorkload(*body));
      printRoofline(llvm::outs(), computeRoofline(*body), device);
      return WalkResult::skip();
    });
    llvm::outs().flush();
    markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace fastk
