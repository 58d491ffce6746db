//===- CudaCatalogTest.cpp - The catalog proposes what compiles for a GPU -===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every workload of every golden input is searched for two rounds and a sweep,
// as if every variant had passed, and one variant in four is compiled to PTX:
// all of them where FASTK_ALL_VARIANTS is set, two minutes and a half of one
// core. What runs right and how fast is seen on a GPU
// (docs/benchmarks/h200-catalog.md).
//
//===----------------------------------------------------------------------===//

#include "../../Analysis/WorkloadFixture.h"
#include "../../LibdeviceNeed.h"
#include "../GpuRequest.h"
#include "../ProposerTestUtils.h"

#include "fastk/Analysis/Roofline.h"
#include "fastk/Analysis/WorkloadKind.h"
#include "fastk/Conversion/CudaCodegen.h"
#include "fastk/Cuda/Nvrtc.h"
#include "fastk/Dialect/Fastk/PlanRegion.h"
#include "fastk/Propose/Proposer.h"
#include "fastk/Target/DeviceDescription.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"
#include <cstdlib>
#include <set>

using namespace fastk;
using namespace fastk::test;

namespace {
struct CudaCatalogTest : testing::Test {
  static void SetUpTestSuite() {
    mlir::DialectRegistry registry;
    registerHostCodegen(registry);
    registerCudaCodegen(registry);
    test::context().appendDialectRegistry(registry);
    test::context().loadAllAvailableDialects();
  }

  static CudaTarget target() { return *CudaTarget::parse("cuda:sm_90a"); }

  /// Compiles the variant; the first error, or nothing.
  static std::string compile(GpuRequest &request, const Variant &variant) {
    Module module =
        mlir::ModuleOp::create(mlir::UnknownLoc::get(&test::context()));
    mlir::OpBuilder builder = mlir::OpBuilder::atBlockEnd(module->getBody());
    auto lowering =
        mlir::cast<LoweringOp>(builder.clone(*request.workload.getOperation()));
    lowering.setLanguage(variant.language);
    lowering.setFile("schedule.mlir");
    lowering.setSource(llvm::StringRef(variant.program));
    std::string error;
    mlir::ScopedDiagnosticHandler keep(
        &test::context(), [&](mlir::Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error &&
              error.empty())
            error = diagnostic.str();
          return mlir::success();
        });
    auto program = compileDeviceKernel(lowering, KernelRole::Program, target());
    if (mlir::failed(program))
      return error.empty() ? "failed without a word" : error;
    mlir::FunctionType type = lowering.getWorkloadType();
    std::vector<std::string> problems = worker::verifyLaunchPlan(
        program->plan, bufferBytes(type.getInputs()),
        bufferBytes(type.getResults()), target().limits);
    return problems.empty() ? "" : problems.front();
  }

  static void expectCompiles(GpuRequest &request, const Variant &variant) {
    EXPECT_EQ(compile(request, variant), "") << variant.ideaId << "\n"
                                             << variant.program;
  }

  /// Workloads of a golden input, each key once in all.
  static std::vector<std::unique_ptr<GpuRequest>>
  requestsOf(llvm::StringRef path) {
    static std::set<std::string> seen;
    std::vector<std::unique_ptr<GpuRequest>> requests;
    for (Module &module : formWorkloads(path)) {
      auto request = std::make_unique<GpuRequest>(*module);
      if (seen.insert(request->form.key).second)
        requests.push_back(std::move(request));
    }
    return requests;
  }

  static std::vector<std::string> goldenInputs() {
    std::vector<std::string> paths;
    std::error_code error;
    for (llvm::sys::fs::directory_iterator it(FASTK_GOLDEN_DIR, error), end;
         it != end && !error; it.increment(error))
      if (llvm::StringRef(it->path()).ends_with(".mlir"))
        paths.push_back(it->path());
    llvm::sort(paths);
    return paths;
  }

  static std::unique_ptr<GpuRequest> golden(const char *name) {
    std::vector<Module> modules =
        formWorkloads(std::string(FASTK_GOLDEN_DIR "/") + name);
    return modules.empty() ? nullptr
                           : std::make_unique<GpuRequest>(*modules.front());
  }
};
} // namespace

FASTK_TEST_F_IF(libdeviceNeed(), CudaCatalogTest,
                VariantsOfEveryGoldenInputCompile) {
  const bool all = std::getenv("FASTK_ALL_VARIANTS");
  size_t workloads = 0, proposed = 0, compiled = 0;
  for (const std::string &path : goldenInputs())
    for (auto &request : requestsOf(path)) {
      SCOPED_TRACE(llvm::sys::path::filename(path).str() + " " +
                   request->features.name);
      ++workloads;
      Variant plain;
      plain.language = Language::generic;
      EXPECT_EQ(compile(*request, plain), "");
      auto proposer = createCatalogProposer();
      std::vector<std::string> seen;
      auto take = [&](std::vector<Variant> variants, int round) {
        for (const Variant &variant : variants) {
          EXPECT_EQ(variant.language, Language::schedule);
          EXPECT_FALSE(variant.parameters.empty()) << variant.ideaId;
          if (proposed++ % 4 == 0 || all) {
            expectCompiles(*request, variant);
            ++compiled;
          }
          EXPECT_FALSE(llvm::is_contained(seen, variant.program))
              << variant.ideaId << " repeats a program";
          seen.push_back(variant.program);
          request->add(variant, round);
        }
      };
      for (int round = 1; round <= 2; ++round) {
        auto ideas = ideasOf(*proposer, request->context(), round == 1 ? 6 : 3);
        ASSERT_TRUE(bool(ideas));
        EXPECT_TRUE(round > 1 || !ideas->empty()) << "no idea";
        for (const Idea &idea : *ideas) {
          EXPECT_GT(idea.text.size(), 80u) << idea.id << ": say why";
          auto variants = variantsOf(*proposer, request->context(), idea, 1);
          ASSERT_TRUE(bool(variants));
          EXPECT_FALSE(variants->empty()) << idea.id;
          take(std::move(*variants), round);
        }
        if (!request->history.empty())
          request->parents = {request->history.front()};
      }
      ASSERT_FALSE(request->history.empty());
      auto next = proposer->neighbours(request->context(),
                                       request->history.front().variant, 3);
      ASSERT_TRUE(bool(next));
      take(std::move(*next), 3);
    }
  EXPECT_GE(workloads, 60u);
  EXPECT_GE(proposed, workloads * 5);
  EXPECT_GE(compiled, workloads);
}

/// The schedules of loops are proposed last: here all of them.
FASTK_TEST_F_IF(libdeviceNeed(), CudaCatalogTest, EveryMappedScheduleCompiles) {
  size_t scheduled = 0;
  std::set<std::string> seen;
  for (const std::string &path : goldenInputs())
    for (Module &module : formWorkloads(path)) {
      GpuRequest request(*module);
      if (!seen.insert(request.form.key).second)
        continue;
      SCOPED_TRACE(llvm::sys::path::filename(path).str() + " " +
                   request.features.name);
      Idea idea;
      idea.id = "catalog/mapped-loops";
      auto variants =
          variantsOf(*createCatalogProposer(), request.context(), idea, 4);
      ASSERT_TRUE(bool(variants));
      scheduled += !variants->empty();
      for (const Variant &variant : *variants)
        expectCompiles(request, variant);
    }
  EXPECT_GE(scheduled, 20u);
}

TEST_F(CudaCatalogTest, FirstIdeasFitWhatTheKernelsAre) {
  struct Case {
    const char *input, *idea;
  };
  for (Case c : {Case{"softmax_4096.mlir", "catalog/values-of-a-row"},
                 Case{"matmul_1024_f32.mlir", "catalog/tile-of-threads"},
                 Case{"matmul_f16.mlir", "catalog/tile-of-a-warp"}}) {
    auto request = golden(c.input);
    ASSERT_TRUE(request);
    auto ideas = ideasOf(*createCatalogProposer(), request->context(), 6);
    ASSERT_TRUE(bool(ideas));
    ASSERT_GE(ideas->size(), 4u) << c.input;
    EXPECT_EQ(ideas->front().id, c.idea);
    // More than one way to see it.
    std::set<IdeaCategory> categories;
    for (const Idea &idea : *ideas)
      categories.insert(idea.category);
    EXPECT_GE(categories.size(), 3u) << c.input;
  }
}

TEST_F(CudaCatalogTest, NothingDependsOnWhatWasAskedBefore) {
  auto request = golden("layernorm_4096.mlir");
  ASSERT_TRUE(request);
  auto used = createCatalogProposer();
  auto first = ideasOf(*used, request->context(), 6);
  ASSERT_TRUE(bool(first));
  for (const Idea &idea : *first) {
    auto variants = variantsOf(*used, request->context(), idea, 2);
    ASSERT_TRUE(bool(variants));
    for (const Variant &variant : *variants)
      request->add(variant, 1);
  }
  request->parents = {request->history.front()};
  auto fresh = createCatalogProposer();
  auto a = ideasOf(*used, request->context(), 6),
       b = ideasOf(*fresh, request->context(), 6);
  ASSERT_TRUE(bool(a) && bool(b));
  ASSERT_EQ(a->size(), b->size());
  bool refines = false;
  for (auto [x, y] : llvm::zip_equal(*a, *b)) {
    EXPECT_EQ(x.id, y.id);
    refines |= x.id.find("/of/") != std::string::npos;
    auto one = variantsOf(*used, request->context(), x, 2),
         two = variantsOf(*fresh, request->context(), y, 2);
    ASSERT_TRUE(bool(one) && bool(two));
    ASSERT_EQ(one->size(), two->size());
    for (auto [v, w] : llvm::zip_equal(*one, *two))
      EXPECT_EQ(v.program, w.program);
  }
  EXPECT_TRUE(refines);
}

TEST_F(CudaCatalogTest, NeighboursKeepTheRulesOfTheTarget) {
  auto request = golden("matmul_f16.mlir");
  ASSERT_TRUE(request);
  auto proposer = createCatalogProposer();
  auto ideas = ideasOf(*proposer, request->context(), 1);
  ASSERT_TRUE(bool(ideas));
  auto variants = variantsOf(*proposer, request->context(), ideas->front(), 1);
  ASSERT_TRUE(bool(variants));
  ASSERT_FALSE(variants->empty());
  auto next = proposer->neighbours(request->context(), variants->front(), 24);
  ASSERT_TRUE(bool(next));
  EXPECT_GE(next->size(), 6u);
  for (const Variant &variant : *next) {
    std::map<std::string, int64_t> choices(variant.parameters);
    EXPECT_TRUE(mlir::succeeded(
        planDeviceKernels(request->workload, target(), choices)));
    EXPECT_NE(variant.program, variants->front().program);
  }
}

TEST_F(CudaCatalogTest, IdeasOfOthersAreRefused) {
  auto request = golden("softmax_4096.mlir");
  ASSERT_TRUE(request);
  Idea foreign;
  foreign.id = "files/mine";
  auto variants =
      variantsOf(*createCatalogProposer(), request->context(), foreign, 1);
  ASSERT_FALSE(bool(variants));
  EXPECT_NE(llvm::toString(variants.takeError()).find("files/mine"),
            std::string::npos);
}
