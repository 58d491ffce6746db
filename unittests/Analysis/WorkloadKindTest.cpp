//===- WorkloadKindTest.cpp - Kinds, names, dimensions, roles -------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Analysis/WorkloadKind.h"
#include "ParsedModule.h"

using namespace fastk;

namespace {

struct Expected {
  const char *file;
  WorkloadKind kind;
  const char *name;
  int64_t reduction;
};

void PrintTo(const Expected &e, std::ostream *os) { *os << e.file; }

const Expected kExpected[] = {
    {"matmul_f32", WorkloadKind::Contraction, "matmul", 4096},
    {"matmul_f16", WorkloadKind::Contraction, "matmul", 4096},
    {"conv2d", WorkloadKind::Convolution, "conv2d_bias", 363},
    {"conv2d_relu_maxpool", WorkloadKind::Convolution,
     "conv2d_bias_relu_maxpool", 363},
    {"softmax", WorkloadKind::Softmax, "softmax", 65536},
    {"layernorm", WorkloadKind::Norm, "layer_norm", 4194304},
    {"attention_f16", WorkloadKind::Attention, "attention", 4096},
    {"attention_causal_f16", WorkloadKind::Attention, "attention_causal", 4096},
    {"linear_gelu", WorkloadKind::Contraction, "matmul_bias_gelu", 768},
    {"mlp", WorkloadKind::Contraction, "matmul_bias_gelu_matmul_bias", 3072},
    {"resnet_block", WorkloadKind::Convolution,
     "conv2d_batch_norm_relu_conv2d_batch_norm_add_relu", 576},
    {"transformer_block", WorkloadKind::Attention,
     "layer_norm_matmul_bias_attention_causal_matmul_bias_add_layer_norm_etc",
     3072},
};

class Kinds : public ::testing::TestWithParam<Expected> {};

void check(const WorkloadFeatures &features, const Expected &expected) {
  EXPECT_EQ(features.kind, expected.kind);
  EXPECT_EQ(features.name, expected.name);
  EXPECT_EQ(features.reductionLength, expected.reduction);
}

TEST_P(Kinds, NamedForm) {
  auto module = ParsedModule::golden(GetParam().file);
  check(analyzeWorkload(module->body()), GetParam());
}

TEST_P(Kinds, GenericForm) {
  auto module = ParsedModule::golden(GetParam().file);
  module->generalize();
  check(analyzeWorkload(module->body()), GetParam());
}

INSTANTIATE_TEST_SUITE_P(Golden, Kinds, ::testing::ValuesIn(kExpected),
                         [](const auto &info) {
                           return std::string(info.param.file);
                         });

TEST(WorkloadKindWords, RoundTrip) {
  for (const char *word :
       {"contraction", "convolution", "softmax", "norm", "attention",
        "reduction", "elementwise", "pooling", "other"}) {
    auto kind = parseWorkloadKind(word);
    ASSERT_TRUE(kind) << word;
    EXPECT_EQ(stringify(*kind), word);
  }
  EXPECT_FALSE(parseWorkloadKind("Softmax"));
}

TEST(WorkloadFeatures, LinearLayer) {
  auto module = ParsedModule::golden("linear_gelu");
  WorkloadFeatures f = analyzeWorkload(module->body());
  ASSERT_EQ(f.contractions.size(), 1u);
  const ContractionFeatures &c = f.contractions.front();
  EXPECT_EQ(c.m, 512);
  EXPECT_EQ(c.n, 3072);
  EXPECT_EQ(c.k, 768);
  EXPECT_EQ(c.batch, 1);
  EXPECT_FALSE(c.transposedA);
  EXPECT_TRUE(c.transposedB); // Stored as (out, in).
  EXPECT_EQ(f.epilogue, (llvm::SmallVector<std::string, 4>{"bias", "gelu"}));
  ASSERT_EQ(f.inputs.size(), 3u);
  EXPECT_EQ(f.inputs[0].role, InputRole::Weight);
  EXPECT_EQ(f.inputs[1].role, InputRole::Bias);
  EXPECT_EQ(f.inputs[2].role, InputRole::Data);
}

TEST(WorkloadFeatures, HalfPrecisionAttention) {
  auto module = ParsedModule::golden("attention_f16");
  WorkloadFeatures f = analyzeWorkload(module->body());
  ASSERT_EQ(f.contractions.size(), 2u);
  EXPECT_EQ(f.contractions[0].batch, 128);
  EXPECT_EQ(f.contractions[0].k, 128);
  EXPECT_EQ(f.contractions[0].typeA, "f16");
  EXPECT_EQ(f.contractions[0].accumulator, "f32");
  EXPECT_TRUE(f.contractions[0].transposedB);
  EXPECT_FALSE(f.contractions[1].transposedB);
  EXPECT_EQ(f.rows, 128 * 4096);
  EXPECT_EQ(f.rowLength, 4096);
  for (const InputFeatures &input : f.inputs)
    EXPECT_EQ(input.role, InputRole::Data);
}

TEST(WorkloadFeatures, ConvolutionParameters) {
  auto module = ParsedModule::golden("conv2d");
  WorkloadFeatures f = analyzeWorkload(module->body());
  ASSERT_EQ(f.convolutions.size(), 1u);
  const ConvolutionFeatures &c = f.convolutions.front();
  using Sizes = llvm::SmallVector<int64_t, 3>;
  EXPECT_EQ(c.batch, 100);
  EXPECT_EQ(c.inputChannels, 3);
  EXPECT_EQ(c.outputChannels, 96);
  EXPECT_EQ(c.groups, 1);
  EXPECT_EQ(c.output, (Sizes{55, 55}));
  EXPECT_EQ(c.kernel, (Sizes{11, 11}));
  EXPECT_EQ(c.stride, (Sizes{4, 4}));
  EXPECT_EQ(c.padding, (Sizes{2, 2}));
  EXPECT_EQ(c.dilation, (Sizes{1, 1}));
}

// Classes of precision go by this, of the canonical form.
TEST(WorkloadFeatures, AKernelOfOnePixelIsAConvolution) {
  ParsedModule module(R"mlir(
func.func @f(%x: tensor<2x8x9x9xf32>, %w: tensor<16x8x1x1xf32>, %o: tensor<2x16x9x9xf32>) -> tensor<2x16x9x9xf32> {
  %r = linalg.conv_2d_nchw_fchw ins(%x, %w : tensor<2x8x9x9xf32>, tensor<16x8x1x1xf32>)
    outs(%o : tensor<2x16x9x9xf32>) -> tensor<2x16x9x9xf32>
  return %r : tensor<2x16x9x9xf32>
})mlir");
  for (bool isGeneric : {false, true}) {
    if (isGeneric)
      module.generalize();
    WorkloadFeatures f = analyzeWorkload(module.body());
    EXPECT_EQ(f.kind, WorkloadKind::Convolution);
    EXPECT_TRUE(f.contractions.empty());
  }
}

TEST(WorkloadFeatures, NormsScaleAndBias) {
  auto module = ParsedModule::golden("layernorm");
  WorkloadFeatures f = analyzeWorkload(module->body());
  EXPECT_EQ(f.rows, 16);
  EXPECT_EQ(f.rowLength, 64 * 256 * 256);
  ASSERT_EQ(f.inputs.size(), 3u);
  EXPECT_EQ(f.inputs[0].role, InputRole::Scale);
  EXPECT_EQ(f.inputs[1].role, InputRole::Bias);
  EXPECT_EQ(f.inputs[2].role, InputRole::Data);
}

// The running variance stands under a root.
TEST(WorkloadFeatures, BatchNormNeedsAPositiveVariance) {
  auto module = ParsedModule::golden("resnet_block");
  WorkloadFeatures f = analyzeWorkload(module->body());
  ASSERT_EQ(f.inputs.size(), 13u);
  EXPECT_EQ(f.inputs[7].role, InputRole::Positive);
  EXPECT_TRUE(f.inputs[7].positive);
  EXPECT_EQ(f.inputs[10].role, InputRole::Positive);
  EXPECT_EQ(f.inputs[0].role, InputRole::Weight);
  EXPECT_EQ(f.inputs[12].role, InputRole::Data);
}

constexpr const char *kMaps = R"(
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
)";

WorkloadFeatures analyze(llvm::StringRef text) {
  ParsedModule module((kMaps + text).str());
  return analyzeWorkload(module.body());
}

// One generic that holds a whole silu reads the same as a chain of them.
TEST(WorkloadNames, FusedSilu) {
  WorkloadFeatures f = analyze(R"(
func.func @f(%a: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %c = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<8x4xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) {
  ^bb0(%x: f32, %o: f32):
    %n = arith.negf %x : f32
    %y = math.exp %n : f32
    %s = arith.addf %y, %c : f32
    %d = arith.divf %c, %s : f32
    %m = arith.mulf %x, %d : f32
    linalg.yield %m : f32
  } -> tensor<8x4xf32>
  return %r : tensor<8x4xf32>
})");
  EXPECT_EQ(f.name, "silu");
  EXPECT_EQ(f.kind, WorkloadKind::Elementwise);
}

TEST(WorkloadNames, MaximumIsRelu) {
  WorkloadFeatures f = analyze(R"(
func.func @f(%a: tensor<8x4xf32>, %b: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x4xf32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%a, %b : tensor<8x4xf32>, tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %s = arith.addf %x, %y : f32
    %m = arith.maximumf %s, %c : f32
    linalg.yield %m : f32
  } -> tensor<8x4xf32>
  return %r : tensor<8x4xf32>
})");
  EXPECT_EQ(f.name, "add_relu");
  EXPECT_TRUE(f.piecewise);
}

TEST(WorkloadNames, RowSum) {
  WorkloadFeatures f = analyze(R"(
func.func @f(%a: tensor<8x4xf32>) -> tensor<8xf32> {
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %z = linalg.fill ins(%c : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %r = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%a : tensor<8x4xf32>) outs(%z : tensor<8xf32>) {
  ^bb0(%x: f32, %o: f32):
    %s = arith.addf %x, %o : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  return %r : tensor<8xf32>
})");
  EXPECT_EQ(f.name, "sum");
  EXPECT_EQ(f.kind, WorkloadKind::Reduction);
  EXPECT_EQ(f.rows, 8);
  EXPECT_EQ(f.rowLength, 4);
}

TEST(WorkloadNames, LogarithmNeedsPositive) {
  WorkloadFeatures f = analyze(R"(
func.func @f(%a: tensor<8x4xf32>, %b: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %e = tensor.empty() : tensor<8x4xf32>
  %l = linalg.log ins(%a : tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %r = linalg.div ins(%l, %b : tensor<8x4xf32>, tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %r : tensor<8x4xf32>
})");
  EXPECT_EQ(f.name, "log_div");
  EXPECT_TRUE(f.inputs[0].positive);
  EXPECT_TRUE(f.inputs[1].nonZero);
  EXPECT_EQ(f.inputs[1].role, InputRole::Divisor);
}

/// The features of an elementwise body over %x and %y, of one type.
WorkloadFeatures analyzeScalars(llvm::StringRef type, llvm::StringRef body) {
  std::string t = type.str(), tensor = "tensor<8x4x" + t + ">";
  return analyze("func.func @f(%a: " + tensor + ", %b: " + tensor + ") -> " +
                 tensor + " {\n  %e = tensor.empty() : " + tensor +
                 R"(
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%a, %b : )" +
                 tensor + ", " + tensor + ") outs(%e : " + tensor +
                 ") {\n  ^bb0(%x: " + t + ", %y: " + t + ", %o: " + t +
                 "):" + body.str() + "\n    linalg.yield %z : " + t +
                 "\n  } -> " + tensor + "\n  return %r : " + tensor + "\n}");
}

// What a constant is added to first has its zero among one sign's values.
TEST(InputRoles, DivisorsHaveBothSigns) {
  WorkloadFeatures f = analyzeScalars("f32", "%z = arith.divf %x, %y : f32");
  EXPECT_EQ(f.inputs[0].role, InputRole::Data);
  EXPECT_EQ(f.inputs[1].role, InputRole::Divisor);
  EXPECT_TRUE(f.inputs[1].nonZero);
  EXPECT_FALSE(f.inputs[1].positive);

  f = analyzeScalars("f32", R"(
    %c = arith.constant 1.0 : f32
    %s = arith.addf %y, %c : f32
    %z = arith.divf %x, %s : f32)");
  EXPECT_EQ(f.inputs[1].role, InputRole::Positive);

  f = analyzeScalars("f32", R"(
    %c = arith.constant 2.0 : f32
    %s = arith.mulf %y, %c : f32
    %z = arith.divf %x, %s : f32)");
  EXPECT_EQ(f.inputs[1].role, InputRole::Divisor);

  f = analyzeScalars("f32", R"(
    %s = math.sqrt %y : f32
    %d = arith.divf %x, %y : f32
    %z = arith.addf %d, %s : f32)");
  EXPECT_EQ(f.inputs[1].role, InputRole::Positive);
}

// Whole numbers have powers of both signs.
TEST(InputRoles, IntegralPowersHaveAnyBase) {
  auto roleFor = [](const char *exponent) {
    return analyzeScalars("f32", std::string("\n    %c = arith.constant ") +
                                     exponent +
                                     " : f32\n"
                                     "    %p = math.powf %x, %c : f32\n"
                                     "    %z = arith.addf %p, %y : f32")
        .inputs[0]
        .role;
  };
  EXPECT_EQ(roleFor("3.0"), InputRole::Data);
  EXPECT_EQ(roleFor("2.0"), InputRole::Data);
  EXPECT_EQ(roleFor("-1.0"), InputRole::Divisor);
  EXPECT_EQ(roleFor("0.5"), InputRole::Positive);
  EXPECT_EQ(roleFor("-2.5"), InputRole::Positive);
  EXPECT_EQ(analyzeScalars("f32", "%z = math.powf %x, %y : f32").inputs[0].role,
            InputRole::Positive);
}

TEST(InputRoles, IntegerDivisorsAndShifts) {
  for (const char *op : {"divsi", "divui", "remsi", "remui", "floordivsi"}) {
    WorkloadFeatures f = analyzeScalars("i32", std::string("%z = arith.") + op +
                                                   " %x, %y : i32");
    EXPECT_EQ(f.inputs[0].role, InputRole::Data) << op;
    EXPECT_EQ(f.inputs[1].role, InputRole::Divisor) << op;
  }
  // Twice the smallest integer is 0.
  WorkloadFeatures doubled = analyzeScalars("i32", R"(
    %c = arith.constant 2 : i32
    %d = arith.muli %y, %c : i32
    %z = arith.divsi %x, %d : i32)");
  EXPECT_FALSE(doubled.inputs[0].makesDivisors);
  EXPECT_TRUE(doubled.inputs[1].makesDivisors);
  for (const char *op : {"shli", "shrsi", "shrui"}) {
    WorkloadFeatures f = analyzeScalars("i64", std::string("%z = arith.") + op +
                                                   " %x, %y : i64");
    EXPECT_EQ(f.inputs[0].role, InputRole::Data) << op;
    EXPECT_EQ(f.inputs[1].role, InputRole::Index) << op;
    EXPECT_EQ(f.inputs[1].indexBound, 64) << op;
  }
}

// What is squared and then divided by the root of the mean is the data.
TEST(InputRoles, RmsNormHasData) {
  WorkloadFeatures f = analyze(R"(
#col = affine_map<(i, j) -> (j)>
func.func @f(%x: tensor<8x64xf32>, %g: tensor<64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 64.0 : f32
  %eps = arith.constant 1.0e-05 : f32
  %e1 = tensor.empty() : tensor<8xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e1 : tensor<8xf32>) -> tensor<8xf32>
  %s = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<8x64xf32>) outs(%z : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %q = arith.mulf %a, %a : f32
    %t = arith.addf %q, %o : f32
    linalg.yield %t : f32
  } -> tensor<8xf32>
  %e2 = tensor.empty() : tensor<8x64xf32>
  %r = linalg.generic {indexing_maps = [#id, #row, #col, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %s, %g : tensor<8x64xf32>, tensor<8xf32>, tensor<64xf32>) outs(%e2 : tensor<8x64xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %m = arith.divf %b, %n : f32
    %v = arith.addf %m, %eps : f32
    %i = math.rsqrt %v : f32
    %p = arith.mulf %a, %i : f32
    %y = arith.mulf %p, %c : f32
    linalg.yield %y : f32
  } -> tensor<8x64xf32>
  return %r : tensor<8x64xf32>
})");
  EXPECT_EQ(f.kind, WorkloadKind::Norm);
  EXPECT_EQ(f.inputs[0].role, InputRole::Data);
  EXPECT_EQ(f.inputs[1].role, InputRole::Scale);
}

TEST(WorkloadNames, Movement) {
  WorkloadFeatures f = analyze(R"(
func.func @f(%a: tensor<8x4xf32>) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %r = linalg.transpose ins(%a : tensor<8x4xf32>) outs(%e : tensor<4x8xf32>) permutation = [1, 0]
  return %r : tensor<4x8xf32>
})");
  EXPECT_EQ(f.name, "permute");
  EXPECT_EQ(f.kind, WorkloadKind::Other);
}

TEST(WorkloadNames, GatherHasIndices) {
  WorkloadFeatures f = analyze(R"(
func.func @f(%table: tensor<100x16xf32>, %ids: tensor<8xi64>) -> tensor<8x16xf32> {
  %e = tensor.empty() : tensor<8x16xf32>
  %r = linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]} ins(%ids : tensor<8xi64>) outs(%e : tensor<8x16xf32>) {
  ^bb0(%i: i64, %o: f32):
    %p = arith.index_cast %i : i64 to index
    %j = linalg.index 1 : index
    %x = tensor.extract %table[%p, %j] : tensor<100x16xf32>
    linalg.yield %x : f32
  } -> tensor<8x16xf32>
  return %r : tensor<8x16xf32>
})");
  EXPECT_EQ(f.name, "gather");
  EXPECT_EQ(f.inputs[1].role, InputRole::Index);
  EXPECT_EQ(f.inputs[1].indexBound, 100);
}

/// A gather of rows of a table of 100; \p body makes %p of the index %i.
InputFeatures indexFeatures(llvm::StringRef body) {
  return analyze((R"(
func.func @f(%table: tensor<100x16xf32>, %ids: tensor<8xi64>) -> tensor<8x16xf32> {
  %e = tensor.empty() : tensor<8x16xf32>
  %r = linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]} ins(%ids : tensor<8xi64>) outs(%e : tensor<8x16xf32>) {
  ^bb0(%i: i64, %o: f32):
    %c = arith.constant 100 : i64
    %zero = arith.constant 0 : i64
)" + body + R"(
    %q = arith.index_cast %p : i64 to index
    %j = linalg.index 1 : index
    %x = tensor.extract %table[%q, %j] : tensor<100x16xf32>
    linalg.yield %x : f32
  } -> tensor<8x16xf32>
  return %r : tensor<8x16xf32>
})")
                     .str())
      .inputs[1];
}

// Negative indices count from the end; others are chosen among, or clamped.
TEST(InputRoles, IndicesThroughSelections) {
  InputFeatures wrapped = indexFeatures(R"(
    %n = arith.cmpi slt, %i, %zero : i64
    %w = arith.addi %i, %c : i64
    %p = arith.select %n, %w, %i : i64)");
  EXPECT_EQ(wrapped.role, InputRole::Index);
  EXPECT_EQ(wrapped.indexBound, 100);
  EXPECT_EQ(wrapped.indexLow, -100);
  EXPECT_FALSE(wrapped.addresses);
  EXPECT_FALSE(wrapped.special);

  // The table is of another size than what is added, or the wrong ones wrap.
  InputFeatures other = indexFeatures(R"(
    %h = arith.constant 50 : i64
    %n = arith.cmpi slt, %i, %zero : i64
    %w = arith.addi %i, %h : i64
    %p = arith.select %n, %w, %i : i64)");
  EXPECT_EQ(other.indexBound, 100);
  EXPECT_EQ(other.indexLow, 0);
  InputFeatures contrary = indexFeatures(R"(
    %n = arith.cmpi slt, %i, %zero : i64
    %w = arith.addi %i, %c : i64
    %p = arith.select %n, %i, %w : i64)");
  EXPECT_EQ(contrary.indexLow, 0);

  InputFeatures clamped = indexFeatures("%p = arith.maxsi %i, %zero : i64");
  EXPECT_EQ(clamped.role, InputRole::Index);
  EXPECT_EQ(clamped.indexBound, 100);
  EXPECT_EQ(clamped.indexLow, 0);

  InputFeatures computed = indexFeatures("%p = arith.muli %i, %i : i64");
  EXPECT_EQ(computed.role, InputRole::Data);
  EXPECT_TRUE(computed.addresses);
}

// What is gathered by indices may be indices itself.
TEST(InputRoles, IndicesThatAreGathered) {
  WorkloadFeatures f = analyze(R"(
func.func @f(%table: tensor<100xf32>, %ids: tensor<30xi32>, %which: tensor<8xi64>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]} ins(%which : tensor<8xi64>) outs(%e : tensor<8xf32>) {
  ^bb0(%w: i64, %o: f32):
    %c = arith.constant 100 : i32
    %zero = arith.constant 0 : i32
    %p = arith.index_cast %w : i64 to index
    %i = tensor.extract %ids[%p] : tensor<30xi32>
    %n = arith.cmpi slt, %i, %zero : i32
    %s = arith.addi %i, %c : i32
    %t = arith.select %n, %s, %i : i32
    %q = arith.index_cast %t : i32 to index
    %x = tensor.extract %table[%q] : tensor<100xf32>
    linalg.yield %x : f32
  } -> tensor<8xf32>
  return %r : tensor<8xf32>
})");
  EXPECT_EQ(f.inputs[1].role, InputRole::Index);
  EXPECT_EQ(f.inputs[1].indexBound, 100);
  EXPECT_EQ(f.inputs[1].indexLow, -100);
  EXPECT_EQ(f.inputs[2].role, InputRole::Index);
  EXPECT_EQ(f.inputs[2].indexBound, 30);
  EXPECT_EQ(f.inputs[2].indexLow, 0);
}

// A class that is ignored is no index, where it is left out before the gather.
TEST(InputRoles, IgnoredClassesAreSpecial) {
  InputFeatures ignored = indexFeatures(R"(
    %k = arith.constant -100 : i64
    %n = arith.cmpi ne, %i, %k : i64
    %p = arith.select %n, %i, %zero : i64)");
  EXPECT_EQ(ignored.role, InputRole::Index);
  EXPECT_EQ(ignored.indexBound, 100);
  EXPECT_EQ(ignored.special, -100);
  // Not guarded: the comparison comes too late.
  InputFeatures late = indexFeatures(R"(
    %k = arith.constant -100 : i64
    %n = arith.cmpi ne, %i, %k : i64
    %u = arith.select %n, %i, %zero : i64
    %p = arith.maxsi %u, %i : i64)");
  EXPECT_EQ(late.role, InputRole::Index);
  EXPECT_FALSE(late.special);

  WorkloadFeatures compared = analyzeScalars("i32", R"(
    %k = arith.constant 50256 : i32
    %n = arith.cmpi eq, %x, %k : i32
    %z = arith.select %n, %y, %x : i32)");
  EXPECT_EQ(compared.inputs[0].special, 50256);
  EXPECT_FALSE(compared.inputs[1].special);
}

} // namespace
