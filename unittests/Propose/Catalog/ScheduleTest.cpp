//===- ScheduleTest.cpp - The catalog's schedules apply -------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../../../lib/Propose/Catalog/Schedules.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Transform/IR/TransformOps.h"
#include "mlir/Dialect/Transform/Transforms/TransformInterpreterUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace fastk;

static const char *productText = R"(
#a = affine_map<(m, k, n) -> (m, k)>
#b = affine_map<(m, k, n) -> BMAP>
#c = affine_map<(m, k, n) -> (m, n)>
func.func @f(%a: tensor<48x40xf32>, %b: tensor<BTYPE>) -> tensor<48x64xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<48x64xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<48x64xf32>) -> tensor<48x64xf32>
  %p = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "reduction", "parallel"]} ins(%a, %b : tensor<48x40xf32>, tensor<BTYPE>) outs(%i : tensor<48x64xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %t = arith.mulf %x, %y : f32
    %s = arith.addf %acc, %t : f32
    linalg.yield %s : f32
  } -> tensor<48x64xf32>
  return %p : tensor<48x64xf32>
}
)";

static std::string replace(std::string text, const std::string &from,
                           const std::string &to) {
  for (size_t at; (at = text.find(from)) != std::string::npos;)
    text.replace(at, from.size(), to);
  return text;
}

TEST(CatalogSchedule, TilesAndVectorisesAProduct) {
  DialectRegistry registry;
  registerAllDialects(registry);
  registerAllExtensions(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  for (bool transposed : {false, true})
    for (int64_t tile : {0, 1}) {
      std::string text =
          replace(productText, "BMAP", transposed ? "(n, k)" : "(k, n)");
      text = replace(text, "BTYPE", transposed ? "64x40xf32" : "40x64xf32");
      auto module = parseSourceString<ModuleOp>(text, &context);
      ASSERT_TRUE(module);
      auto func = *module->getOps<func::FuncOp>().begin();
      catalog::Machine machine;
      machine.vectorBytes = 64;
      machine.threads = 2;
      auto schedule = catalog::emitSchedule(func.getBody().front(), machine,
                                            {{"tile", tile}});
      ASSERT_FALSE(schedule.text.empty());
      auto program = parseSourceString<ModuleOp>(schedule.text, &context);
      ASSERT_TRUE(program) << schedule.text;
      auto entry =
          program->lookupSymbol<transform::NamedSequenceOp>("__fastk_schedule");
      ASSERT_TRUE(entry);
      transform::TransformOptions options;
      ASSERT_TRUE(succeeded(transform::applyTransformNamedSequence(
          func, entry, ModuleOp(), options)));
      EXPECT_TRUE(succeeded(verify(*module)));
      unsigned fmas = 0, contracts = 0, generics = 0;
      func.walk([&](vector::FMAOp) { ++fmas; });
      func.walk([&](vector::ContractionOp) { ++contracts; });
      func.walk([&](linalg::GenericOp) { ++generics; });
      EXPECT_GE(fmas, 8u);
      EXPECT_EQ(contracts, 0u);
      EXPECT_EQ(generics, 0u);
    }
}
