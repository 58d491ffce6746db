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

#include "../Cuda/CudaTest.h"
#include "MatchedText.h"
#include "fastk/Cuda/CompileInChild.h"
#include "fastk/Dialect/Fastk/PlanRegion.h"
#include "fastk/Families/Family.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::families;
using namespace fastk::test;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

static std::vector<ContractionText> workloads() {
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
  return list;
}

NVRTC_TEST(ShippedFamiliesTest, InstancesCompile) {
  std::vector<Family> all = llvm::cantFail(readFamilies(FASTK_FAMILIES_DIR));
  ASSERT_FALSE(all.empty());
  std::optional<worker::PlanLimits> limits = planLimitsOf("cuda:sm_90a");
  ASSERT_TRUE(limits);
  for (const ContractionText &text : workloads()) {
    MatchedText matched(text);
    ASSERT_TRUE(matched.core) << matched.why << "\n" << text.str();
    std::string why;
    std::optional<CoreInstance> core = describeCore(*matched.core, why);
    ASSERT_TRUE(core) << why;
    core->multiprocessors = limits->multiprocessors;
    core->sharedBytes = limits->sharedBytes;
    mlir::Block &body = matched.form->getPattern().front();
    std::vector<int64_t> in = bufferBytes(body.getArgumentTypes());
    std::vector<int64_t> out =
        bufferBytes(body.getTerminator()->getOperandTypes());
    for (const Family &family : all) {
      std::vector<Instance> instances = instantiate(family, *core, 3, why);
      EXPECT_FALSE(instances.empty()) << family.name << ": " << why;
      for (const Instance &instance : instances) {
        std::string problem;
        std::optional<worker::LaunchPlan> plan = makePlan(
            instance.plan, readNumbers(instance.program).names, problem);
        ASSERT_TRUE(plan) << problem;
        EXPECT_THAT(worker::verifyLaunchPlan(*plan, in, out, *limits),
                    IsEmpty());
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
  }
}
