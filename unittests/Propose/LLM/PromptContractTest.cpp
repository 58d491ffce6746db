//===- PromptContractTest.cpp - Prompts say what the judge does -----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The numbers of the prompts are those of the rule that the worker judges
// elements by, and what they say of products follows from it.
//
//===----------------------------------------------------------------------===//

#include "Judge/Judge.h"
#include "LLMTestUtils.h"
#include "fastk/Propose/LLM/PromptTemplates.h"
#include "fastk/Protocol/Contract.h"
#include "llvm/Support/FormatVariadic.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::test;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

namespace {

/// The prompt for one program, whole.
std::string promptOf(Precision precision, bool requireDeterministic = false,
                     TargetDescription target = gpuTarget()) {
  Request request = Request::golden("conv2d_small", std::move(target));
  request.precision = precision;
  request.requireDeterministic = requireDeterministic;
  Asking asking{[](const Prompt &) { return said(""); }};
  llvm::cantFail(asking.proposer->realise(
      request.context(),
      {{"llm/1-x", IdeaCategory::MemoryAccess, "Title", "Text"}}, 1));
  return wholeText(asking.model->asked.back());
}

worker::ErrorRule ruleOf(worker::ElementType type) {
  worker::Job job;
  job.inputs.resize(1);
  job.inputs.front().type = type;
  job.outputs.resize(1);
  job.outputs.front().type = type;
  job.outputs.front().shape = {64, 64};
  return worker::errorRuleOf(job, 0, worker::ErrorContext());
}

/// "2^-21" for that number, exactly.
std::string power(double value) {
  int exponent = 0;
  EXPECT_EQ(std::frexp(value, &exponent), 0.5) << value;
  return llvm::formatv("2^{0}", exponent - 1).str();
}

/// Whether an error of `error` in a product of magnitude 1 is in `ieee`.
bool isIeee(double error) {
  worker::ErrorRule rule = ruleOf(worker::ElementType::F32);
  worker::ElementError judged = worker::judgeElement(
      rule, 1 + error, 1, worker::contract::productCondition, 1);
  return judged.error <= judged.ieee;
}

TEST(PromptContract, IeeeHasTheJudgesNumbers) {
  worker::ErrorRule rule = ruleOf(worker::ElementType::F32);
  std::string text = promptOf(Precision::ieee);
  EXPECT_THAT(
      text,
      AllOf(
          HasSubstr("may be\n" + power(rule.ieee) + " k"),
          HasSubstr("f64: " + power(ruleOf(worker::ElementType::F64).ieee)),
          HasSubstr("single product owes " + power(4 * rule.ieee)),
          HasSubstr(llvm::formatv("within {0:f1} of", worker::rowShare).str()),
          HasSubstr("Rows of 32 elements or more")));
  EXPECT_EQ(rule.rows, 1);
  // Three f16 or TF32 terms are in the class, three bf16 terms are not.
  EXPECT_THAT(text, AllOf(HasSubstr("TF32 terms keep 2^-21 and are `ieee`"),
                          HasSubstr("bf16 terms keep 2^-17 and are not")));
  EXPECT_TRUE(isIeee(0x1p-21));
  EXPECT_FALSE(isIeee(0x1p-17));
}

TEST(PromptContract, LooserClassesHaveTheJudgesNumbers) {
  worker::ErrorRule rule = ruleOf(worker::ElementType::F32);
  std::string sum = "(" + power(rule.ieee) + " + " + power(rule.operands) + ")";
  EXPECT_THAT(promptOf(Precision::tf32), HasSubstr("may be " + sum + " k"));
  EXPECT_THAT(
      promptOf(Precision::half),
      AllOf(HasSubstr(sum + " k if that is more"),
            HasSubstr(llvm::formatv("may be {0} (|r|",
                                    llvm::formatv("{0:f2}", rule.half).str())
                          .str())));
}

// Asked about attention in f16, a model once read that P needs two products.
TEST(PromptContract, WhatTheDefinitionKeepsInHalfMayBeRounded) {
  for (Precision precision :
       {Precision::ieee, Precision::tf32, Precision::half})
    EXPECT_THAT(promptOf(precision),
                AllOf(HasSubstr("probabilities P before the second product"),
                      HasSubstr("round it to that type once")));
}

TEST(PromptContract, RulesOfDeviceCodeAreTold) {
  EXPECT_THAT(promptOf(Precision::ieee),
              AllOf(HasSubstr("fence.proxy.async"), HasSubstr("wgmma.fence"),
                    HasSubstr("times as many schedules"),
                    HasSubstr("down to its last subnormal place"),
                    HasSubstr("the sign of a zero")));
}

TEST(PromptContract, TheSameBitsAreRequiredWhereTheyAre) {
  for (const TargetDescription &target : {gpuTarget(), cpuTarget()}) {
    EXPECT_THAT(promptOf(Precision::ieee, false, target),
                AllOf(HasSubstr("or each of its results is within the class"),
                      Not(HasSubstr("must give the same bits"))));
    EXPECT_THAT(promptOf(Precision::ieee, true, target),
                AllOf(HasSubstr("must give the same bits in every call"),
                      Not(HasSubstr("results is within the class"))));
  }
}

TEST(PromptContract, NothingIsLeftOfTheOldOne) {
  PromptTemplates templates = llvm::cantFail(PromptTemplates::load());
  for (const std::string &name : PromptTemplates::names())
    EXPECT_THAT(templates.user(name, {}),
                AllOf(Not(HasSubstr("300 times")),
                      Not(HasSubstr("/ (|r| + mean |r|")),
                      Not(HasSubstr("does not win, however")),
                      Not(HasSubstr("have to pass, follows an mbarrier"))))
        << name;
}

} // namespace
