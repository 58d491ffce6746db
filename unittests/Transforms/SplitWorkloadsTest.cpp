//===- SplitWorkloadsTest.cpp - Cuts, and what becomes of the rest --------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// By winners that are invented. What banks and families make of it is in lit
// tests: fastk_form_workloads_merge, families-cut-merged.
//
//===----------------------------------------------------------------------===//

#include "fastk/Transforms/FormWorkloads.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace fastk;
using testing::ElementsAre;

namespace {
class Invented : public WinnerQuery {
public:
  std::function<bool(WorkloadOp)> has;
  std::function<bool(WorkloadOp)> alone = [](WorkloadOp) { return false; };
  bool single = false;

  uint64_t mostReductions() override { return 8; }
  bool hasWinner(WorkloadOp workload) override {
    asked.insert(workload);
    return has(workload);
  }
  void forget(WorkloadOp workload) override { asked.erase(workload); }
  bool staysAlone(WorkloadOp workload) override { return alone(workload); }
  bool takesSingleResults() const override { return single; }

  /// What was asked for and not forgotten: nothing of it may be erased.
  llvm::DenseSet<Operation *> asked;
};

bool isNamed(WorkloadOp workload, StringRef name) {
  return workload.getName() == name;
}

bool hasOneResult(WorkloadOp workload) { return workload.getNumResults() == 1; }

class SplitWorkloadsTest : public testing::Test {
protected:
  SplitWorkloadsTest() {
    context.loadDialect<FastkDialect, arith::ArithDialect, func::FuncDialect,
                        linalg::LinalgDialect, math::MathDialect,
                        tensor::TensorDialect>();
  }

  /// The names of the workloads after both steps, in their order.
  std::vector<std::string> namesOf(const std::string &text,
                                   Fusion fusion = Fusion::Greedy,
                                   Fusion smallest = Fusion::Op) {
    winners.asked.clear();
    module = parseSourceString<ModuleOp>(text, &context);
    if (!module)
      return {"does not parse"};
    EXPECT_TRUE(succeeded(formWorkloads(*module, fusion, nullptr)));
    EXPECT_TRUE(succeeded(splitWorkloads(*module, fusion, winners, smallest)));
    EXPECT_TRUE(succeeded(verify(*module)));
    std::vector<std::string> names;
    llvm::DenseSet<Operation *> there;
    module->walk([&](WorkloadOp workload) {
      there.insert(workload);
      names.push_back(workload.getName().str());
    });
    for (Operation *asked : winners.asked)
      EXPECT_TRUE(there.contains(asked)) << "erased, and not forgotten";
    return names;
  }

  Invented winners;
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

constexpr const char *kMaps = R"mlir(
#planes = affine_map<(d0, d1) -> (d0, d1)>
#columns = affine_map<(d0, d1) -> (d1)>
#layers = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#plane = affine_map<(d0, d1, d2) -> (d1, d2)>
)mlir";

/// A product %y, scaled to %z, of %x, %w and %s.
std::string scaledProduct(const std::string &n) {
  return "  %e" + n + " = tensor.empty() : tensor<32x48xf32>\n  %f" + n +
         " = linalg.fill ins(%zero : f32) outs(%e" + n +
         " : tensor<32x48xf32>) -> tensor<32x48xf32>\n  %y" + n +
         " = linalg.matmul ins(%x, %w" + n +
         " : tensor<32x64xf32>, tensor<64x48xf32>) outs(%f" + n +
         " : tensor<32x48xf32>) -> tensor<32x48xf32>\n  %z" + n +
         " = linalg.generic {indexing_maps = [#planes, #columns, #planes], "
         "iterator_types = [\"parallel\", \"parallel\"]} ins(%y" +
         n + ", %s : tensor<32x48xf32>, tensor<48xf32>) outs(%e" + n +
         " : tensor<32x48xf32>) {\n  ^bb0(%a: f32, %b: f32, %o: f32):\n"
         "    %p = arith.mulf %a, %b : f32\n    linalg.yield %p : f32\n"
         "  } -> tensor<32x48xf32>\n";
}

/// %t with three planes added to each of its layers.
constexpr const char *kAdded = R"mlir(
  %e = tensor.empty() : tensor<4x32x48xf32>
  %r = linalg.generic {indexing_maps = [#layers, #plane, #plane, #plane, #layers], iterator_types = ["parallel", "parallel", "parallel"]} ins(%t, %z0, %z1, %z2 : tensor<4x32x48xf32>, tensor<32x48xf32>, tensor<32x48xf32>, tensor<32x48xf32>) outs(%e : tensor<4x32x48xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32, %o: f32):
    %p = arith.addf %a, %b : f32
    %q = arith.subf %p, %c : f32
    %u = arith.maximumf %q, %d : f32
    linalg.yield %u : f32
  } -> tensor<4x32x48xf32>
)mlir";

std::string threeScaled() {
  return std::string(kMaps) +
         "func.func @f(%x: tensor<32x64xf32>, %w0: tensor<64x48xf32>, %w1: "
         "tensor<64x48xf32>, %w2: tensor<64x48xf32>, %s: tensor<48xf32>, %t: "
         "tensor<4x32x48xf32>) -> (tensor<32x48xf32>, tensor<32x48xf32>, "
         "tensor<32x48xf32>, tensor<4x32x48xf32>) {\n"
         "  %zero = arith.constant 0.0 : f32\n" +
         scaledProduct("0") + scaledProduct("1") + scaledProduct("2") + kAdded +
         "  return %y0, %y1, %y2, %r : tensor<32x48xf32>, tensor<32x48xf32>, "
         "tensor<32x48xf32>, tensor<4x32x48xf32>\n}\n";
}

TEST_F(SplitWorkloadsTest, AReaderTakesAllThatACutLeavesOver) {
  winners.has = hasOneResult;
  std::vector<std::string> names = namesOf(threeScaled());
  ASSERT_EQ(names.size(), 4u);
  EXPECT_THAT(ArrayRef(names).take_front(3),
              ElementsAre("matmul", "matmul", "matmul"));
  WorkloadOp last;
  module->walk([&](WorkloadOp workload) { last = workload; });
  // Three products, their scale once, and the layers.
  EXPECT_EQ(last.getNumOperands(), 5u);
}

TEST_F(SplitWorkloadsTest, NothingIsMergedWithoutAWinnerOfBoth) {
  winners.has = [](WorkloadOp workload) { return isNamed(workload, "matmul"); };
  EXPECT_EQ(namesOf(threeScaled()).size(), 7u);
}

TEST_F(SplitWorkloadsTest, WhatStaysAloneIsNotMerged) {
  winners.has = hasOneResult;
  winners.alone = [](WorkloadOp workload) { return isNamed(workload, "mul"); };
  EXPECT_EQ(namesOf(threeScaled()).size(), 7u) << "producers";
  winners.alone = [](WorkloadOp workload) {
    return cast<RankedTensorType>(workload->getResult(0).getType()).getRank() ==
           3;
  };
  EXPECT_EQ(namesOf(threeScaled()).size(), 7u) << "the reader";
}

TEST_F(SplitWorkloadsTest, NoContractionReadsWhatIsComputed) {
  std::string text =
      std::string(kMaps) +
      "func.func @f(%x: tensor<32x64xf32>, %w0: tensor<64x48xf32>, %s: "
      "tensor<48xf32>, %v: tensor<48x16xf32>) -> (tensor<32x48xf32>, "
      "tensor<32x16xf32>) {\n  %zero = arith.constant 0.0 : f32\n" +
      scaledProduct("0") + R"mlir(
  %e = tensor.empty() : tensor<32x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<32x16xf32>) -> tensor<32x16xf32>
  %r = linalg.matmul ins(%z0, %v : tensor<32x48xf32>, tensor<48x16xf32>) outs(%f : tensor<32x16xf32>) -> tensor<32x16xf32>
  return %y0, %r : tensor<32x48xf32>, tensor<32x16xf32>
}
)mlir";
  // Of one result, and no more than a product each.
  winners.has = [](WorkloadOp workload) {
    return workload.getNumResults() == 1 &&
           llvm::count_if(*workload.getBodyBlock(), [](Operation &op) {
             return isa<linalg::MatmulOp>(op);
           }) < 2;
  };
  for (Fusion fusion : {Fusion::Greedy, Fusion::Whole})
    EXPECT_THAT(namesOf(text, fusion), ElementsAre("matmul", "mul", "matmul"));
}

/// `count` sines of each other, all of which are results, and a sum with half
/// of the last one, so that results differ in shape.
std::string chain(int count) {
  std::string text = std::string(kMaps) +
                     "func.func @f(%v0: tensor<32x48xf32>, %h: "
                     "tensor<16x48xf32>) -> (tensor<16x48xf32>";
  for (int i = 0; i < count; ++i)
    text += ", tensor<32x48xf32>";
  text += ") {\n  %e = tensor.empty() : tensor<32x48xf32>\n"
          "  %e1 = tensor.empty() : tensor<16x48xf32>\n";
  std::string results = "%r", types = "tensor<16x48xf32>";
  for (int i = 0; i < count; ++i) {
    std::string next = "%v" + std::to_string(i + 1);
    text += "  " + next +
            " = linalg.generic {indexing_maps = [#planes, #planes], "
            "iterator_types = [\"parallel\", \"parallel\"]} ins(%v" +
            std::to_string(i) +
            " : tensor<32x48xf32>) outs(%e : tensor<32x48xf32>) {\n"
            "  ^bb0(%a: f32, %o: f32):\n    %p = math.sin %a : f32\n"
            "    linalg.yield %p : f32\n  } -> tensor<32x48xf32>\n";
    results += ", " + next;
    types += ", tensor<32x48xf32>";
  }
  return text + "  %half = tensor.extract_slice %v" + std::to_string(count) +
         "[0, 0] [16, 48] [1, 1] : tensor<32x48xf32> to tensor<16x48xf32>\n" +
         "  %r = linalg.add ins(%half, %h : tensor<16x48xf32>, "
         "tensor<16x48xf32>) outs(%e1 : tensor<16x48xf32>) -> "
         "tensor<16x48xf32>\n  return " +
         results + " : " + types + "\n}\n";
}

TEST_F(SplitWorkloadsTest, ResultsAreCutApartWhereLittleIsComputedTwice) {
  winners.single = true;
  winners.has = hasOneResult;
  auto cut = [&](int count) {
    return namesOf(chain(count), Fusion::Greedy, Fusion::Greedy).size();
  };
  EXPECT_EQ(cut(1), 2u);
  EXPECT_EQ(cut(8), 1u);
}
} // namespace
