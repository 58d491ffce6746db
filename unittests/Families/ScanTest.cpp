//===- ScanTest.cpp - Workloads of prefixes of rows -----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/Scan.h"
#include "Matched.h"
#include "fastk/Families/Samples.h"
#include "fastk/Families/ScanText.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::families;
using namespace fastk::test;
using testing::HasSubstr;

using MatchedScan = Matched<ScanText, matchScan>;

TEST(ScanTest, SumsOfRows) {
  MatchedScan matched((ScanText()));
  ASSERT_TRUE(matched.core) << matched.why;
  EXPECT_EQ(matched.core->rowCount, 8);
  EXPECT_EQ(matched.core->columnCount, 64);
  ASSERT_EQ(matched.core->loads.size(), 1u);
  EXPECT_TRUE(matched.core->loads[0].isOnce);
  EXPECT_TRUE(matched.core->finishLoads.empty());
  std::string header = matched.header();
  for (const char *line :
       {"#define ROWS 8\n", "#define COLUMNS 64\n", "#define COLUMN_VECTOR 4\n",
        "#define COLUMNS_ADJACENT 1\n", "#define READ_BYTES 4\n",
        "#define VALUE_BYTES 4\n", "#define SUM_BYTES 4\n",
        "typedef float Sum;\n", "= a + b;\n", "return 0; }"})
    EXPECT_THAT(header, HasSubstr(line));
}

TEST(ScanTest, ColumnsAreCountedFromTheBack) {
  ScanText text;
  text.isReversed = true;
  MatchedScan matched(text);
  ASSERT_TRUE(matched.core) << matched.why;
  std::string header = matched.header();
  EXPECT_THAT(header, HasSubstr("#define COLUMN_VECTOR 4\n"));
  EXPECT_THAT(header, HasSubstr("#define COLUMNS_ADJACENT 1\n"));
  EXPECT_THAT(header, HasSubstr(".l0 = x[3 - k];"));
  EXPECT_THAT(header, HasSubstr("results[COLUMN_VECTOR - 1 - j] = "));
}

TEST(ScanTest, TheFirstElementMayBeNeutral) {
  ScanText text;
  text.isExclusive = true;
  MatchedScan matched(text);
  ASSERT_TRUE(matched.core) << matched.why;
  ASSERT_EQ(matched.core->loads.size(), 1u);
  EXPECT_EQ(matched.core->loads[0].guards.size(), 1u);
  EXPECT_THAT(matched.header(), HasSubstr(" >= 1) loadTogether<1, false>(in0"));
}

TEST(ScanTest, RowsMayLieTogether) {
  ScanText text;
  text.along = 'r';
  MatchedScan matched(text);
  ASSERT_TRUE(matched.core) << matched.why;
  EXPECT_EQ(matched.core->rowCount, 64);
  EXPECT_EQ(matched.core->columnCount, 8);
  EXPECT_THAT(matched.header(), HasSubstr("#define COLUMNS_ADJACENT 0\n"));
}

TEST(ScanTest, WhatBecomesOfAPrefixHasLoadsOfItsOwn) {
  ScanText text;
  text.finishOperands = {{"bias", "r"}};
  text.finishLines = "    %z = arith.addf %y, %bias : f32\n";
  text.finishValue = "%z";
  text.combiner = "arith.maximumf";
  text.neutral = "0xFF800000";
  MatchedScan matched(text);
  ASSERT_TRUE(matched.core) << matched.why;
  EXPECT_EQ(matched.core->kind, catalog::CombinerKind::Max);
  EXPECT_EQ(matched.core->loads.size(), 1u);
  EXPECT_EQ(matched.core->finishLoads.size(), 1u);
  EXPECT_THAT(matched.header(), HasSubstr("#define READ_BYTES 4\n"));
}

TEST(ScanTest, EverySampleIsOne) {
  for (uint64_t number = 0; number < 120; ++number) {
    ScanSample sample = sampleScan(1, number);
    MatchedScan matched(sample.text);
    ASSERT_TRUE(matched.core) << sample.about << ": " << matched.why << "\n"
                              << sample.text.str();
    EXPECT_EQ(matched.core->rowCount * matched.core->columnCount,
              sample.text.elements(sample.text.dims));
    EXPECT_EQ(matched.core->columnCount,
              sample.text.extents.at(sample.text.along));
    EXPECT_THAT(matched.header(), HasSubstr("#define ROWS ")) << sample.about;
  }
}

TEST(ScanTest, EveryKindIsAmongThoseOfAnAdmission) {
  for (uint64_t seed : {0, 1, 2}) {
    std::string all;
    for (uint64_t number = 0; number < 60; ++number) {
      ScanSample sample = sampleScan(seed, number);
      all += sample.about + "\n";
      EXPECT_LE(sample.text.elements(sample.text.dims), kMaxSampleElements);
    }
    for (const char *kind :
         {"sum of ", "product of ", "maximum of ", "minimum of ", " f32 ",
          " f16 ", " bf16 ", ", from the back", ", exclusive", " along r",
          " along c", ", plus ", "result f16", "result bf16", "b "})
      EXPECT_THAT(all, HasSubstr(kind)) << seed;
  }
}

TEST(ScanErrorsTest, WhatScansNothing) {
  MatchedScan matched(R"(
    func.func @f(%a: tensor<64xf32>) -> tensor<64xf32> {
      %e = tensor.empty() : tensor<64xf32>
      %r = linalg.negf ins(%a : tensor<64xf32>) outs(%e : tensor<64xf32>) -> tensor<64xf32>
      return %r : tensor<64xf32>
    })");
  EXPECT_FALSE(matched.core);
  EXPECT_EQ(matched.why, "it scans nothing");
}

static std::string scanWith(const std::string &body, const char *inclusive,
                            const std::string &type = "f32") {
  std::string row = "tensor<8x" + type + ">", last = "tensor<" + type + ">";
  return "func.func @f(%a: " + row + ", %o: " + row + ", %s: " + last +
         ") -> " + row + " {\n  %r:2 = tm_tensor.scan dimension(0) inclusive(" +
         inclusive + ") ins(%a : " + row + ") outs(%o, %s : " + row + ", " +
         last + ") {\n  ^bb0(%x: " + type + ", %y: " + type + "):\n" + body +
         "    tm_tensor.yield %z : " + type + "\n  } -> " + row + ", " + last +
         "\n  return %r#0 : " + row + "\n}\n";
}

TEST(ScanErrorsTest, WhatCombinesByMoreThanOneOp) {
  std::string body = "    %n = arith.negf %x : f32\n"
                     "    %z = arith.addf %n, %y : f32\n";
  MatchedScan matched(scanWith(body, "true"));
  EXPECT_FALSE(matched.core);
  EXPECT_EQ(matched.why, "its scan is not inclusive, or by more than one op");
}

TEST(ScanErrorsTest, WhatIsNotInclusive) {
  MatchedScan matched(scanWith("    %z = arith.addf %x, %y : f32\n", "false"));
  EXPECT_FALSE(matched.core);
  EXPECT_EQ(matched.why, "its scan is not inclusive, or by more than one op");
}

TEST(ScanErrorsTest, WhatHasNarrowPrefixes) {
  MatchedScan matched(
      scanWith("    %z = arith.addi %x, %y : i8\n", "true", "i8"));
  EXPECT_FALSE(matched.core);
  EXPECT_THAT(matched.why, HasSubstr("no number of 32 or 64 bits"));
}
