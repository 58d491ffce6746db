//===- CompileModelTest.cpp - Models that call lowerings ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CodegenFixture.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::test;
using namespace mlir;
using testing::HasSubstr;

namespace {
struct CompileModelTest : CodegenFixture {
  /// y = 2 x on 6 floats.
  static constexpr llvm::StringLiteral pattern = R"(
    #id = affine_map<(i) -> (i)>
    func.func @f(%x: tensor<6xf32>) -> tensor<6xf32> {
      %two = arith.constant 2.0 : f32
      %e = tensor.empty() : tensor<6xf32>
      %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
        ins(%x : tensor<6xf32>) outs(%e : tensor<6xf32>) {
      ^bb0(%a: f32, %o: f32):
        %0 = arith.mulf %a, %two : f32
        linalg.yield %0 : f32
      } -> tensor<6xf32>
      return %y : tensor<6xf32>
    })";

  /// `text` with CALL replaced by the symbol of the pattern's lowering, and the
  /// lowering itself.
  OwningOpRef<ModuleOp> parseModel(std::string text) {
    auto source = parseSourceString<ModuleOp>(pattern, &context);
    auto lowered = createLowering(*source, Language::generic, "", "");
    auto lowering = *lowered->getOps<LoweringOp>().begin();
    for (size_t at; (at = text.find("CALL")) != std::string::npos;)
      text.replace(at, 4, "@" + lowering.getSymName().str());
    ParserConfig config(&context, /*verifyAfterParse=*/false);
    auto model = parseSourceString<ModuleOp>(text, config);
    if (model)
      model->push_back(lowering->clone());
    return model;
  }

  FailureOr<std::unique_ptr<llvm::Module>> compileText(std::string text) {
    errors.clear();
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      errors += diagnostic.str() + "\n";
      return success();
    });
    auto model = parseModel(std::move(text));
    if (!model)
      return failure();
    return compileModel(*model, llvmContext, target);
  }
};
} // namespace

/// Calls on slices (not contiguous), reshapes, a concatenation, a pad and two
/// calls of one lowering.
TEST_F(CompileModelTest, CallsSlicesAndReshapes) {
  auto module = compileText(R"(
    func.func @main(%x: tensor<4x6xf32>) -> (tensor<2x6xf32>, tensor<4x8xf32>) {
      %column = tensor.extract_slice %x[0, 1] [3, 2] [1, 1] : tensor<4x6xf32> to tensor<3x2xf32>
      %flat = tensor.collapse_shape %column [[0, 1]] : tensor<3x2xf32> into tensor<6xf32>
      %a = fastk.call CALL(%flat) : (tensor<6xf32>) -> tensor<6xf32>
      %b = fastk.call CALL(%a) : (tensor<6xf32>) -> tensor<6xf32>
      %ae = tensor.expand_shape %a [[0, 1]] output_shape [1, 6] : tensor<6xf32> into tensor<1x6xf32>
      %be = tensor.expand_shape %b [[0, 1]] output_shape [1, 6] : tensor<6xf32> into tensor<1x6xf32>
      %c = tensor.concat dim(0) %ae, %be : (tensor<1x6xf32>, tensor<1x6xf32>) -> tensor<2x6xf32>
      %z = arith.constant 9.0 : f32
      %p = tensor.pad %x low[0, 1] high[0, 1] {
      ^bb0(%i: index, %j: index):
        tensor.yield %z : f32
      } : tensor<4x6xf32> to tensor<4x8xf32>
      return %c, %p : tensor<2x6xf32>, tensor<4x8xf32>
    })");
  ASSERT_TRUE(succeeded(module)) << errors;
  void *library = load(**module);
  ASSERT_TRUE(library) << errors;
  auto packed =
      reinterpret_cast<void (*)(void **)>(dlsym(library, "main_packed"));
  auto signature =
      static_cast<const char *>(dlsym(library, "fastk_signature_main"));
  ASSERT_TRUE(packed && signature);
  EXPECT_STREQ(signature, R"({"inputs":[{"dtype":"f32","shape":[4,6]}],)"
                          R"("outputs":[{"dtype":"f32","shape":[2,6]},)"
                          R"({"dtype":"f32","shape":[4,8]}]})");
  std::vector<float> x(24), c(12, NAN), p(32, NAN);
  for (int i = 0; i < 24; ++i)
    x[i] = i;
  void *pointers[] = {x.data(), c.data(), p.data()};
  packed(pointers);
  for (int i = 0; i < 6; ++i) {
    float value = x[(i / 2) * 6 + 1 + i % 2];
    EXPECT_EQ(c[i], 2 * value);
    EXPECT_EQ(c[6 + i], 4 * value);
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 8; ++j)
      EXPECT_EQ(p[i * 8 + j], j == 0 || j == 7 ? 9 : x[i * 6 + j - 1]);
}

/// The pointer and the shape of an argument go in, those of a result come out.
TEST_F(CompileModelTest, DynamicShape) {
  auto module =
      compileText("func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {\n"
                  "  return %x : tensor<?xf32>\n}");
  ASSERT_TRUE(succeeded(module)) << errors;
  void *library = load(**module);
  ASSERT_TRUE(library) << errors;
  auto packed =
      reinterpret_cast<int (*)(void **)>(dlsym(library, "main_packed"));
  auto text = reinterpret_cast<const char *(*)(int)>(
      dlsym(library, "fastk_error_main"));
  ASSERT_TRUE(packed && text);
  float x[] = {1, 2, 3};
  int64_t shape[] = {3}, made[] = {-1};
  float *result = nullptr;
  void *pointers[] = {x, shape, &result, made};
  ASSERT_EQ(packed(pointers), 0);
  EXPECT_EQ(made[0], 3);
  EXPECT_EQ(result[2], 3);
  EXPECT_NE(result, x);
  free(result);
  shape[0] = -3;
  int code = packed(pointers);
  EXPECT_NE(code, 0);
  EXPECT_STREQ(text(code), "input 0: dimension 0 is not a size");
}

TEST_F(CompileModelTest, OtherThanTensorsIsRefused) {
  EXPECT_TRUE(failed(compileText(
      "func.func @main(%x: index) -> index { return %x : index }")));
  EXPECT_THAT(errors, HasSubstr("takes or returns 'index'"));
}

TEST_F(CompileModelTest, DeclarationIsRefused) {
  EXPECT_TRUE(failed(
      compileText("func.func private @main(tensor<6xf32>) -> tensor<6xf32>")));
  EXPECT_THAT(errors, HasSubstr("has no body"));
}

/// Names that the compiler uses itself: for the packed entry, for kernels (the
/// lowering's symbol is CALL, another's is not taken), for OpenMP's bodies.
TEST_F(CompileModelTest, NamesThatMeetOurOwn) {
  auto module = compileText(R"(
    func.func @f(%x: tensor<6xf32>) -> tensor<6xf32> {
      %y = fastk.call CALL(%x) : (tensor<6xf32>) -> tensor<6xf32>
      return %y : tensor<6xf32>
    }
    func.func @f_packed(%x: tensor<6xf32>) -> tensor<6xf32> {
      return %x : tensor<6xf32>
    }
    func.func @main(%x: tensor<6xf32>) -> tensor<6xf32> {
      %y = fastk.call CALL(%x) : (tensor<6xf32>) -> tensor<6xf32>
      return %y : tensor<6xf32>
    }
    func.func @w_0123456789abcdef(%x: tensor<6xf32>) -> tensor<6xf32> {
      return %x : tensor<6xf32>
    }
    func.func private @helper(%x: tensor<6xf32>) -> tensor<6xf32> {
      %y = fastk.call CALL(%x) : (tensor<6xf32>) -> tensor<6xf32>
      return %y : tensor<6xf32>
    })");
  ASSERT_TRUE(succeeded(module)) << errors;
  void *library = load(**module);
  ASSERT_TRUE(library) << errors;
  EXPECT_EQ(dlsym(library, "helper"), nullptr);
  EXPECT_EQ(dlsym(library, "fastk.model.helper"), nullptr);
  std::pair<const char *, float> cases[] = {{"fastk_packed_f", 2},
                                            {"f_packed_packed", 1},
                                            {"main_packed", 2},
                                            {"w_0123456789abcdef_packed", 1}};
  for (auto [symbol, factor] : cases) {
    SCOPED_TRACE(symbol);
    auto entry = reinterpret_cast<void (*)(void **)>(dlsym(library, symbol));
    ASSERT_TRUE(entry);
    std::vector<float> x = {1, 2, 3, 4, 5, 6}, y(6, NAN);
    void *pointers[] = {x.data(), y.data()};
    entry(pointers);
    for (int i = 0; i < 6; ++i)
      EXPECT_EQ(y[i], factor * x[i]);
  }
  auto plain =
      reinterpret_cast<void (*)(float *, float *)>(dlsym(library, "f_packed"));
  ASSERT_TRUE(plain);
  float in[6] = {7, 0, 0, 0, 0, 0}, out[6] = {};
  plain(in, out);
  EXPECT_EQ(out[0], 7);
}

TEST_F(CompileModelTest, NamesOfLibrariesAreRefused) {
  for (const char *name : {"memcpy", "expf", "omp_get_max_threads",
                           "__kmpc_fork_call", "fastk_signature_f"}) {
    SCOPED_TRACE(name);
    std::string text = "func.func @" + std::string(name) +
                       "(%x: tensor<6xf32>) -> tensor<6xf32> {\n  return %x : "
                       "tensor<6xf32>\n}";
    EXPECT_TRUE(failed(compileText(text)));
    EXPECT_THAT(errors, HasSubstr("the name '" + std::string(name) + "'"));
    EXPECT_THAT(errors, HasSubstr("required by 'fastk.symbol'"));
  }
}
