//===- FlashInferTest.cpp - Definitions of FlashInfer-Bench ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Export/Writers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace fastk;
using testing::ElementsAre;
using testing::HasSubstr;

/// The order of keys is the interface, and no key's text may mislead.
static const char kDefinition[] = R"({
  "description": "\"inputs\": {\"x\": 1}",
  "name": "gemm_n8",
  "axes": {"inputs": {"type": "var"}, "N": {"type": "const", "value": 8}},
  "inputs": {
    "Z": {"shape": ["inputs", "N"], "dtype": "float16"},
    "A": {"shape": ["inputs", "N"], "dtype": "float16"}
  },
  "outputs": {"C": {"shape": ["inputs", "N"], "dtype": "float16"}},
  "reference": "def run(Z, A):\n    return Z + A\n"
})";

TEST(FlashInfer, ReadsTensorsInTheirOrder) {
  llvm::Expected<FlashInferDefinition> definition =
      readFlashInferDefinition(kDefinition);
  ASSERT_TRUE(bool(definition)) << llvm::toString(definition.takeError());
  EXPECT_EQ(definition->name, "gemm_n8");
  EXPECT_THAT(definition->inputs, ElementsAre("Z", "A"));
  EXPECT_THAT(definition->outputs, ElementsAre("C"));
}

TEST(FlashInfer, SaysWhatADefinitionLacks) {
  for (auto [text, what] :
       {std::pair("[1]", "has no 'name'"),
        std::pair(R"({"name": "x"})", "has no 'reference'"),
        std::pair(R"({"name": "x", "reference": "r"})", "has no 'inputs'"),
        std::pair(R"({"name": "x", "reference": "r", "inputs": {}})",
                  "has no 'inputs'"),
        std::pair("{", "")}) {
    llvm::Expected<FlashInferDefinition> definition =
        readFlashInferDefinition(text);
    ASSERT_FALSE(bool(definition)) << text;
    EXPECT_THAT(llvm::toString(definition.takeError()), HasSubstr(what));
  }
}

/// A winner of two operands, which the model hands over the other way round.
static LaunchRecipe recipe() {
  LaunchRecipe recipe;
  recipe.module = "sub_12345678";
  recipe.key = std::string(64, '1');
  recipe.chip = "sm_90a";
  recipe.title = "A \"title\"";
  recipe.inputs = {{worker::ElementType::F16, {64}},
                   {worker::ElementType::F16, {64}}};
  recipe.outputs = {{worker::ElementType::F16, {64}}};
  recipe.code = "extern \"C\" __global__ void sub(void *, void *, void *) {}\n";
  worker::Launch launch;
  launch.kernel = "sub";
  recipe.plan.steps = {launch};
  return recipe;
}

static ModelFit fit() {
  ModelFit fit;
  for (size_t i = 0; i < 2; ++i)
    fit.arguments.push_back(
        {ModelArgument::Role::Input, "x", i, std::vector<int64_t>{8, 8}});
  fit.operands = {{1, std::vector<int64_t>{64}}, {0, std::vector<int64_t>{64}}};
  fit.results = {{0, std::vector<int64_t>{8, 8}}};
  return fit;
}

TEST(FlashInfer, HandsOverByTheOrderOfTheModel) {
  auto files = writeFlashInfer(recipe(), fit(), {"sub", {"A", "B"}, {"C"}});
  ASSERT_TRUE(bool(files)) << llvm::toString(files.takeError());
  ASSERT_EQ(files->size(), 1u);
  EXPECT_EQ(files->front().path, "sub_12345678.json");
  const std::string &text = files->front().text;
  EXPECT_THAT(text, HasSubstr("\"entry_point\": \"binding.cpp::run\""));
  EXPECT_THAT(text, HasSubstr("inputs[] = {in1.data_ptr(), in0.data_ptr(), }"));
  EXPECT_THAT(text, HasSubstr("check(in1, \\\"B\\\", {8, 8}, "
                              "DLDataType{kDLFloat, 16, 1}, device)"));
  EXPECT_THAT(text, HasSubstr("TVM_FFI_CUDA_ARCH_LIST=9.0a"));
}

TEST(FlashInfer, RefusesOtherTensorsThanTheDefinitionHas) {
  for (const FlashInferDefinition &definition :
       {FlashInferDefinition{"sub", {"A"}, {"C"}},
        FlashInferDefinition{"sub", {"A", "B"}, {"C", "D"}}}) {
    auto files = writeFlashInfer(recipe(), fit(), definition);
    ASSERT_FALSE(bool(files));
    EXPECT_THAT(llvm::toString(files.takeError()), HasSubstr("Definition"));
  }
}
