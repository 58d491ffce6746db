//===- CKernelTest.cpp - The catalog's kernels compute what they should ---===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every family, at shapes that divide nothing, with every epilogue, at every
// vector width, against the interpreter. Every kernel compiles without warnings
// and writes nothing outside of its buffers.
//
//===----------------------------------------------------------------------===//

#include "KernelRunner.h"
#include "Patterns.h"
#include "fastk/Families/AttentionText.h"

#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace fastk::test;
using fastk::catalog::StageFamilies;

TEST(CatalogContraction, ShapesThatDivideNothing) {
  std::vector<KernelCase> cases;
  int64_t shapes[][4] = {{1, 64, 64, 64},  {1, 5, 4, 1},   {1, 17, 31, 13},
                         {1, 97, 53, 300}, {3, 19, 33, 7}, {1, 128, 96, 513},
                         {5, 4, 7, 29},    {1, 1, 37, 41}, {1, 43, 1, 11},
                         {2, 70, 16, 600}};
  for (auto &s : shapes)
    for (bool transposed : {false, true})
      cases.push_back(
          {product(s[0], s[1], s[2], s[3], transposed, false, Epilogue::None),
           {},
           64,
           2,
           "contraction",
           s[3] > 100 ? 0.1 : 0.5,
           "product"});
  checkKernels(cases);
}

TEST(CatalogContraction, Epilogues) {
  std::vector<KernelCase> cases;
  for (Epilogue e : {Epilogue::Bias, Epilogue::BiasGelu, Epilogue::Residual,
                     Epilogue::RowScale, Epilogue::TruncateF16})
    for (bool half : {false, true})
      cases.push_back({product(2, 29, 45, half ? 300 : 37, half, half, e),
                       {{"KC", half ? 128 : 65536}},
                       64,
                       2,
                       "contraction",
                       half ? 0.1 : 0.4,
                       "epilogue"});
  checkKernels(cases);
}

TEST(CatalogContraction, Parameters) {
  std::vector<KernelCase> cases;
  std::string plain =
                  product(1, 61, 300, 270, false, false, Epilogue::BiasGelu),
              even = product(2, 56, 64, 148, false, false, Epilogue::None);
  for (int64_t mr : {1, 4, 14, 28})
    for (int64_t nv : {1, 2, 4})
      cases.push_back({nv == 2 ? even : plain,
                       {{"MR", mr}, {"NV", nv}, {"KC", 128}},
                       64,
                       2,
                       "contraction",
                       0.1,
                       "tile"});
  for (int64_t share : {0, 1, 2})
    for (int64_t pack : {0, 1, 2, 3})
      cases.push_back({share == 1 ? plain : even,
                       {{"SHARE", share},
                        {"PACK_A", pack & 1},
                        {"PACK_B", pack >> 1},
                        {"PREFETCH", 4 * pack},
                        {"MC", 48},
                        {"NC", 256},
                        {"SERIAL", 0}},
                       64,
                       3,
                       "contraction",
                       0.1,
                       "packing"});
  for (unsigned bytes : {16u, 32u})
    for (bool transposed : {false, true})
      cases.push_back(
          {product(1, 23, 29, 31, transposed, false, Epilogue::BiasGelu),
           {},
           bytes,
           1,
           "contraction",
           0.5,
           "narrow"});
  checkKernels(cases);
}

namespace {
/// Kernels of a text, with or without families.
class Emitted {
public:
  explicit Emitted(const std::string &text) {
    context.loadDialect<fastk::FastkDialect, mlir::arith::ArithDialect,
                        mlir::func::FuncDialect, mlir::linalg::LinalgDialect,
                        mlir::math::MathDialect, mlir::tensor::TensorDialect>();
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
  }

  fastk::catalog::CKernel with(const fastk::catalog::Parameters &parameters,
                               StageFamilies &families = shippedFamilies()) {
    fastk::catalog::Machine machine;
    machine.vectorBytes = 32;
    machine.threads = 2;
    auto function = *module->getOps<mlir::func::FuncOp>().begin();
    return fastk::catalog::emitCKernel(function.getBody().front(), machine,
                                       parameters, families);
  }

private:
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};
} // namespace

/// Two products of other sizes, with rows between.
static std::string twoProducts() {
  return attention(2, 40, 52, 24, false, false);
}

/// "NV_4" of the last product, where all stages are families'.
static std::string lastNumber(const fastk::catalog::CKernel &kernel) {
  EXPECT_EQ(kernel.stages.back(), "contraction");
  return "NV_" + std::to_string(kernel.stages.size());
}

/// The rows between two products are stages.
TEST(CatalogContraction, EachStageHasNumbersOfItsOwn) {
  Emitted text(twoProducts());
  auto first = text.with({{"fuse", 0}});
  ASSERT_EQ(first.failure, "");
  EXPECT_EQ(llvm::count(first.stages, "contraction"), 2);
  const std::string last = lastNumber(first);
  EXPECT_EQ(first.values.at(last), (std::vector<int64_t>{1, 2, 3, 4}));
  // What a kernel says of its parameters makes it again.
  EXPECT_EQ(text.with(first.parameters).source, first.source);
  // One number of one stage, and of all.
  auto changed = first.parameters;
  changed[last] = first.parameters.at(last) == 1 ? 2 : 1;
  auto second = text.with(changed);
  EXPECT_EQ(second.parameters.at(last), changed[last]);
  EXPECT_EQ(second.parameters.at("NV_1"), first.parameters.at("NV_1"));
  changed["NV"] = 3;
  auto all = text.with(changed);
  EXPECT_EQ(all.parameters.at("NV_1"), 3);
  EXPECT_EQ(all.parameters.at(last), 3);
  EXPECT_EQ(all.parameters.count("NV"), 0u);
}

TEST(CatalogContraction, TwoProductsInOneProgram) {
  std::vector<KernelCase> cases;
  const std::string last =
      lastNumber(Emitted(twoProducts()).with({{"fuse", 0}}));
  for (int64_t mr : {2, 5})
    cases.push_back({twoProducts(),
                     {{"fuse", 0}, {"MR_1", mr}, {last, 1}},
                     32,
                     2,
                     "contraction",
                     1,
                     "two products"});
  checkKernels(cases);
}

TEST(CatalogContraction, TypesAndHelpersAreThereOnce) {
  auto kernel = Emitted(twoProducts()).with({{"fuse", 0}});
  for (const char *once :
       {"#include <math.h>", "#define FK_INLINE ", "#define LANES ",
        "FK_INLINE void fk_transpose(vf32 *r)", "\nvoid fastk_kernel(",
        "static void fastk_kernel_1(", "static void fastk_kernel_2("})
    EXPECT_EQ(llvm::StringRef(kernel.source).count(once), 1u) << once;
}

TEST(CatalogContraction, SumsThatAreNoFloatsComeFirst) {
  // Whether an element is above a half: a family has no such result.
  std::string text = R"(
#id = affine_map<(m, n) -> (m, n)>
func.func @f(%a: tensor<24x36xf32>, %b: tensor<36x40xf32>) -> tensor<24x40xi1> {
  %z = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %e = tensor.empty() : tensor<24x40xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<24x40xf32>) -> tensor<24x40xf32>
  %p = linalg.matmul ins(%a, %b : tensor<24x36xf32>, tensor<36x40xf32>) outs(%i : tensor<24x40xf32>) -> tensor<24x40xf32>
  %eo = tensor.empty() : tensor<24x40xi1>
  %q = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<24x40xf32>) outs(%eo : tensor<24x40xi1>) {
  ^bb0(%x: f32, %o: i1):
    %v = arith.cmpf ogt, %x, %half : f32
    linalg.yield %v : i1
  } -> tensor<24x40xi1>
  return %q : tensor<24x40xi1>
}
)";
  checkKernels({{text, {}, 64, 2, "contraction", 1, "truth"},
                {text, {}, 64, 2, "pointwise", 1, "truth"}});
}

TEST(CatalogContraction, WithoutFamiliesThereIsNoProgram) {
  StageFamilies none;
  Emitted text(product(1, 32, 32, 32, false, false, Epilogue::None));
  auto kernel = text.with({}, none);
  EXPECT_EQ(kernel.source, "");
  EXPECT_EQ(kernel.failure,
            "the catalog's stages are families for the host, and there are "
            "none: install the folder families/host beside fastk's programs");
  // Nor anything else.
  EXPECT_EQ(Emitted(softmax(2, 3, 4, false, false)).with({}, none).failure,
            kernel.failure);
}

// What a family is asked for, and what a search may ask for next.
TEST(CatalogRows, NumbersOfTheFamily) {
  Emitted text(softmax(1, 64, 1024, false, false));
  auto plain = text.with({});
  EXPECT_EQ(plain.stages, std::vector<std::string>{"reduction"});
  EXPECT_EQ(plain.parameters.at("KEEP_1"), 1);
  EXPECT_EQ(plain.values.at("SUMS_1"), (std::vector<int64_t>{1, 2, 4, 8}));
  auto next = text.with({{"AHEAD", 1}, {"FETCH", 1}});
  EXPECT_EQ(next.parameters.at("AHEAD_1"), 1);
  EXPECT_EQ(next.parameters.at("FETCH_1"), 1);
  EXPECT_NE(next.source, plain.source);
  // A row of each thread.
  auto kept = text.with({{"STREAM", 1}, {"KEEP", 2}});
  EXPECT_EQ(kept.parameters.at("STREAM_1"), 1);
  EXPECT_GE(kept.workspaceBytes, 2 * 4096);
}

TEST(CatalogConvolution, ShapesAndPooling) {
  std::vector<KernelCase> cases;
  //               n  c  h   w   f   k  s  p
  int64_t s[][8] = {{2, 8, 14, 14, 16, 3, 1, 1},
                    {1, 3, 31, 29, 20, 11, 4, 2},
                    {1, 5, 9, 23, 33, 1, 1, 0},
                    {2, 4, 12, 17, 7, 5, 2, 2},
                    {1, 16, 8, 56, 64, 3, 1, 1}};
  for (auto &c : s)
    for (unsigned bytes : {32u, 64u})
      cases.push_back({convolution(c[0], c[1], c[2], c[3], c[4], c[5], c[6],
                                   c[7], bytes == 64 && c[2] > 10),
                       {},
                       bytes,
                       2,
                       c[5] == 1 ? "contraction" : "convolution",
                       0.3,
                       "convolution"});
  cases.push_back({convolution(1, 4, 9, 30, 40, 3, 1, 1, false),
                   {{"MR", 3}, {"NV", 3}},
                   64,
                   2,
                   "convolution",
                   0.3,
                   "convolution"});
  // Of four input channels there is no block of eight: a number that the rules
  // forbid is left out.
  for (int64_t channels : {12, 4})
    cases.push_back({convolution(1, channels, 9, 30, 40, 3, 1, 1, false),
                     {{"MR", 14}, {"NV", 1}, {"CHANNELS", 8}, {"PIXELS", 64}},
                     64,
                     2,
                     "convolution",
                     0.3,
                     "convolution"});
  checkKernels(cases);
}

// Threads that share the panels of weights, of which there are fewer, or blocks
// of positions; weights that are packed once, or by each thread.
TEST(CatalogConvolution, MoreThreadsThanPanels) {
  std::vector<KernelCase> cases;
  //               n  c   h  w   f   k  s  p
  int64_t s[][8] = {{1, 32, 7, 19, 40, 3, 1, 1},
                    {1, 37, 6, 20, 16, 3, 2, 1},
                    {1, 70, 5, 33, 33, 1, 1, 0}};
  for (auto &c : s)
    for (unsigned threads : {1u, 5u})
      for (unsigned bytes : {16u, 64u})
        cases.push_back(
            {convolution(c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7], false),
             {{"SHARE", bytes == 16}, {"ONCE", threads == 5}, {"SERIAL", 0}},
             bytes,
             threads,
             c[5] == 1 ? "contraction" : "convolution",
             0.2,
             "threads"});
  checkKernels(cases);
}

// Families know of zeros around what windows move over, and the pad is no
// stage.
TEST(CatalogConvolution, ZerosAroundTheInputAreTheFamilys) {
  std::string text = R"(
func.func @f(%x0: tensor<1x4x9x30xf32>, %w: tensor<40x4x3x3xf32>) -> tensor<1x40x9x30xf32> {
  %z = arith.constant 0.0 : f32
  %around = arith.constant AROUND : f32
  %x = tensor.pad %x0 low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %around : f32
  } : tensor<1x4x9x30xf32> to tensor<1x4x11x32xf32>
  %e = tensor.empty() : tensor<1x40x9x30xf32>
  %b = linalg.fill ins(%z : f32) outs(%e : tensor<1x40x9x30xf32>) -> tensor<1x40x9x30xf32>
  %y = linalg.conv_2d_nchw_fchw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%x, %w : tensor<1x4x11x32xf32>, tensor<40x4x3x3xf32>) outs(%b : tensor<1x40x9x30xf32>) -> tensor<1x40x9x30xf32>
  return %y : tensor<1x40x9x30xf32>
}
)";
  EXPECT_EQ(Emitted(replaceAll(text, "AROUND", "0.0")).with({}).stages,
            std::vector<std::string>{"convolution"});
  EXPECT_EQ(Emitted(replaceAll(text, "AROUND", "1.0")).with({}).stages,
            (std::vector<std::string>{"pointwise", "convolution"}));
  std::vector<KernelCase> cases;
  for (const char *around : {"0.0", "-0.0", "1.0"})
    cases.push_back({replaceAll(text, "AROUND", around),
                     {},
                     32,
                     2,
                     "convolution",
                     0.3,
                     "pads"});
  // What is around is computed.
  cases.push_back(
      {replaceAll(replaceAll(text, "AROUND", "0.5"), "    tensor.yield %around",
                  "    %twice = arith.addf %around, %around : f32\n"
                  "    tensor.yield %twice"),
       {},
       32,
       2,
       "",
       0.3,
       "computed pads"});
  cases.back().notEmitted = "a pad that is no constant at a known place";
  checkKernels(cases);
}

// Zeros around the weights are none that families know of.
TEST(CatalogConvolution, PaddedWeights) {
  std::string text = R"(
func.func @f(%x: tensor<1x16x12x24xf32>, %w: tensor<32x16x2x2xf32>) -> tensor<1x32x10x22xf32> {
  %z = arith.constant 0.0 : f32
  %p = tensor.pad %w low[0, 0, 1, 0] high[0, 0, 0, 1] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %z : f32
  } : tensor<32x16x2x2xf32> to tensor<32x16x3x3xf32>
  %e = tensor.empty() : tensor<1x32x10x22xf32>
  %b = linalg.fill ins(%z : f32) outs(%e : tensor<1x32x10x22xf32>) -> tensor<1x32x10x22xf32>
  %y = linalg.conv_2d_nchw_fchw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%x, %p : tensor<1x16x12x24xf32>, tensor<32x16x3x3xf32>) outs(%b : tensor<1x32x10x22xf32>) -> tensor<1x32x10x22xf32>
  return %y : tensor<1x32x10x22xf32>
}
)";
  std::vector<KernelCase> cases;
  for (unsigned threads : {2u, 7u})
    cases.push_back(
        {text, {}, 64, threads, "convolution", 0.3, "padded weights"});
  checkKernels(cases);
}

// Keys beyond the rows of a block are left out where the mask proves it.
TEST(CatalogAttention, CausalBlocks) {
  std::vector<KernelCase> cases;
  int64_t shapes[][4] = {{2, 70, 70, 24}, {1, 90, 50, 33}, {3, 40, 130, 16}};
  for (auto &s : shapes)
    for (int64_t skip : {0, 1})
      for (bool half : {false, true}) {
        std::string causal = attention(s[0], s[1], s[2], s[3], half, true);
        for (const char *condition :
             {"sle, %j, %i", "slt, %j, %i", "sge, %i, %j"})
          cases.push_back({replaceAll(causal, "sle, %j, %i", condition),
                           {{"MR", 7}, {"TILES", 2}, {"SKIP", skip}},
                           64,
                           // The threads share blocks of unlike length.
                           half ? 7u : 3u,
                           "attention",
                           1,
                           condition});
      }
  checkKernels(cases);
}

// Zero times infinity is NaN: a value that is not finite counts in every row.
TEST(CatalogAttention, CausalWithInfiniteValues) {
  std::string text = attention(2, 60, 60, 20, false, true);
  std::string from = "%y = arith.addf %y0, %z : f32";
  size_t at = text.rfind(from);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, from.size(), R"(%far = arith.constant 45 : index
    %key = linalg.index 3 : index
    %inf = arith.constant 0x7F800000 : f32
    %past = arith.cmpi sge, %key, %far : index
    %y = arith.select %past, %inf, %y0 : f32)");
  for (int64_t keys : {128, 65536})
    checkKernels({{text,
                   {{"MR", 7}, {"TILES", 2}, {"KEYS", keys}, {"SKIP", 1}},
                   64,
                   2,
                   "attention",
                   1,
                   "infinite"}});
}

// What proves that keys can be left out, and what does not.
TEST(CatalogAttention, ProofOfTheMask) {
  std::string causal = attention(1, 60, 60, 20, false, true);
  auto proved = [](const std::string &text) {
    mlir::MLIRContext context;
    context.loadDialect<fastk::FastkDialect, mlir::arith::ArithDialect,
                        mlir::func::FuncDialect, mlir::linalg::LinalgDialect,
                        mlir::math::MathDialect, mlir::tensor::TensorDialect>();
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
    fastk::catalog::Machine machine;
    machine.vectorBytes = 64;
    machine.threads = 2;
    auto function = *module->getOps<mlir::func::FuncOp>().begin();
    auto kernel = fastk::catalog::emitCKernel(function.getBody().front(),
                                              machine, {}, shippedFamilies());
    EXPECT_EQ(kernel.failure, "");
    return llvm::StringRef(kernel.source).contains("#define CAUSAL_1 1");
  };
  EXPECT_TRUE(proved(causal));
  EXPECT_TRUE(proved(replaceAll(causal, "sle, %j, %i", "slt, %j, %i")));
  EXPECT_FALSE(proved(attention(1, 60, 60, 20, false, false)));
  // The other triangle, another condition, a finite mask.
  EXPECT_FALSE(proved(replaceAll(causal, "sle, %j, %i", "sge, %j, %i")));
  EXPECT_FALSE(proved(replaceAll(causal, "sle, %j, %i", "ne, %j, %i")));
  EXPECT_FALSE(
      proved(replaceAll(causal, "%ok, %t0, %ninf", "%ok, %t0, %scale")));
  // A maximum of other rows, an exponential that is moved.
  EXPECT_FALSE(proved(replaceAll(causal, "ins(%sc, %m :", "ins(%s, %m :")));
  EXPECT_FALSE(
      proved(replaceAll(causal, "%u = math.exp %t", "%u = math.cos %t")));
}

TEST(CatalogElementwise, ChainsAndTheMathLibrary) {
  std::vector<KernelCase> cases;
  for (const char *op : {"math.exp %p : f32", "math.erf %p : f32",
                         "math.tanh %p : f32", "math.sqrt %q : f32",
                         "math.absf %p : f32", "arith.maximumf %p, %q : f32",
                         "math.sin %p : f32", "arith.divf %p, %q : f32"})
    cases.push_back({elementwise(37, 43, op), {}, 64, 2, "pointwise", 3, op});
  cases.push_back({elementwise(1, 1, "arith.negf %p : f32"),
                   {},
                   64,
                   2,
                   "pointwise",
                   3,
                   "one element"});
  cases.push_back({elementwise(64, 96, "arith.negf %p : f32"),
                   {{"STREAM", 1}, {"UNROLL", 4}},
                   64,
                   2,
                   "pointwise",
                   3,
                   "streaming"});
  checkKernels(cases);
}

TEST(CatalogAttention, FullAndCausal) {
  std::vector<KernelCase> cases;
  int64_t shapes[][4] = {
      {2, 40, 40, 24}, {1, 77, 77, 16}, {3, 20, 20, 33}, {1, 130, 130, 64}};
  for (auto &s : shapes)
    for (bool causal : {false, true})
      cases.push_back({attention(s[0], s[1], s[2], s[3], causal, causal),
                       {},
                       64,
                       2,
                       "attention",
                       1,
                       causal ? "causal" : "full"});
  cases.push_back({attention(2, 9, 50, 12, false, false),
                   {},
                   32,
                   2,
                   "attention",
                   1,
                   "cross attention"});
  // One query and few, of which none is packed.
  for (int64_t rows : {1, 3})
    for (bool causal : {false, true})
      cases.push_back({attention(3, rows, 70, 24, causal, causal),
                       {},
                       32,
                       2,
                       "attention",
                       1,
                       "few queries"});
  // Weights that are divided after the product; few columns of one query.
  fastk::families::AttentionText text;
  text.type = text.result = "f32";
  text.dividesLast = true;
  cases.push_back({text.str(), {}, 32, 2, "attention", 1, "divided last"});
  text.dividesLast = false;
  text.extents['m'] = 1;
  text.extents['e'] = 8;
  cases.push_back({text.str(), {}, 32, 2, "attention", 1, "few columns"});
  // Several blocks of keys: a row's sums are scaled as its maximum grows.
  for (int64_t keys : {128, 256})
    for (bool causal : {false, true})
      cases.push_back({attention(1, 330, 330, 16, false, causal),
                       {{"KEYS", keys}, {"SKIP", causal}},
                       64,
                       2,
                       "attention",
                       1,
                       "blocks of keys"});
  checkKernels(cases);
}
