//===- HostReductionTest.cpp - Reductions of rows in C --------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Headers and instances of reductions, random ones and those with edges, are
// compiled and run: functions of vectors against the same of one lane, and
// results against those of a tree of single columns.
//
//===----------------------------------------------------------------------===//

#include "HostProgram.h"
#include "Matched.h"
#include "fastk/Families/Reduction.h"
#include "fastk/Families/ReductionText.h"
#include "gmock/gmock.h"

using namespace fastk;
using namespace fastk::families;
using namespace fastk::test;
using testing::HasSubstr;
using testing::Not;

using MatchedReduction = Matched<ReductionText, matchReductions>;

/// Random workloads that are run, by each family.
static constexpr uint64_t kSamples = 12;

/// A row by itself: columns one by one, joined in a tree. What stands outside
/// of a main().
static const char *kReference = R"(
static void reference_(const int stage, OPERAND_PARAMETERS, long r, long begin, long end, const struct Statistics *done, struct Statistics *sums) {
  if (end - begin == 1) {
    struct Parts part;
    beginStage(stage, &part);
    addColumns(stage, OPERANDS, r, begin, done, &part, 0, 0, 1);
    joinLanes(stage, &part, sums);
    return;
  }
  const long middle = begin + (end - begin) / 2;
  struct Statistics other;
  reference_(stage, OPERANDS, r, begin, middle, done, sums);
  reference_(stage, OPERANDS, r, middle, end, done, &other);
  joinStatistics(stage, sums, &other);
}
static void rowOf_(OPERAND_PARAMETERS, long r, struct Statistics *done) {
  struct Statistics sums;
  for (int stage = 0; stage < STAGES; ++stage) {
    reference_(stage, OPERANDS, r, 0, COLUMNS, done, &sums);
    endStage(stage, OPERANDS, r, &sums, done);
  }
}
static OUT_TYPE resultOf_(OPERAND_PARAMETERS, OUT_TYPE *out, long r, long c, const struct Statistics *done) {
#if PER_ROW
  finishRow(out, OPERANDS, r, done);
  return out[r];
#else
  finishColumns(out, OPERANDS, r, c, done, 0, 0, 0, 0, 1);
  return out[outOffset(r, c)];
#endif
}
#if PER_ROW
#define PLACE(r, c) (r)
#else
#define PLACE(r, c) outOffset(r, c)
#endif
)";

/// Functions of vectors at random places, each against single lanes.
static const char *kVectors = R"(
  OUT_TYPE *other = calloc(elements + 64, sizeof(OUT_TYPE));
  for (int round = 0; round < 300; ++round) {
    const long r = draw() % ROWS;
    struct Statistics done, sums, single;
    rowOf_(OPERANDS, r, &done);
    for (int stage = 0; stage < STAGES; ++stage) {
      const long want = 1 + draw() % (LANES + 2), c = draw() % COLUMNS, run = addRun(stage), count = min(want, (c / run + 1) * run - c);
      struct Parts part;
      beginStage(stage, &part);
      addColumns(stage, OPERANDS, r, c, &done, &part, 0, 0, count);
      joinLanes(stage, &part, &sums);
      reference_(stage, OPERANDS, r, c, c + min(count, LANES), &done, &single);
      for (size_t i = 0; i < sizeof sums / 4; ++i) {
        struct Statistics a = done, b = done;
        endStage(stage, OPERANDS, r, &sums, &a);
        endStage(stage, OPERANDS, r, &single, &b);
        if (!isNear(((float *)&a)[i], ((float *)&b)[i], 1e-4)) return bad("columns", stage, r, c, count, ((float *)&a)[i], ((float *)&b)[i]);
      }
    }
#if !PER_ROW
    const long want = 1 + draw() % (LANES + 2), c = draw() % COLUMNS, count = min(want, (c / FINISH_RUN + 1) * FINISH_RUN - c);
    const long behind = c + count < COLUMNS ? outOffset(r, c + count) : -1;
    const OUT_TYPE before = behind < 0 ? 0 : out[behind];
    finishColumns(out, OPERANDS, r, c, &done, 0, 0, 0, 0, count);
    for (long i = 0; i < min(count, LANES); ++i) {
      const double y = read_(out[outOffset(r, c + i)]), wanted = read_(resultOf_(OPERANDS, other, r, c + i, &done));
      if (!isNear(y, wanted, OUT_BITS == 32 ? 1e-5 : 2e-2)) return bad("results", r, c, i, count, y, wanted);
    }
    if (behind >= 0 && count < LANES && memcmp(&before, &out[behind], sizeof before)) return bad("what is behind", r, c, count, 0, 1, 0);
#endif
  }
)";

/// The same where lanes are rows.
static const char *kRows = R"(
  for (int round = 0; round < 100; ++round) {
    const long want = 1 + draw() % (LANES + 2), r = draw() % ROWS, count = min(want, (r / ROW_RUN + 1) * ROW_RUN - r);
    const long c = draw() % COLUMNS, behind = r + count < ROWS ? PLACE(r + count, c) : -1;
    const OUT_TYPE before = behind < 0 ? 0 : out[behind];
    struct Parts done, sums;
    for (int stage = 0; stage < STAGES; ++stage) {
      beginStage(stage, &sums);
      for (long i = 0; i < COLUMNS; ++i)
        addRows(stage, OPERANDS, r, i, &done, &sums, 0, 0, count);
      endRows(stage, OPERANDS, r, &sums, &done, count);
    }
#if PER_ROW
    finishRows(out, OPERANDS, r, &done, count);
#else
    finishRows(out, OPERANDS, r, c, &done, 0, 0, 0, 0, count);
#endif
    for (long i = 0; i < min(count, LANES); ++i) {
      struct Statistics single;
      rowOf_(OPERANDS, r + i, &single);
      const double y = read_(out[PLACE(r + i, c)]), wanted = read_(resultOf_(OPERANDS, other, r + i, c, &single));
      if (!isNear(y, wanted, OUT_BITS == 32 ? 1e-4 : 2e-2)) return bad("rows", r, c, i, count, y, wanted);
    }
    if (behind >= 0 && count < LANES && memcmp(&before, &out[behind], sizeof before)) return bad("what is behind rows", r, c, count, 0, 1, 0);
  }
)";

/// The whole, of an instance: its corners and many others.
static const char *kWhole = R"(
  char *workspace = aligned_alloc(64, WORKSPACE / 64 * 64 + 128);
  memset(workspace, 0xff, WORKSPACE);
  memset(out, 0xff, elements * sizeof(OUT_TYPE));
  fastk_kernel(OPERANDS, out, workspace);
  for (int round = 0; round < 60; ++round) {
    const long r = round < 4 ? (round & 1) * (ROWS - 1) : draw() % ROWS;
    struct Statistics done;
    rowOf_(OPERANDS, r, &done);
    for (int i = 0; i < 20; ++i) {
      const long c = i < 2 ? i * (COLUMNS - 1) : draw() % COLUMNS;
      const double got = read_(out[PLACE(r, c)]), wanted = read_(resultOf_(OPERANDS, other, r, c, &done));
      if (!isNear(got, wanted, OUT_BITS == 32 ? 2e-5 : 2e-2)) return bad("result", r, c, i, 0, got, wanted);
    }
  }
  for (long i = 0; i < 64; ++i)
    if (read_(out[elements + i]) != 0) return bad("what is behind the result", i, 0, 0, 0, 1, 0);
)";

static bool check(llvm::StringRef family, const std::string &text,
                  const std::string &about, uint64_t number) {
  MatchedReduction matched(text);
  EXPECT_TRUE(matched.core) << matched.why;
  std::string checks = kVectors;
  if (family == "reduction-columns")
    checks += kRows;
  return checkOnHost(family, "reduction", *matched.form, checks + kWhole, about,
                     number, kReference);
}

/// Several instances of both families; those that take the workload.
static int checkAll(const std::string &text, const std::string &about) {
  int taken = 0;
  for (const char *family : {"reduction-rows", "reduction-columns"})
    for (uint64_t number = 0; number < 4; ++number)
      taken += check(family, text, about, number);
  return taken;
}

/// Softmax as it is imported: exponentials are a tensor of their own.
static std::string softmax(llvm::StringRef shape, llvm::StringRef rows,
                           llvm::StringRef loops, llvm::StringRef rowMap,
                           llvm::StringRef reduced) {
  std::string text = R"(
#id = affine_map<LOOPS -> LOOPS>
#row = affine_map<LOOPS -> ROWMAP>
func.func @f(%x: tensor<SHAPExf32>) -> tensor<SHAPExf32> {
  %z = arith.constant 0.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<SHAPExf32>
  %er = tensor.empty() : tensor<ROWSf32>
  %im = linalg.fill ins(%none : f32) outs(%er : tensor<ROWSf32>) -> tensor<ROWSf32>
  %iz = linalg.fill ins(%z : f32) outs(%er : tensor<ROWSf32>) -> tensor<ROWSf32>
  %m = linalg.generic {indexing_maps = [#id, #row], iterator_types = REDUCED} ins(%x : tensor<SHAPExf32>) outs(%im : tensor<ROWSf32>) {
  ^bb0(%a: f32, %o: f32):
    %v = arith.maximumf %a, %o : f32
    linalg.yield %v : f32
  } -> tensor<ROWSf32>
  %p = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = PARALLEL} ins(%x, %m : tensor<SHAPExf32>, tensor<ROWSf32>) outs(%e : tensor<SHAPExf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %d = arith.subf %a, %b : f32
    %v = math.exp %d : f32
    linalg.yield %v : f32
  } -> tensor<SHAPExf32>
  %s = linalg.generic {indexing_maps = [#id, #row], iterator_types = REDUCED} ins(%p : tensor<SHAPExf32>) outs(%iz : tensor<ROWSf32>) {
  ^bb0(%a: f32, %o: f32):
    %v = arith.addf %a, %o : f32
    linalg.yield %v : f32
  } -> tensor<ROWSf32>
  %q = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = PARALLEL} ins(%p, %s : tensor<SHAPExf32>, tensor<ROWSf32>) outs(%e : tensor<SHAPExf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %v = arith.divf %a, %b : f32
    linalg.yield %v : f32
  } -> tensor<SHAPExf32>
  return %q : tensor<SHAPExf32>
}
)";
  std::string parallel = "[";
  for (size_t i = 0; i <= shape.count('x'); ++i)
    parallel += i ? ", \"parallel\"" : "\"parallel\"";
  for (const auto &[from, to] :
       {std::pair<llvm::StringRef, std::string>("ROWMAP", rowMap.str()),
        {"ROWS", rows.str()},
        {"LOOPS", loops.str()},
        {"SHAPE", shape.str()},
        {"REDUCED", reduced.str()},
        {"PARALLEL", parallel + "]"}})
    for (size_t at = 0; (at = text.find(from.str(), at)) != std::string::npos;
         at += to.size())
      text.replace(at, from.size(), to);
  return text;
}

static ReductionText sum() {
  ReductionText text;
  text.statistics = {{"sum", "", "%x"}};
  text.value = "%sum";
  text.isPerRow = true;
  return text;
}

static std::string headerOf(const std::string &text) {
  MatchedReduction matched(text);
  EXPECT_TRUE(matched.core) << matched.why;
  return describeInC("reduction", *matched.form, 32, 2).header;
}

TEST(HostReductionTest, InstancesOfRandomReductionsAreRight) {
  int ofRows = 0, ofColumns = 0;
  for (uint64_t number = 0; number < kSamples; ++number) {
    ReductionSample sample = sampleReduction(5, number);
    ofRows += check("reduction-rows", sample.text.str(), sample.about, number);
    ofColumns +=
        check("reduction-columns", sample.text.str(), sample.about, number);
  }
  EXPECT_EQ(ofRows, int(kSamples));
  EXPECT_GE(ofColumns, 2);
}

TEST(HostReductionTest, AnExponentialIsKept) {
  const std::string text =
      softmax("19x29", "19x", "(a, b)", "(a)", R"(["parallel", "reduction"])");
  std::string header = headerOf(text);
  for (const char *line :
       {"#define HAS_KEPT 1\n", "#define KEPT_STAGE 1\n",
        "#define HAS_DIVISOR 1\n", "#define OUT_TOGETHER 1\n"})
    EXPECT_THAT(header, HasSubstr(line));
  EXPECT_EQ(checkAll(text, "softmax"), 8);
}

TEST(HostReductionTest, RowsMayLieTogether) {
  const std::string text = softmax("3x20x37", "3x37x", "(a, b, c)", "(a, c)",
                                   R"(["parallel", "reduction", "parallel"])");
  std::string header = headerOf(text);
  for (const char *line :
       {"#define ROWS_ALONG 1\n", "#define COLUMNS_ALONG 0\n",
        "#define ROW_RUN 37\n", "#define OUT_TOGETHER 0\n"})
    EXPECT_THAT(header, HasSubstr(line));
  EXPECT_EQ(checkAll(text, "softmax of the middle"), 8);
}

TEST(HostReductionTest, OneLongRowIsSplit) {
  ReductionText text = sum();
  text.extents = {{'r', 1}, {'c', 30011}};
  EXPECT_EQ(checkAll(text.str(), "a long row"), 4);
  // Rows of many columns that lie apart.
  text.dims = text.operands[0].dims = "cr";
  text.extents = {{'r', 13}, {'c', 5003}};
  EXPECT_EQ(checkAll(text.str(), "many columns"), 8);
}

TEST(HostReductionTest, ShortRows) {
  ReductionText text = sum();
  text.extents = {{'r', 101}, {'c', 3}};
  EXPECT_EQ(checkAll(text.str(), "three columns"), 8);
}

TEST(HostReductionTest, ColumnsMayBeSeveralRuns) {
  // A weight of each channel cuts the result's walk, and no pass.
  ReductionText text = sum();
  text.isPerRow = false;
  text.dims = text.operands[0].dims = "rcd";
  text.reduced = "cd";
  text.extents = {{'r', 5}, {'c', 4}, {'d', 7}};
  text.operands.push_back({"gamma", "c", "f32"});
  text.tail = "    %y = arith.divf %x, %sum : f32\n"
              "    %z = arith.mulf %y, %gamma : f32\n";
  text.statistics[0] = {"sum", "    %x2 = arith.mulf %x, %x : f32\n", "%x2"};
  text.value = "%z";
  std::string header = headerOf(text.str());
  EXPECT_THAT(header, HasSubstr("#define ADD_RUN 28\n"));
  EXPECT_THAT(header, HasSubstr("#define FINISH_RUN 7\n"));
  EXPECT_EQ(checkAll(text.str(), "channels"), 8);
  // And columns around rows.
  text.dims = text.operands[0].dims = "crd";
  header = headerOf(text.str());
  EXPECT_THAT(header, HasSubstr("#define ADD_RUN 7\n"));
  EXPECT_EQ(checkAll(text.str(), "rows between"), 8);
}

/// Fused with the subtraction, a product that is rounded for the maximum would
/// give differences without bound. A sum of squares may be fused.
TEST(HostReductionTest, ProductsWhoseMaximumIsSubtractedAreRounded) {
  ReductionText text = sum();
  text.statistics[0] = {"sum", "    %x2 = arith.mulf %x, %x : f32\n", "%x2"};
  EXPECT_THAT(headerOf(text.str()), Not(HasSubstr("fk_product_")));
  text.statistics[0].combiner = "arith.maximumf";
  text.statistics[0].start = "0xFF800000";
  EXPECT_THAT(headerOf(text.str()), HasSubstr("fk_product_f32("));
}
