//===- FastFunctionsTest.cpp - Functions where rounding hides errors ------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaOnHost.h"
#include "MatchedPointwise.h"
#include "MatchedText.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::families;
using namespace fastk::test;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// A product of f32 with a function of its sums.
static CoreInstance productOf(const std::string &tail,
                              const std::string &operands = "f32") {
  ContractionText text;
  text.type = operands;
  text.result = "f32";
  text.tail = tail;
  MatchedText matched(text);
  std::string why;
  return *describeCore(*matched.core, why);
}

TEST(FastFunctionsTest, SumsThatMayBeRoundedHaveThem) {
  CoreInstance core = productOf("%v = math.tanh %x : f32");
  EXPECT_THAT(core.functions(), IsEmpty());
  acceptClass(core, "tf32");
  EXPECT_THAT(core.functions(), HasSubstr("#define tanhf fastTanh"));
  EXPECT_THAT(core.functions(), Not(HasSubstr("log1pf")));
  acceptClass(core, "half");
  EXPECT_THAT(core.functions(), HasSubstr("#define tanhf fastTanh"));
  // A core is asked in one class after the other.
  acceptClass(core, "ieee");
  EXPECT_THAT(core.functions(), IsEmpty());
}

TEST(FastFunctionsTest, SumsThatAreNotRoundedHaveNone) {
  // Products of halves are exact in f32.
  CoreInstance core = productOf("%v = math.tanh %x : f32", "f16");
  acceptClass(core, "tf32");
  EXPECT_THAT(core.functions(), IsEmpty());
}

/// It is off by a part of 1: what is small is wrong unless 1 is added.
TEST(FastFunctionsTest, AnErfAloneIsExact) {
  const std::string alone = "%v = math.erf %x : f32";
  CoreInstance core = productOf(alone);
  acceptClass(core, "tf32");
  EXPECT_THAT(core.functions(), IsEmpty());
  core = productOf("%one = arith.constant 1.0 : f32\n%e = math.erf %x : f32\n"
                   "%v = arith.addf %one, %e : f32");
  acceptClass(core, "tf32");
  EXPECT_THAT(core.functions(), HasSubstr("#define erff fastErf"));
  ContractionText text;
  text.tail = alone;
  MatchedText matched(text);
  std::string why;
  EXPECT_THAT(describeCore(*matched.core, why)->header,
              Not(HasSubstr("fastErf")));
}

TEST(FastFunctionsTest, Log1pComesWhereItIsCalled) {
  CoreInstance core = productOf("%v = math.log1p %x : f32");
  acceptClass(core, "tf32");
  EXPECT_THAT(core.functions(), HasSubstr("#define log1pf fastLog1p"));
  // Of results of 16 bits it is in the header.
  PointwiseText text;
  text.result = "f16";
  text.lines = "    %n = math.log1p %x : f32\n";
  text.value = "%n";
  MatchedPointwise matched(text);
  ASSERT_TRUE(matched.core) << matched.why;
  EXPECT_THAT(matched.header(), HasSubstr("#define log1pf fastLog1p"));
}

/// With functions of the device that are exact; what those add is judged on it.
TEST(FastFunctionsTest, TheyAreAsExactAsTheySay) {
  CoreInstance core = productOf("%v = math.log1p %x : f32");
  acceptClass(core, "tf32");
  EXPECT_EQ(runFunctions(core.functions(), R"(
static bool isFine(float x, float made, double wanted) {
  const double of = fabs(wanted) > 1 ? fabs(wanted) : 1;
  if (made == (float)wanted || made != made && wanted != wanted || fabs(made - wanted) <= 2e-6 * of)
    return true;
  printf("of %g: %g, not %g\n", x, made, wanted);
  return false;
}
int main() {
  bool fine = true;
  for (int i = -400000; i <= 400000 && fine; ++i) {
    const float x = i / 20000.0f;
    fine = isFine(x, fastExp(x), __builtin_exp(x)) && isFine(x, fastErf(x), __builtin_erf(x)) &&
           isFine(x, fastTanh(x), __builtin_tanh(x)) && isFine(x, fastLog1p(x), __builtin_log1p(x));
  }
  // What is near zero is as exact as it is small.
  for (float x = 1; x > 1e-30f && fine; x *= 0.97f)
    for (int sign = -1; sign <= 1; sign += 2)
      fine = fine && fabs(fastTanh(sign * x) / __builtin_tanh(sign * x) - 1) <= 4e-6 &&
             (x == 1 || fabs(fastLog1p(sign * x) / __builtin_log1p(sign * x) - 1) <= 8e-6);
  const float infinity = __builtin_inff();
  const float special[] = {0.0f, infinity, -infinity, __builtin_nanf(""), -1.0f, -2.0f};
  for (const float x : special) {
    fine = fine && isFine(x, fastErf(x), __builtin_erf(x)) && isFine(x, fastTanh(x), __builtin_tanh(x)) &&
           isFine(x, fastLog1p(x), __builtin_log1p(x)) && isFine(x, fastExp(x), __builtin_exp(x));
  }
  return fine ? 0 : 1;
}
)"),
            "");
}
