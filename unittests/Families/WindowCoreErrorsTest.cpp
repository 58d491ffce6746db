//===- WindowCoreErrorsTest.cpp - What reduces no windows -----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Matched.h"
#include "fastk/Families/WindowCore.h"
#include "fastk/Families/WindowText.h"

using namespace fastk;
using namespace fastk::families;
using namespace fastk::test;

using MatchedWindow = Matched<WindowText, matchWindows>;

static std::string whyNot(const std::string &text) {
  MatchedWindow matched(text);
  EXPECT_FALSE(matched.core);
  return matched.why;
}

/// What becomes of `tensor<5x31xf32> %a`; an op that reduces has these maps of
/// %a and of its result, and combines so.
static std::string reduce(const std::string &loops, const std::string &in,
                          const std::string &out, const std::string &iterators,
                          const std::string &window, const std::string &made,
                          const std::string &combine = "arith.addf %o, %x") {
  std::string type = "tensor<" + made + "xf32>";
  return "func.func @f(%a: tensor<5x31xf32>) -> " + type +
         " {\n  %zero = arith.constant 0.0 : f32\n"
         "  %w = tensor.empty() : tensor<" +
         window + "xf32>\n  %e = tensor.empty() : " + type +
         "\n  %i = linalg.fill ins(%zero : f32) outs(%e : " + type + ") -> " +
         type + "\n  %r = linalg.generic {indexing_maps = [affine_map<(" +
         loops + ") -> (" + in + ")>, affine_map<(" + loops +
         ") -> (k)>, "
         "affine_map<(" +
         loops + ") -> (" + out + ")>], iterator_types = [" + iterators +
         "]} ins(%a, %w : tensor<5x31xf32>, tensor<" + window +
         "xf32>) outs(%i : " + type +
         ") {\n  ^bb0(%x: f32, %u: f32, %o: f32):"
         "\n    %s = " +
         combine + " : f32\n    linalg.yield %s : f32\n  } -> " + type +
         "\n  return %r : " + type + "\n}\n";
}

static const char *kTwo = "\"parallel\", \"parallel\", \"reduction\"";

TEST(WindowCoreErrorsTest, WhatReducesNothing) {
  EXPECT_EQ(whyNot(R"(
    func.func @f(%a: tensor<64xf32>) -> tensor<64xf32> {
      %e = tensor.empty() : tensor<64xf32>
      %r = linalg.negf ins(%a : tensor<64xf32>) outs(%e : tensor<64xf32>) -> tensor<64xf32>
      return %r : tensor<64xf32>
    })"),
            "it reduces nothing");
}

TEST(WindowCoreErrorsTest, WhatReducesRows) {
  EXPECT_EQ(whyNot(reduce("c, k", "c, k", "c", "\"parallel\", \"reduction\"",
                          "31", "5")),
            "it has no window that moves");
}

TEST(WindowCoreErrorsTest, WhatWeighsElements) {
  EXPECT_EQ(whyNot(R"(
    func.func @f(%a: tensor<5x31xf32>, %w: tensor<3xf32>) -> tensor<5x29xf32> {
      %zero = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<5x29xf32>
      %i = linalg.fill ins(%zero : f32) outs(%e : tensor<5x29xf32>) -> tensor<5x29xf32>
      %r = linalg.generic {indexing_maps = [affine_map<(c, x, k) -> (c, x + k)>, affine_map<(c, x, k) -> (k)>, affine_map<(c, x, k) -> (c, x)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %w : tensor<5x31xf32>, tensor<3xf32>) outs(%i : tensor<5x29xf32>) {
      ^bb0(%x: f32, %y: f32, %o: f32):
        %p = arith.mulf %x, %y : f32
        %s = arith.addf %o, %p : f32
        linalg.yield %s : f32
      } -> tensor<5x29xf32>
      return %r : tensor<5x29xf32>
    })"),
            "an element depends on more than where a window meets what it "
            "moves over");
}

TEST(WindowCoreErrorsTest, WhatCombinesByMoreThanOneOp) {
  EXPECT_EQ(whyNot(reduce("c, x, k", "c, x + k", "c, x", kTwo, "3", "5x29",
                          "arith.subf %o, %x")),
            "it reduces by something that is no sum, product or extremum");
}

// As max_pool2d with indices.
TEST(WindowCoreErrorsTest, WhatHasTwoResults) {
  EXPECT_EQ(whyNot(R"(
    func.func @f(%a: tensor<5x31xf32>) -> (tensor<5x29xf32>, tensor<5x29xi64>) {
      %zero = arith.constant 0.0 : f32
      %none = arith.constant 0 : i64
      %e = tensor.empty() : tensor<5x29xf32>
      %i = linalg.fill ins(%zero : f32) outs(%e : tensor<5x29xf32>) -> tensor<5x29xf32>
      %e1 = tensor.empty() : tensor<5x29xi64>
      %i1 = linalg.fill ins(%none : i64) outs(%e1 : tensor<5x29xi64>) -> tensor<5x29xi64>
      %w = tensor.empty() : tensor<3xf32>
      %r:2 = linalg.generic {indexing_maps = [affine_map<(c, x, k) -> (c, x + k)>, affine_map<(c, x, k) -> (k)>, affine_map<(c, x, k) -> (c, x)>, affine_map<(c, x, k) -> (c, x)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %w : tensor<5x31xf32>, tensor<3xf32>) outs(%i, %i1 : tensor<5x29xf32>, tensor<5x29xi64>) {
      ^bb0(%x: f32, %u: f32, %o: f32, %at: i64):
        %k = linalg.index 2 : index
        %n = arith.index_cast %k : index to i64
        %more = arith.cmpf ogt, %x, %o : f32
        %s = arith.select %more, %x, %o : f32
        %t = arith.select %more, %n, %at : i64
        linalg.yield %s, %t : f32, i64
      } -> (tensor<5x29xf32>, tensor<5x29xi64>)
      return %r#0, %r#1 : tensor<5x29xf32>, tensor<5x29xi64>
    })"),
            "it has several results");
}

TEST(WindowCoreErrorsTest, WhatReducesTwice) {
  EXPECT_EQ(whyNot(R"(
    func.func @f(%a: tensor<5x31xf32>) -> tensor<5x27xf32> {
      %zero = arith.constant 0.0 : f32
      %w = tensor.empty() : tensor<3xf32>
      %e = tensor.empty() : tensor<5x29xf32>
      %i = linalg.fill ins(%zero : f32) outs(%e : tensor<5x29xf32>) -> tensor<5x29xf32>
      %b = linalg.generic {indexing_maps = [affine_map<(c, x, k) -> (c, x + k)>, affine_map<(c, x, k) -> (k)>, affine_map<(c, x, k) -> (c, x)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %w : tensor<5x31xf32>, tensor<3xf32>) outs(%i : tensor<5x29xf32>) {
      ^bb0(%x: f32, %u: f32, %o: f32):
        %s = arith.addf %o, %x : f32
        linalg.yield %s : f32
      } -> tensor<5x29xf32>
      %e1 = tensor.empty() : tensor<5x27xf32>
      %i1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<5x27xf32>) -> tensor<5x27xf32>
      %r = linalg.generic {indexing_maps = [affine_map<(c, x, k) -> (c, x + k)>, affine_map<(c, x, k) -> (k)>, affine_map<(c, x, k) -> (c, x)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%b, %w : tensor<5x29xf32>, tensor<3xf32>) outs(%i1 : tensor<5x27xf32>) {
      ^bb0(%x: f32, %u: f32, %o: f32):
        %s = arith.addf %o, %x : f32
        linalg.yield %s : f32
      } -> tensor<5x27xf32>
      return %r : tensor<5x27xf32>
    })"),
            "it reduces more than once");
}

TEST(WindowCoreErrorsTest, WhatRunsBackwards) {
  EXPECT_EQ(
      whyNot(reduce("c, x, k", "c, x - k + 2", "c, x", kTwo, "3", "5x29")),
      "a window runs backwards");
}

TEST(WindowCoreErrorsTest, WhatUsesAPlaceInTheWindow) {
  std::string text = reduce("c, x, k", "c, x + k", "c, x", kTwo, "3", "5x29",
                            "arith.addf %o, %p");
  size_t body = text.find("    %s =");
  text.insert(body, "    %n = linalg.index 2 : index\n"
                    "    %m = arith.index_cast %n : index to i64\n"
                    "    %f = arith.sitofp %m : i64 to f32\n"
                    "    %p = arith.mulf %f, %x : f32\n");
  EXPECT_EQ(whyNot(text), "an element depends on more than where a window "
                          "meets what it moves over");
}

TEST(WindowCoreErrorsTest, WhatIsOfFourDimensions) {
  EXPECT_EQ(whyNot(R"(
    func.func @f(%a: tensor<6x6x6x6xf32>) -> tensor<5x5x5x5xf32> {
      %zero = arith.constant 0.0 : f32
      %w = tensor.empty() : tensor<2x2x2x2xf32>
      %e = tensor.empty() : tensor<5x5x5x5xf32>
      %i = linalg.fill ins(%zero : f32) outs(%e : tensor<5x5x5x5xf32>) -> tensor<5x5x5x5xf32>
      %r = linalg.generic {indexing_maps = [affine_map<(t, z, y, x, s, u, v, w) -> (t + s, z + u, y + v, x + w)>, affine_map<(t, z, y, x, s, u, v, w) -> (s, u, v, w)>, affine_map<(t, z, y, x, s, u, v, w) -> (t, z, y, x)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction", "reduction"]} ins(%a, %w : tensor<6x6x6x6xf32>, tensor<2x2x2x2xf32>) outs(%i : tensor<5x5x5x5xf32>) {
      ^bb0(%x: f32, %o: f32, %s: f32):
        %t = arith.addf %s, %x : f32
        linalg.yield %t : f32
      } -> tensor<5x5x5x5xf32>
      return %r : tensor<5x5x5x5xf32>
    })"),
            "windows are of more than three dimensions");
}

// A window of each element of another tensor.
TEST(WindowCoreErrorsTest, WhatHasNotEachWindowOnce) {
  EXPECT_EQ(whyNot(R"(
    func.func @f(%a: tensor<31xf32>) -> tensor<29x4xf32> {
      %zero = arith.constant 0.0 : f32
      %w = tensor.empty() : tensor<3xf32>
      %e = tensor.empty() : tensor<29xf32>
      %i = linalg.fill ins(%zero : f32) outs(%e : tensor<29xf32>) -> tensor<29xf32>
      %b = linalg.generic {indexing_maps = [affine_map<(x, k) -> (x + k)>, affine_map<(x, k) -> (k)>, affine_map<(x, k) -> (x)>], iterator_types = ["parallel", "reduction"]} ins(%a, %w : tensor<31xf32>, tensor<3xf32>) outs(%i : tensor<29xf32>) {
      ^bb0(%x: f32, %u: f32, %o: f32):
        %s = arith.addf %o, %x : f32
        linalg.yield %s : f32
      } -> tensor<29xf32>
      %e1 = tensor.empty() : tensor<29x4xf32>
      %r = linalg.generic {indexing_maps = [affine_map<(x, y) -> (x)>, affine_map<(x, y) -> (x, y)>], iterator_types = ["parallel", "parallel"]} ins(%b : tensor<29xf32>) outs(%e1 : tensor<29x4xf32>) {
      ^bb0(%x: f32, %o: f32):
        linalg.yield %x : f32
      } -> tensor<29x4xf32>
      return %r : tensor<29x4xf32>
    })"),
            "its result has not each window once");
}
