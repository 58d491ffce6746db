//===- ScheduleRunTest.cpp - The catalog's schedules are right ------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every schedule for a golden input is compiled the way a variant is, run and
// compared with the oracle of the same lowering.
//
//===----------------------------------------------------------------------===//

#include "../../../lib/Propose/Catalog/Schedules.h"
#include "../../Conversion/CodegenFixture.h"
#include "fastk/Analysis/CanonicalForm.h"
#include "fastk/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FormatVariadic.h"
#include <random>
#include <set>

using namespace mlir;
using namespace fastk;
using namespace fastk::test;

namespace {
struct ScheduleRunTest : CodegenFixture {
  /// Values of the operand's own type in [0.1, 1.1): none is divided by zero.
  static std::vector<char> draw(RankedTensorType type, unsigned seed) {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<float> distribution(0.1f, 1.1f);
    int64_t count = type.getNumElements();
    unsigned bytes = type.getElementTypeBitWidth() / 8;
    std::vector<char> data(count * bytes);
    for (int64_t i = 0; i < count; ++i) {
      float value = distribution(generator);
      _Float16 half = static_cast<_Float16>(value);
      std::memcpy(&data[i * bytes],
                  bytes == 2 ? static_cast<void *>(&half) : &value, bytes);
    }
    return data;
  }

  /// Compiles, runs and returns the first result as doubles.
  std::vector<double> runLowering(LoweringOp lowering, KernelRole role) {
    auto module = compileKernel(lowering, role, "kernel", llvmContext, target);
    if (failed(module))
      return {};
    void *library = load(**module);
    void *entry = library ? dlsym(library, "kernel") : nullptr;
    if (!entry)
      return {};
    FunctionType type = lowering.getWorkloadType();
    std::vector<std::vector<char>> buffers;
    std::vector<const void *> inputs;
    for (auto [i, operand] : llvm::enumerate(type.getInputs()))
      buffers.push_back(draw(cast<RankedTensorType>(operand), i + 1));
    for (auto &buffer : buffers)
      inputs.push_back(buffer.data());
    auto result = cast<RankedTensorType>(type.getResult(0));
    unsigned bytes =
        role == KernelRole::Oracle ? 8 : result.getElementTypeBitWidth() / 8;
    std::vector<char> out(result.getNumElements() * bytes, 0x7f);
    Kernel(entry).run(inputs, {out.data()});
    std::vector<double> values;
    for (int64_t i = 0; i < result.getNumElements(); ++i) {
      const char *at = &out[i * bytes];
      if (bytes == 8) {
        values.push_back(*reinterpret_cast<const double *>(at));
      } else if (bytes == 4) {
        values.push_back(*reinterpret_cast<const float *>(at));
      } else {
        _Float16 half;
        std::memcpy(&half, at, 2);
        values.push_back(static_cast<float>(half));
      }
    }
    return values;
  }

  /// Every schedule of the only workload of `text`, by its numbers; `bound` is
  /// the largest error relative to the largest value.
  void check(llvm::StringRef text, const char *parameter, double bound) {
    auto module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module);
    PassManager passes(&context);
    passes.addPass(createFastkFormWorkloadsPass());
    ASSERT_TRUE(succeeded(passes.run(*module)));
    SmallVector<WorkloadOp> workloads;
    module->walk([&](WorkloadOp op) { workloads.push_back(op); });
    ASSERT_EQ(workloads.size(), 1u);
    auto form = computeCanonicalForm(workloads.front());
    ASSERT_TRUE(succeeded(form));
    OwningOpRef<ModuleOp> holder = ModuleOp::create(module->getLoc());
    OpBuilder builder = OpBuilder::atBlockEnd(holder->getBody());
    auto built = buildDefaultLowering(builder, *form, "host");
    ASSERT_TRUE(succeeded(built));
    LoweringOp lowering = *built;
    std::vector<double> want = runLowering(lowering, KernelRole::Oracle);
    ASSERT_FALSE(want.empty());
    double scale = 0;
    for (double value : want)
      scale = std::max(scale, std::fabs(value));
    catalog::Machine machine;
    machine.vectorBytes = target.vectorBytes;
    machine.threads = 2;
    std::set<std::string> texts;
    for (int64_t choice = 0; choice < catalog::kScheduleChoices; ++choice) {
      auto schedule = catalog::emitSchedule(*lowering.getPatternBlock(),
                                            machine, {{"tile", choice}});
      ASSERT_FALSE(schedule.text.empty());
      EXPECT_TRUE(schedule.parameters.count(parameter));
      if (!texts.insert(schedule.text).second)
        continue;
      SCOPED_TRACE(schedule.text);
      lowering.setLanguage(Language::schedule);
      lowering.setFile("schedule.mlir");
      lowering.setSource(schedule.text);
      std::string said;
      ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
        said += diagnostic.str().substr(0, 500) + "\n";
        return success();
      });
      std::vector<double> got = runLowering(lowering, KernelRole::Program);
      ASSERT_EQ(got.size(), want.size()) << said;
      EXPECT_EQ(said, "");
      for (size_t i = 0; i < want.size(); ++i)
        ASSERT_LE(std::fabs(got[i] - want[i]), bound * scale) << "at " << i;
    }
    EXPECT_GE(texts.size(), 2u) << "the numbers change nothing";
  }

  void checkGolden(llvm::StringRef name, const char *parameter, double bound) {
    SCOPED_TRACE(name.str());
    auto text =
        llvm::MemoryBuffer::getFile(FASTK_GOLDEN_DIR "/" + name + ".mlir");
    ASSERT_TRUE(bool(text));
    check((*text)->getBuffer(), parameter, bound);
  }
};
} // namespace

TEST_F(ScheduleRunTest, Softmax) { checkGolden("softmax_small", "rows", 1e-6); }

TEST_F(ScheduleRunTest, LayerNorm) {
  checkGolden("layernorm_4096_small", "rows", 2e-5);
}

TEST_F(ScheduleRunTest, Convolution) {
  checkGolden("conv3x3_small", "channels", 1e-5);
}

TEST_F(ScheduleRunTest, HalfPrecisionProduct) {
  checkGolden("matmul_f16_small", "mr", 1e-3);
}

TEST_F(ScheduleRunTest, Product) {
  checkGolden("linear_gelu_small", "mr", 1e-5);
}

/// A chain with a broadcast, a value that is used twice and a function, on
/// ranks of one to three.
TEST_F(ScheduleRunTest, ElementwiseChains) {
  const char *chain = R"(
    func.func @f(%x: tensor<{0}xf32>, %b: tensor<{1}xf32>) -> tensor<{0}xf32> {{
      %e = tensor.empty() : tensor<{0}xf32>
      %one = arith.constant 1.0 : f32
      %s = linalg.generic {{indexing_maps = [{2}, {3}, {2}], iterator_types = [{4}]}
        ins(%x, %b : tensor<{0}xf32>, tensor<{1}xf32>) outs(%e : tensor<{0}xf32>) {{
      ^bb0(%a: f32, %c: f32, %o: f32):
        %0 = arith.addf %a, %c : f32
        linalg.yield %0 : f32
      } -> tensor<{0}xf32>
      %g = linalg.generic {{indexing_maps = [{2}, {2}], iterator_types = [{4}]}
        ins(%s : tensor<{0}xf32>) outs(%e : tensor<{0}xf32>) {{
      ^bb0(%a: f32, %o: f32):
        %0 = math.exp %a : f32
        %1 = arith.addf %0, %one : f32
        linalg.yield %1 : f32
      } -> tensor<{0}xf32>
      %r = linalg.generic {{indexing_maps = [{2}, {2}, {2}], iterator_types = [{4}]}
        ins(%s, %g : tensor<{0}xf32>, tensor<{0}xf32>) outs(%e : tensor<{0}xf32>) {{
      ^bb0(%a: f32, %c: f32, %o: f32):
        %0 = arith.divf %a, %c : f32
        linalg.yield %0 : f32
      } -> tensor<{0}xf32>
      return %r : tensor<{0}xf32>
    })";
  struct Case {
    const char *shape, *last, *map, *broadcast, *iterators;
  };
  const Case cases[] = {
      {"960", "960", "affine_map<(i) -> (i)>", "affine_map<(i) -> (i)>",
       "\"parallel\""},
      {"6x96", "96", "affine_map<(i, j) -> (i, j)>",
       "affine_map<(i, j) -> (j)>", "\"parallel\", \"parallel\""},
      {"3x5x64", "64", "affine_map<(i, j, k) -> (i, j, k)>",
       "affine_map<(i, j, k) -> (k)>",
       "\"parallel\", \"parallel\", \"parallel\""},
  };
  for (const Case &c : cases)
    check(llvm::formatv(chain, c.shape, c.last, c.map, c.broadcast, c.iterators)
              .str(),
          "unroll", 1e-6);
}
