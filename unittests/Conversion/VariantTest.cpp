//===- VariantTest.cpp - Schedules and C programs, good and refused -------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CodegenFixture.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::test;
using testing::HasSubstr;

namespace {
struct VariantTest : CodegenFixture {
  /// y = 2 x on 100 floats.
  static constexpr llvm::StringLiteral pattern = R"(
    #id = affine_map<(i) -> (i)>
    func.func @f(%x: tensor<100xf32>) -> tensor<100xf32> {
      %two = arith.constant 2.0 : f32
      %e = tensor.empty() : tensor<100xf32>
      %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
        ins(%x : tensor<100xf32>) outs(%e : tensor<100xf32>) {
      ^bb0(%a: f32, %o: f32):
        %0 = arith.mulf %a, %two : f32
        linalg.yield %0 : f32
      } -> tensor<100xf32>
      return %y : tensor<100xf32>
    })";

  void expectDoubles(std::optional<Kernel> kernel) {
    ASSERT_TRUE(kernel);
    std::vector<float> x(100);
    for (int i = 0; i < 100; ++i)
      x[i] = i;
    auto y = kernel->runF32({x}, 100);
    for (int i = 0; i < 100; ++i)
      EXPECT_EQ(y[i], 2.0f * i);
  }

  void expectRefused(Language language, llvm::StringRef program,
                     const char *why) {
    EXPECT_FALSE(
        compileToModule(pattern, KernelRole::Program, language, program));
    EXPECT_THAT(errors, HasSubstr(why));
  }
};
} // namespace

TEST_F(VariantTest, ScheduleIsApplied) {
  expectDoubles(compile(pattern, KernelRole::Program, Language::schedule, R"(
    module attributes {transform.with_named_sequence} {
      transform.named_sequence @__fastk_schedule(%func: !transform.any_op {transform.readonly}) {
        %op = transform.structured.match ops{["linalg.generic"]} in %func : (!transform.any_op) -> !transform.any_op
        %tiled, %loop = transform.structured.tile_using_forall %op tile_sizes [10]
          : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
        transform.yield
      }
    })"));
}

TEST_F(VariantTest, ScheduleThatDoesNotParse) {
  expectRefused(Language::schedule, "module {", "does not parse");
}

TEST_F(VariantTest, ScheduleWithoutEntry) {
  expectRefused(Language::schedule,
                "module attributes {transform.with_named_sequence} {}",
                "@__fastk_schedule");
}

TEST_F(VariantTest, ScheduleThatFails) {
  expectRefused(Language::schedule, R"(
    module attributes {transform.with_named_sequence} {
      transform.named_sequence @__fastk_schedule(%func: !transform.any_op {transform.readonly}) {
        %op = transform.structured.match ops{["linalg.generic"]} in %func : (!transform.any_op) -> !transform.any_op
        %a, %b = transform.split_handle %op : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
        transform.yield
      }
    })",
                "could not be applied");
}

/// What is said of an op of the pattern alone is told with the op that failed.
TEST_F(VariantTest, ScheduleThatFailsAtAnOpOfThePattern) {
  expectRefused(Language::schedule, R"(
    module attributes {transform.with_named_sequence} {
      transform.named_sequence @__fastk_schedule(%func: !transform.any_op {transform.readonly}) {
        %op = transform.structured.match ops{["linalg.generic"]} in %func : (!transform.any_op) -> !transform.any_op
        %tiled, %loop = transform.structured.tile_using_for %op tile_sizes [7]
          : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
        transform.structured.vectorize %tiled : !transform.any_op
        transform.yield
      }
    })",
                ":7:9 could not be applied: 'transform.structured.vectorize': "
                "Attempted to vectorize, but failed");
}

TEST_F(VariantTest, ScheduleThatPrints) {
  expectRefused(Language::schedule, R"(
    module attributes {transform.with_named_sequence} {
      transform.named_sequence @__fastk_schedule(%func: !transform.any_op {transform.readonly}) {
        transform.print %func : !transform.any_op
        transform.yield
      }
    })",
                "uses 'transform.print'");
}

TEST_F(VariantTest, CProgramRuns) {
  expectDoubles(compile(pattern, KernelRole::Program, Language::c, R"(
    #include <math.h>
    #include <string.h>
    #include <omp.h>
    static const float kTwo = 2.0f;
    static float twice(float v) { return fmaf(v, kTwo, 0.0f); }
    void fastk_kernel(const float *x, float *y, void *workspace) {
      #pragma omp parallel for
      for (int i = 0; i < 100; ++i)
        y[i] = twice(x[i]);
    })"));
}

TEST_F(VariantTest, CProgramMayUseIntrinsics) {
  expectDoubles(compile(pattern, KernelRole::Program, Language::c, R"(
    #include <immintrin.h>
    void fastk_kernel(const float *x, float *y, void *workspace) {
      for (int i = 0; i < 100; i += 4)
        _mm_storeu_ps(y + i, _mm_mul_ps(_mm_loadu_ps(x + i), _mm_set1_ps(2)));
    })"));
}

/// What the default lowering gives where the processor would end the process.
TEST_F(VariantTest, CProgramsThatDivideByZero) {
  constexpr llvm::StringLiteral quotients = R"(
    #id = affine_map<(i) -> (i)>
    func.func @f(%x: tensor<4xi32>) -> tensor<4xi32> {
      %n = arith.constant -2147483648 : i32
      %e = tensor.empty() : tensor<4xi32>
      %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
        ins(%x : tensor<4xi32>) outs(%e : tensor<4xi32>) {
      ^bb0(%a: i32, %o: i32):
        %0 = arith.divsi %n, %a : i32
        linalg.yield %0 : i32
      } -> tensor<4xi32>
      return %y : tensor<4xi32>
    })";
  std::vector<int32_t> x = {0, -1, 1, -2}, expected(4), y(4);
  auto theirs = compile(quotients, KernelRole::Program);
  ASSERT_TRUE(theirs);
  theirs->run({x.data()}, {expected.data()});
  EXPECT_EQ(expected,
            (std::vector<int32_t>{INT32_MIN, INT32_MIN, INT32_MIN, 1 << 30}));
  auto ours = compile(quotients, KernelRole::Program, Language::c, R"(
    #include <limits.h>
    void fastk_kernel(const int *x, int *y, void *workspace) {
      for (int i = 0; i < 4; ++i)
        y[i] = INT_MIN / x[i] + (int)(3u % (unsigned)(x[i] != 0));
    })");
  ASSERT_TRUE(ours);
  ours->run({x.data()}, {y.data()});
  EXPECT_EQ(y, expected);
}

TEST_F(VariantTest, CProgramsThatAreRefused) {
  struct Case {
    const char *source, *why;
  };
  const char *kernel =
      "void fastk_kernel(const float *x, float *y, void *w) { y[0] = x[0]; }\n";
  auto with = [&](const char *before) { return std::string(before) + kernel; };
  std::vector<std::pair<std::string, const char *>> cases = {
      {"void fastk_kernel(", "does not compile"},
      {with("#include <stdio.h>\n"), "includes"},
      {with("#  include \"/etc/hostname\"\n"), "includes"},
      {with("#define H <unistd.h>\n%:include H\n"), "includes"},
      {with("__asm__(\".globl oops\");\n"), "inline assembly at file scope"},
      {"void fastk_kernel(const float *x, float *y, void *w) {"
       " __asm__ volatile(\"nop\"); y[0] = x[0]; }",
       "inline assembly in 'fastk_kernel'"},
      {with("static int n; __attribute__((constructor)) static void c(void) "
            "{ n = 1; }\n"),
       "constructor"},
      {"static int calls;\nvoid fastk_kernel(const float *x, float *y, void *w)"
       " { y[0] = x[0] + calls++; }",
       "mutable static variable 'calls'"},
      {"void fastk_kernel(const float *x, float *y, void *w)"
       " { static float last; y[0] = last; last = x[0]; }",
       "mutable static variable"},
      {"static _Thread_local int t;\nvoid fastk_kernel(const float *x, float "
       "*y,"
       " void *w) { y[0] = t++; }",
       "thread-local variable 't'"},
      {"int puts(const char *);\nvoid fastk_kernel(const float *x, float *y, "
       "void *w) { puts(\"hi\"); y[0] = x[0]; }",
       "external function 'puts'"},
      {"extern char **environ;\nvoid fastk_kernel(const float *x, float *y, "
       "void *w) { y[0] = environ != 0; }",
       "external variable 'environ'"},
      {with("void helper(void) {}\n"), "exports the function 'helper'"},
      {"void fastk_kernel(const float *x, float *y, void *w) {"
       " ((void (*)(void))x)(); }",
       "calls through a pointer"},
      {"void fastk_kernel(const float *x, float *y) { y[0] = x[0]; }",
       "with 2 parameters; the workload needs 3"},
      {"void fastk_kernel(const float *x, float *y, long w) { y[0] = x[0]; }",
       "no pointer"},
      {"int fastk_kernel(const float *x, float *y, void *w) { return 0; }",
       "must be `void`"},
      {"static void other(void) {}", "does not define the function"},
      {"void fastk_kernel(const float *x, float *y, void *w) {"
       " y[0] = __builtin_readcyclecounter(); }",
       "llvm.readcyclecounter"},
      {with("__attribute__((used)) static const int u = 1;\n"), "used"},
      {std::string(600 * 1024, ' '), "the limit is"},
  };
  for (auto &[source, why] : cases) {
    SCOPED_TRACE(source.substr(0, 200));
    expectRefused(Language::c, source, why);
    EXPECT_THAT(errors, HasSubstr("required by 'fastk.c_variant'"));
  }
}

TEST_F(VariantTest, OracleIgnoresTheProgram) {
  auto kernel =
      compile(pattern, KernelRole::Oracle, Language::c, "this is no C");
  ASSERT_TRUE(kernel);
  std::vector<float> x(100, 1.5f);
  EXPECT_EQ(kernel->runF32({x}, 100, /*isDouble=*/true)[99], 3.0f);
}
