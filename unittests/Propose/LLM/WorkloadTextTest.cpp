//===- WorkloadTextTest.cpp - Workloads in words --------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WorkloadText.h"
#include "LLMTestUtils.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::llm;
using testing::AllOf;
using testing::HasSubstr;

namespace {

test::Request golden(llvm::StringRef name) {
  return test::Request::golden(name, test::gpuTarget());
}

TEST(WorkloadTextTest, AConvolution) {
  test::Request request = golden("conv2d");
  EXPECT_THAT(describeKind(request.features),
              AllOf(HasSubstr("2-D convolution: batch 100, 3 input channels, "
                              "96 output channels, kernel 11 x 11, stride 4 x "
                              "4, padding 2 x 2"),
                    HasSubstr("302500 pixels x 96 channels, sums of 363")));
  std::string buffers = describeBuffers(request.workload, request.features);
  EXPECT_THAT(buffers, AllOf(HasSubstr("in0: f32[100, 3, 224, 224], 60.2 MB"),
                             HasSubstr("out0: f32[100, 96, 55, 55], 116 MB")));
  std::string loops = describeLoops(request.workload);
  EXPECT_THAT(loops, AllOf(HasSubstr("padded by low [0, 0, 2, 2] and high [0, "
                                     "0, 2, 2] with 0"),
                           HasSubstr("reduced over d4 < 3, d5 < 11, d6 < 11"),
                           HasSubstr("t1[d0, d4, d2 * 4 + d5, d3 * 4 + d6]")));
  EXPECT_THAT(printPattern(request.workload, 8000),
              AllOf(HasSubstr("tensor.pad %arg0"), HasSubstr("fastk.yield")));
}

TEST(WorkloadTextTest, AMatrixProduct) {
  test::Request request = golden("linear_gelu_small");
  EXPECT_THAT(describeKind(request.features),
              AllOf(HasSubstr("A matrix product of"), HasSubstr("Then: bias")));
  EXPECT_THAT(describeLoops(request.workload), HasSubstr("erf("));
}

TEST(WorkloadTextTest, AMaskUnderIndices) {
  std::string loops =
      describeLoops(golden("attention_causal_f16_small").workload);
  EXPECT_THAT(loops, AllOf(HasSubstr("-inf"), HasSubstr("exp("),
                           HasSubstr("f32(in0[")));
}

/// Of any workload: results are computed, what is used was said before.
TEST(WorkloadTextTest, EveryGoldenWorkload) {
  for (const std::string &path : test::smallGoldenInputs())
    for (test::Module &module : test::formWorkloads(path)) {
      test::Request request(*module, test::gpuTarget());
      std::string loops = describeLoops(request.workload);
      std::set<std::string> known;
      unsigned inputs = request.workload.getWorkloadType().getNumInputs();
      for (unsigned i = 0; i < inputs; ++i)
        known.insert("in" + std::to_string(i));
      llvm::StringRef rest = loops;
      while (!rest.empty()) {
        auto [line, next] = rest.split('\n');
        rest = next;
        // Tensors and results: a letter or "out", then digits.
        for (size_t at = 0; at < line.size(); ++at) {
          bool isStart =
              at == 0 || !(llvm::isAlnum(line[at - 1]) || line[at - 1] == '_' ||
                           line[at - 1] == '.');
          llvm::StringRef word = line.substr(at).take_while(llvm::isAlnum);
          if (!isStart || word.empty())
            continue;
          llvm::StringRef digits = word;
          bool isTensor =
              digits.consume_front("out") || digits.consume_front("t");
          if (!isTensor || digits.empty() ||
              !llvm::all_of(digits, llvm::isDigit))
            continue;
          if (line.substr(at + word.size()).starts_with(":"))
            known.insert(word.str());
          EXPECT_TRUE(known.count(word.str()))
              << path << ": " << word.str() << " in\n"
              << loops;
        }
      }
      for (unsigned i = 0;
           i < request.workload.getWorkloadType().getNumResults(); ++i)
        EXPECT_THAT(loops, HasSubstr("out" + std::to_string(i))) << path;
      EXPECT_FALSE(describeKind(request.features).empty());
      EXPECT_THAT(printPattern(request.workload, 100000),
                  HasSubstr("fastk.yield"));
    }
}

TEST(WorkloadTextTest, LongIRIsCutAtALine) {
  std::string text = printPattern(golden("conv2d").workload, 300);
  EXPECT_THAT(text, testing::EndsWith("\n... (cut)\n"));
  EXPECT_LT(text.size(), 320u);
}

} // namespace
