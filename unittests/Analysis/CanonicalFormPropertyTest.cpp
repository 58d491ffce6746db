//===- CanonicalFormPropertyTest.cpp - What the key sees and does not -----===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Thousands of random rewrites of every golden input and of the cases below.
// A failure prints the seed and what was done; the seeds are fixed.
//
//===----------------------------------------------------------------------===//

#include "EquivalentRewrites.h"
#include "MeaningMutations.h"
#include "fastk/Dialect/Fastk/Key.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"
#include <map>

using namespace mlir;
using namespace fastk;
using namespace fastk::test;

namespace {

// Written to be hard: operands that look alike, several results, outputs that
// swap, indices, constants in tensors, a captured scalar.
constexpr const char *kSymmetricOperands = R"mlir(
func.func @f(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>, %c: tensor<8x8xf32>,
             %d: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %e = tensor.empty() : tensor<8x8xf32>
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %ab = linalg.matmul ins(%a, %b : tensor<8x8xf32>, tensor<8x8xf32>) outs(%f : tensor<8x8xf32>) -> tensor<8x8xf32>
  %cd = linalg.matmul ins(%c, %d : tensor<8x8xf32>, tensor<8x8xf32>) outs(%f : tensor<8x8xf32>) -> tensor<8x8xf32>
  %s = linalg.add ins(%ab, %cd : tensor<8x8xf32>, tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %m = linalg.sub ins(%ab, %cd : tensor<8x8xf32>, tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %s, %m : tensor<8x8xf32>, tensor<8x8xf32>
})mlir";

// A ring: every operand has the same neighbourhood, none may be told apart
// before one is singled out.
constexpr const char *kRing = R"mlir(
#id = affine_map<(d0) -> (d0)>
func.func @f(%a: tensor<9xf32>, %b: tensor<9xf32>, %c: tensor<9xf32>,
             %d: tensor<9xf32>, %g: tensor<9xf32>) -> tensor<9xf32> {
  %e = tensor.empty() : tensor<9xf32>
  %0 = linalg.mul ins(%a, %b : tensor<9xf32>, tensor<9xf32>) outs(%e : tensor<9xf32>) -> tensor<9xf32>
  %1 = linalg.mul ins(%b, %c : tensor<9xf32>, tensor<9xf32>) outs(%e : tensor<9xf32>) -> tensor<9xf32>
  %2 = linalg.mul ins(%c, %d : tensor<9xf32>, tensor<9xf32>) outs(%e : tensor<9xf32>) -> tensor<9xf32>
  %3 = linalg.mul ins(%d, %g : tensor<9xf32>, tensor<9xf32>) outs(%e : tensor<9xf32>) -> tensor<9xf32>
  %4 = linalg.mul ins(%g, %a : tensor<9xf32>, tensor<9xf32>) outs(%e : tensor<9xf32>) -> tensor<9xf32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id, #id, #id, #id], iterator_types = ["parallel"]}
      ins(%0, %1, %2, %3, %4 : tensor<9xf32>, tensor<9xf32>, tensor<9xf32>, tensor<9xf32>, tensor<9xf32>)
      outs(%e : tensor<9xf32>) {
  ^bb0(%p0: f32, %p1: f32, %p2: f32, %p3: f32, %p4: f32, %o: f32):
    %x0 = math.exp %p0 : f32
    %x1 = math.exp %p1 : f32
    %x2 = math.exp %p2 : f32
    %x3 = math.exp %p3 : f32
    %x4 = math.exp %p4 : f32
    %m0 = arith.maximumf %x0, %x1 : f32
    %m1 = arith.maximumf %x2, %x3 : f32
    %m2 = arith.maximumf %m0, %m1 : f32
    %m3 = arith.maximumf %m2, %x4 : f32
    linalg.yield %m3 : f32
  } -> tensor<9xf32>
  return %r : tensor<9xf32>
})mlir";

constexpr const char *kSeveralOutputs = R"mlir(
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
func.func @f(%x: tensor<6x6xf32>, %y: tensor<6x6xf32>)
    -> (tensor<6xf32>, tensor<6xf32>, tensor<6xi32>) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant -1.0e+30 : f32
  %none = arith.constant -1 : i32
  %e = tensor.empty() : tensor<6xf32>
  %ei = tensor.empty() : tensor<6xi32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e : tensor<6xf32>) -> tensor<6xf32>
  %f1 = linalg.fill ins(%low : f32) outs(%e : tensor<6xf32>) -> tensor<6xf32>
  %f2 = linalg.fill ins(%none : i32) outs(%ei : tensor<6xi32>) -> tensor<6xi32>
  %w = arith.constant dense<[[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1.5, 2.0, 3.0, 4.0, 5.0, 6.0],
                             [1.0, 2.5, 3.0, 4.0, 5.0, 6.0], [1.0, 2.0, 3.5, 4.0, 5.0, 6.0],
                             [1.0, 2.0, 3.0, 4.5, 5.0, 6.0], [1.0, 2.0, 3.0, 4.0, 5.5, 6.0]]> : tensor<6x6xf32>
  %r:3 = linalg.generic {indexing_maps = [#id, #id, #id, #row, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x, %y, %w : tensor<6x6xf32>, tensor<6x6xf32>, tensor<6x6xf32>)
      outs(%f0, %f1, %f2 : tensor<6xf32>, tensor<6xf32>, tensor<6xi32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %sum: f32, %max: f32, %arg: i32):
    %d = arith.subf %a, %b : f32
    %g = arith.mulf %c, %a : f32
    %t = arith.mulf %d, %g : f32
    %s = arith.addf %sum, %t : f32
    %p = arith.cmpf ogt, %t, %max : f32
    %v = arith.select %p, %t, %max : f32
    %i = linalg.index 1 : index
    %ii = arith.index_cast %i : index to i32
    %w2 = arith.select %p, %ii, %arg : i32
    linalg.yield %s, %v, %w2 : f32, f32, i32
  } -> (tensor<6xf32>, tensor<6xf32>, tensor<6xi32>)
  return %r#0, %r#1, %r#2 : tensor<6xf32>, tensor<6xf32>, tensor<6xi32>
})mlir";

constexpr const char *kSoftmax = R"mlir(
func.func @f(%x: tensor<4x16xf32>, %y: tensor<16x4xf32>) -> tensor<4x4xf32> {
  %e = tensor.empty() : tensor<4x16xf32>
  %s = linalg.softmax dimension(1) ins(%x : tensor<4x16xf32>) outs(%e : tensor<4x16xf32>) -> tensor<4x16xf32>
  %o = tensor.empty() : tensor<4x4xf32>
  %half = arith.constant 0.5 : f32
  %f = linalg.fill ins(%half : f32) outs(%o : tensor<4x4xf32>) -> tensor<4x4xf32>
  %r = linalg.matmul ins(%s, %y : tensor<4x16xf32>, tensor<16x4xf32>) outs(%f : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
})mlir";

struct Case {
  std::string name;
  Module module;
  /// Some change may amount to a renaming of the operands, as turning ab - cd
  /// into cd - ab is when all four are alike.
  bool isSymmetric = false;
};

std::vector<Case> cases() {
  std::vector<Case> result;
  for (const std::string &path : smallGoldenInputs())
    result.push_back(
        {llvm::sys::path::stem(path).str(), wrapFileIntoWorkload(path)});
  result.push_back(
      {"symmetric operands", wrapIntoWorkload(kSymmetricOperands), true});
  result.push_back({"ring", wrapIntoWorkload(kRing), true});
  result.push_back({"several outputs", wrapIntoWorkload(kSeveralOutputs)});
  result.push_back({"softmax", wrapIntoWorkload(kSoftmax)});
  return result;
}

} // namespace

/// Applies a few random rewrites to each case, `trials` times.
static void checkThatRewritesKeepTheKey(std::vector<Case> tests,
                                        unsigned trials) {
  ArrayRef<EquivalentRewrite> rewrites = equivalentRewrites();
  unsigned first = 0;
  for (Case &test : tests) {
    ASSERT_TRUE(test.module) << test.name;
    std::string key = keyOf(*test.module);
    ASSERT_EQ(key.size(), 64u) << test.name;
    // Other dice for each case.
    first += 10000;
    for (unsigned seed = first; seed < first + trials; ++seed) {
      Random random(seed);
      Module module = test.module->clone();
      std::string done;
      for (unsigned step = 0, steps = 1 + random.below(6); step < steps;
           ++step) {
        const EquivalentRewrite &rewrite =
            rewrites[random.below(rewrites.size())];
        rewrite.apply(module, random);
        done += std::string(" ") + rewrite.name;
      }
      ASSERT_TRUE(succeeded(verify(*module)))
          << test.name << " seed " << seed << done;
      ASSERT_EQ(keyOf(*module), key)
          << test.name << ", seed " << seed << ":" << done << "\n"
          << print(*module);
    }
  }
}

TEST(CanonicalFormProperty, equivalentRewritesKeepTheKey) {
  checkThatRewritesKeepTheKey(cases(), /*trials=*/200);
}

// Workloads as formation makes them, rather than whole models.
TEST(CanonicalFormProperty, equivalentRewritesKeepTheKeyOfFormedWorkloads) {
  std::vector<Case> tests;
  for (const char *name : {"transformer_block", "resnet_block", "mlp"}) {
    std::string path =
        std::string(FASTK_GOLDEN_DIR) + "/" + name + "_small.mlir";
    for (Module &module : formWorkloads(path)) {
      std::string label = std::string(name) + " " +
                          getWorkload(*module).getName().str() + " " +
                          std::to_string(tests.size());
      tests.push_back({label, std::move(module)});
    }
  }
  ASSERT_GE(tests.size(), 10u);
  checkThatRewritesKeepTheKey(std::move(tests), /*trials=*/100);
}

TEST(CanonicalFormProperty, changesOfMeaningChangeTheKey) {
  constexpr unsigned kTrials = 400;
  ArrayRef<EquivalentRewrite> rewrites = equivalentRewrites();
  std::map<std::string, unsigned> applied;
  unsigned total = 0, first = 0;
  for (Case &test : cases()) {
    ASSERT_TRUE(test.module) << test.name;
    if (test.isSymmetric)
      continue;
    FailureOr<CanonicalForm> form =
        computeCanonicalForm(getWorkload(*test.module));
    ASSERT_TRUE(succeeded(form)) << test.name;
    Module canonical = canonicalModule(*form);
    // Other dice for each case.
    first += 10000;
    for (unsigned seed = first; seed < first + kTrials; ++seed) {
      Random random(seed);
      Module module = canonical->clone();
      std::string what = mutateMeaning(module, random);
      if (what.empty())
        continue;
      ++total;
      ++applied[what.substr(0, what.find(' '))];
      // Nor may a rewrite bring it back.
      const EquivalentRewrite &rewrite =
          rewrites[random.below(rewrites.size())];
      Module rewritten = module->clone();
      rewrite.apply(rewritten, random);
      std::string key = keyOf(*module);
      ASSERT_EQ(key.size(), 64u)
          << test.name << ", seed " << seed << ": " << what;
      ASSERT_NE(key, form->key)
          << test.name << ", seed " << seed << ": " << what << "\n"
          << print(*module);
      ASSERT_EQ(keyOf(*rewritten), key)
          << test.name << ", seed " << seed << ": " << what << ", then "
          << rewrite.name << "\n"
          << print(*module) << print(*rewritten);
    }
  }
  // The dice must have reached every kind of change, and often enough.
  EXPECT_GE(total, 2000u);
  for (const char *kind : {"constant", "swapped", "predicate", "map",
                           "iterator", "op", "fast-math", "rewired", "removed",
                           "inserted", "padding", "offset", "f32"})
    EXPECT_GE(applied[kind], 5u) << kind;
  for (auto &[kind, count] : applied)
    RecordProperty(kind, std::to_string(count));
}

TEST(CanonicalFormProperty, canonicalFormIsAFixpoint) {
  for (Case &test : cases()) {
    ASSERT_TRUE(test.module) << test.name;
    FailureOr<CanonicalForm> form =
        computeCanonicalForm(getWorkload(*test.module));
    ASSERT_TRUE(succeeded(form)) << test.name;
    Module canonical = canonicalModule(*form);
    FailureOr<CanonicalForm> again =
        computeCanonicalForm(getWorkload(*canonical));
    ASSERT_TRUE(succeeded(again)) << test.name;
    EXPECT_EQ(serializePattern(form->getPattern()),
              serializePattern(again->getPattern()))
        << test.name;
    EXPECT_TRUE(isSamePattern(form->getPattern(), again->getPattern()))
        << test.name;
    // Where operands are images of each other, any of the images will do.
    if (test.isSymmetric)
      continue;
    for (auto [position, index] : llvm::enumerate(again->inputOrder))
      EXPECT_EQ(position, index) << test.name;
    for (auto [position, index] : llvm::enumerate(again->outputOrder))
      EXPECT_EQ(position, index) << test.name;
  }
}
