//===- ShippedFamiliesTest.cpp - Shipped families compile -----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Instances for sizes, types, layouts and surroundings of many kinds have plans
// that keep the target's rules and compile without a warning that costs speed.
// What they compute is seen on a GPU (docs/benchmarks/families.md).
//
//===----------------------------------------------------------------------===//

#include "../Analysis/WorkloadFixture.h"
#include "../Cuda/CudaTest.h"
#include "fastk/Cuda/CompileInChild.h"
#include "fastk/Dialect/Fastk/PlanRegion.h"
#include "fastk/Families/AttentionText.h"
#include "fastk/Families/ContractionText.h"
#include "fastk/Families/ConvolutionText.h"
#include "fastk/Families/Family.h"
#include "fastk/Families/PointwiseText.h"
#include "fastk/Families/ReductionText.h"
#include "fastk/Families/ScanText.h"
#include "fastk/Families/WindowText.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::families;
using namespace fastk::test;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

static std::vector<ContractionText> contractions() {
  std::vector<ContractionText> list;
  auto add = [&](int64_t m, int64_t n, int64_t k) -> ContractionText & {
    ContractionText text;
    text.m = m;
    text.n = n;
    text.k = k;
    list.push_back(text);
    return list.back();
  };
  add(4096, 4096, 4096);
  add(1, 4096, 4096);
  add(128, 128, 65536);
  add(1001, 2049, 513);
  add(65, 72, 40).type = "bf16";
  ContractionText &transposed = add(520, 512, 264);
  transposed.a = "km";
  transposed.b = "kn";
  transposed.result = "f32";
  ContractionText &batched = add(4096, 64, 1000);
  batched.batch = 5;
  batched.a = "bmk";
  batched.b = "bnk";
  batched.out = "bmn";
  batched.tail = "%c = arith.addf %x, %bias32 : f32\n"
                 "%d = math.erf %c : f32\n%v = arith.mulf %c, %d : f32";
  ContractionText &computed = add(640, 384, 200);
  computed.prologueA.lines = "%a1 = math.absf %a0 : f16";
  computed.tail = "%v = arith.maximumf %x, %zero : f32";
  computed.out = "nm";
  // Few rows, and few columns, by operands that lie either way.
  add(16, 4096, 4096);
  add(30, 1024, 520).b = "kn";
  ContractionText &exact = add(8, 2048, 1000);
  exact.type = exact.result = "f32";
  ContractionText &columns = add(4096, 5, 1001);
  columns.a = "km";
  columns.type = columns.result = "f32";
  // Sums that f32 keeps longer than tensor cores do.
  add(256, 512, 16384).result = "f32";
  return list;
}

/// Random ones: each layout, and rows of a few and of many elements.
static std::vector<std::string> reductions() {
  std::vector<std::string> list;
  for (uint64_t number = 0; number < 8; ++number)
    list.push_back(sampleReduction(5, number).text.str());
  return list;
}

static std::vector<ConvolutionText> convolutions() {
  std::vector<ConvolutionText> list;
  using Axis = ConvolutionText::Axis;
  auto add = [&](int64_t inChannels, int64_t outChannels,
                 std::vector<Axis> axes) -> ConvolutionText & {
    ConvolutionText text;
    text.batch = 8;
    text.inChannels = inChannels;
    text.outChannels = outChannels;
    text.axes = std::move(axes);
    list.push_back(text);
    return list.back();
  };
  // Members of an axis: in, kernel, stride, dilation, zeros.
  add(64, 128, {{56, 3, 1, 1, 1, 1, 1}, {56, 3, 1, 1, 1, 1, 1}});
  add(3, 64, {{224, 7, 2, 1, 3, 3, 1}, {224, 7, 2, 1, 3, 3, 1}});
  // Patches: strides that no map has.
  add(3, 768, {{224, 16, 16, 1, 0, 0, 1}, {224, 16, 16, 1, 0, 0, 1}});
  // Transposed, in bf16.
  add(96, 48, {{33, 3, 1, 1, 2, 2, 2}, {65, 3, 1, 1, 1, 1, 2}}).type = "bf16";
  ConvolutionText &last =
      add(128, 256, {{28, 3, 2, 1, 1, 1, 1}, {28, 3, 2, 1, 1, 1, 1}});
  last.x = "nYXc";
  last.w = "ovwc";
  last.out = "nyxo";
  ConvolutionText &grouped = add(
      64, 64,
      {{8, 3, 1, 1, 1, 1, 1}, {15, 3, 1, 2, 2, 2, 1}, {15, 3, 1, 1, 0, 1, 1}});
  grouped.groups = 4;
  grouped.x = "nZYXgc";
  grouped.w = "gouvwc";
  grouped.out = "nzyxgo";
  grouped.operands = {{"bias", "go"}};
  ConvolutionText &line = add(32, 24, {{1000, 9, 1, 4, 16, 16, 1}});
  line.x = "ncX";
  line.w = "ocw";
  line.out = "nox";
  line.result = "f32";
  return list;
}

namespace {
/// A function's text as a workload of a core.
struct Described {
  Described(llvm::StringRef name, const std::string &text) {
    Module source = wrapIntoWorkload(text);
    form.emplace(
        llvm::cantFail(asExpected(computeCanonicalForm(getWorkload(*source)))));
    core = findCore(name, body(), "cuda:sm_90a", why);
  }
  mlir::Block &body() { return form->getPattern().front(); }

  static llvm::Expected<CanonicalForm>
  asExpected(mlir::FailureOr<CanonicalForm> form) {
    if (mlir::failed(form))
      return llvm::createStringError("no canonical form");
    return std::move(*form);
  }
  std::optional<CanonicalForm> form;
  std::optional<CoreInstance> core;
  std::string why;
};
} // namespace

/// The first instances of the families of a folder for a workload of theirs
/// have plans that keep the rules, and compile. \p mustServe: there are some,
/// and \p holds is in the first of one family.
static void compileInstances(llvm::StringRef folder, llvm::StringRef core,
                             const std::string &text, bool mustServe,
                             llvm::StringRef precision = "ieee",
                             const std::string &holds = "") {
  Described workload(core, text);
  ASSERT_TRUE(workload.core) << workload.why << "\n" << text;
  acceptClass(*workload.core, precision);
  mlir::Block &body = workload.body();
  std::vector<int64_t> in = bufferBytes(body.getArgumentTypes());
  std::vector<int64_t> out =
      bufferBytes(body.getTerminator()->getOperandTypes());
  worker::PlanLimits limits = *planLimitsOf("cuda:sm_90a");
  bool isServed = false;
  std::string reasons;
  for (const Family &family : llvm::cantFail(readFamilies(folder))) {
    if (family.core != core || family.isForHost())
      continue;
    std::string why;
    std::vector<Instance> instances =
        instantiate(family, *workload.core, 2, why);
    isServed |= !instances.empty() &&
                llvm::StringRef(instances.front().program).contains(holds);
    reasons += family.name + ": " + why + "\n";
    for (const Instance &instance : instances) {
      std::string problem;
      std::optional<worker::LaunchPlan> plan =
          makePlan(instance.plan, readNumbers(instance.program).names, problem);
      ASSERT_TRUE(plan) << problem;
      EXPECT_THAT(worker::verifyLaunchPlan(*plan, in, out, limits), IsEmpty());
      cuda::CompileRequest request;
      request.source = instance.program;
      cuda::CompileResult result = cuda::compileCached(request);
      ASSERT_TRUE(result.ok()) << result.error << "\n" << instance.program;
      // Products that are serialised, registers that are not handed over.
      EXPECT_THAT(result.log, Not(HasSubstr("C75")));
      for (std::string_view kernel : worker::launchedKernels(*plan))
        EXPECT_TRUE(result.kernel(std::string(kernel)));
    }
  }
  EXPECT_TRUE(!mustServe || isServed) << reasons;
}

NVRTC_TEST(ShippedFamiliesTest, ContractionsCompile) {
  for (const ContractionText &text : contractions())
    compileInstances(FASTK_FAMILIES_DIR, "contraction", text.str(), true);
}

// Random ones: operands of 32 bits among them.
NVRTC_TEST(ShippedFamiliesTest, RandomContractionsCompile) {
  for (uint64_t number = 0; number < 16; ++number)
    compileInstances(FASTK_FAMILIES_DIR, "contraction",
                     sampleContraction(5, number).text.str(), false);
}

NVRTC_TEST(ShippedFamiliesTest, ReductionsCompile) {
  for (const std::string &text : reductions())
    compileInstances(FASTK_FAMILIES_DIR, "reduction", text, false);
}

// Random ones: masks, groups of queries, layouts that no map describes.
NVRTC_TEST(ShippedFamiliesTest, AttentionCompiles) {
  for (uint64_t number = 0; number < 12; ++number)
    compileInstances(FASTK_FAMILIES_DIR, "attention",
                     sampleAttention(5, number).text.str(), false);
}

// Random ones: vectors and tiles, pads, concatenations, indices as values.
NVRTC_TEST(ShippedFamiliesTest, PointwiseWorkCompiles) {
  for (uint64_t number = 0; number < 24; ++number)
    compileInstances(FASTK_FAMILIES_DIR, "pointwise",
                     samplePointwise(5, number).text.str(), true);
}

// Random ones: rows, elements, negative indices.
NVRTC_TEST(ShippedFamiliesTest, GathersCompile) {
  for (uint64_t number = 0; number < 60; ++number) {
    PointwiseSample sample = samplePointwise(5, number);
    if (llvm::StringRef(sample.about).contains(" gathered "))
      compileInstances(FASTK_FAMILIES_DIR, "pointwise", sample.text.str(),
                       true);
  }
}

// Random ones: from the back, exclusive, rows of a few and of many columns.
NVRTC_TEST(ShippedFamiliesTest, ScansCompile) {
  for (uint64_t number = 0; number < 12; ++number)
    compileInstances(FASTK_FAMILIES_DIR, "scan",
                     sampleScan(5, number).text.str(), false);
}

// Random ones: along x and along channels, one to three dimensions.
NVRTC_TEST(ShippedFamiliesTest, WindowsCompile) {
  for (uint64_t number = 0; number < 16; ++number)
    compileInstances(FASTK_FAMILIES_DIR, "window",
                     sampleWindow(5, number).text.str(), true);
}

// It calls every function of the header.
NVRTC_TEST(ShippedFamiliesTest, APlainProgramOfRowsCompiles) {
  for (const std::string &text : reductions())
    compileInstances(FASTK_TEST_FAMILIES_DIR, "reduction", text, true);
}

NVRTC_TEST(ShippedFamiliesTest, ConvolutionsCompile) {
  for (const ConvolutionText &text : convolutions())
    compileInstances(FASTK_FAMILIES_DIR, "convolution", text.str(), true);
  for (uint64_t number = 0; number < 16; ++number)
    compileInstances(FASTK_FAMILIES_DIR, "convolution",
                     sampleConvolution(6, number).text.str(), false);
}

// Of f32, where it may be rounded: pixels, and rows of matrices.
NVRTC_TEST(ShippedFamiliesTest, ProductsAsConvolutionsCompile) {
  ConvolutionText pixels;
  pixels.type = pixels.result = "f32";
  pixels.inChannels = 40;
  pixels.axes = {{28, 1, 1, 1, 0, 0, 1}, {30, 1, 1, 1, 0, 0, 1}};
  ContractionText product;
  product.type = product.result = "f32";
  for (const char *precision : {"tf32", "half"})
    for (const std::string &text : {pixels.str(), product.str()})
      compileInstances(FASTK_FAMILIES_DIR, "convolution", text, true,
                       precision);
}

// Of a transposed convolution: odd rows, channels that fill no tile, and what
// is loaded beside sums.
NVRTC_TEST(ShippedFamiliesTest, TilesOfTwoPhasesCompile) {
  ConvolutionText text;
  text.batch = 16;
  text.inChannels = 48;
  text.outChannels = 72;
  text.axes = {{100, 3, 1, 1, 2, 2, 2}, {100, 3, 1, 1, 2, 2, 2}};
  text.operands = {{"residual", "noyx"}};
  text.tail = "%v = arith.addf %x, %residual32 : f32";
  compileInstances(FASTK_FAMILIES_DIR, "convolution", text.str(), true, "ieee",
                   "#define JOIN 1");
  text.type = text.result = "f32";
  compileInstances(FASTK_FAMILIES_DIR, "convolution", text.str(), true, "tf32",
                   "#define JOIN 1");
}

// Random ones, and all kinds among them.
NVRTC_TEST(ShippedFamiliesTest, APlainProgramOfConvolutionsCompiles) {
  for (uint64_t number = 0; number < 12; ++number)
    compileInstances(FASTK_TEST_FAMILIES_DIR, "convolution",
                     sampleConvolution(5, number).text.str(), true);
}
