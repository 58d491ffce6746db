//===- JoinedProgramTest.cpp - One C program of several -------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/JoinedProgram.h"
#include "gmock/gmock.h"

using fastk::families::JoinedProgram;

/// A program as a part of another one, under the suffix "_2".
static std::string asPart(llvm::StringRef program) {
  JoinedProgram joined;
  std::string why;
  EXPECT_TRUE(joined.addPart(program, "_2", why)) << why;
  return joined.text();
}

TEST(JoinedProgramTest, WhatAPartDefinesHasItsSuffix) {
  EXPECT_EQ(asPart(R"(
// M rows of sums, by work().
#define M 6 // tune: 2, 4, 6
#define rows(M0) ((M0) * M)
typedef float wide __attribute__((ext_vector_type(8)));
struct Block {
  long begin, M;
};
enum Kind { First, Last = 3 };
static const float table[2] = {1.0f, 0x1p-3f};
static __attribute__((noinline)) void work(struct Block *at, float *out) {
  const char *name = "M work \"Block\"";
  at->M += sizeof(wide) + rows(Last) + name[0] + 'M' + (int)table[1]; /* M */
}
void fastk_kernel(const float *in0, float *out) {
  struct Block block = {0, M};
  work(&block, out + Mx + in0[0]);
}
)"),
            R"(
// M rows of sums, by work().
#define M_2 6 // one of 2, 4, 6
#define rows_2(M0) ((M0) * M_2)
typedef float wide_2 __attribute__((ext_vector_type(8)));
struct Block_2 {
  long begin, M_2;
};
enum Kind_2 { First_2, Last_2 = 3 };
static const float table_2[2] = {1.0f, 0x1p-3f};
static __attribute__((noinline)) void work_2(struct Block_2 *at, float *out) {
  const char *name = "M work \"Block\"";
  at->M_2 += sizeof(wide_2) + rows_2(Last_2) + name[0] + 'M' + (int)table_2[1]; /* M */
}
static void fastk_kernel_2(const float *in0, float *out) {
  struct Block_2 block = {0, M_2};
  work_2(&block, out + Mx + in0[0]);
}
)");
}

TEST(JoinedProgramTest, ConditionsAndDirectivesAreRenamedToo) {
  EXPECT_EQ(asPart(R"(#define TEAM 2
#define LONG(x) \
  ((x) + TEAM)
#if TEAM > 1 && defined(TEAM)
static void share(void) {}
#else
static void alone(void) {}
#endif
void fastk_kernel(float *out) {
#if TEAM > 1
#pragma omp parallel num_threads(TEAM)
  if (LONG(1)) {
#else
  {
#endif
    share();
  }
}
static int behind(void) { return 1; }
)"),
            R"(#define TEAM_2 2
#define LONG_2(x) \
  ((x) + TEAM_2)
#if TEAM_2 > 1 && defined(TEAM_2)
static void share_2(void) {}
#else
static void alone_2(void) {}
#endif
static void fastk_kernel_2(float *out) {
#if TEAM_2 > 1
#pragma omp parallel num_threads(TEAM_2)
  if (LONG_2(1)) {
#else
  {
#endif
    share_2();
  }
}
static int behind_2(void) { return 1; }
)");
}

TEST(JoinedProgramTest, WhatPartsShareIsThereOnce) {
  JoinedProgram joined;
  std::string why;
  ASSERT_TRUE(joined.addShared("#include <math.h>\n#define LANES 8\n\n"
                               "// Twice.\nstatic int f(int x) {\n  return x + "
                               "x;\n}\n",
                               why));
  ASSERT_TRUE(joined.addShared("#define LANES 8\n#include <math.h>\n"
                               "#include <omp.h>\n",
                               why));
  EXPECT_EQ(joined.text(), "#include <math.h>\n#define LANES 8\n// Twice.\n"
                           "static int f(int x) {\n  return x + x;\n}\n"
                           "#include <omp.h>\n");
  // Under its own name it would be two.
  EXPECT_FALSE(joined.addShared("#define LANES 16\n", why));
  EXPECT_EQ(why, "two parts of the program define 'LANES', each in its own "
                 "way");
}

TEST(JoinedProgramTest, PastedNamesOfItsOwnHaveTheSuffixToo) {
  JoinedProgram joined;
  std::string why;
  ASSERT_TRUE(joined.addPart("#define STEP_X 2\n#define STEP_Y 3\n"
                             "#define step(axis) (STEP_##axis + 1)\n",
                             "_1", why))
      << why;
  EXPECT_EQ(joined.text(), "#define STEP_X_1 2\n#define STEP_Y_1 3\n"
                           "#define step_1(axis) (STEP_##axis##_1 + 1)\n");
  EXPECT_FALSE(
      joined.addPart("#define A_X 1\n#define of(x) A_##x##_Y\n", "_2", why));
}

TEST(JoinedProgramTest, NamesThatAreTakenAreRefused) {
  JoinedProgram joined;
  std::string why;
  EXPECT_FALSE(joined.addPart("static const long step = 4;\n"
                              "static long f(long step_1) {\n"
                              "  return step + step_1;\n}\n",
                              "_1", why));
  EXPECT_EQ(why, "the program uses 'step_1', which is the name that 'step' "
                 "would have as a part of another one");
}

TEST(JoinedProgramTest, PastedNamesAreRefused) {
  JoinedProgram joined;
  std::string why;
  EXPECT_FALSE(joined.addPart("#define NAME(x) x##_of\n", "_1", why));
  EXPECT_EQ(why, "in '#define NAME(x) x##_of': the program makes names with ## "
                 "that it does not define: as "
                 "a part of another one it can have no other names");
  EXPECT_TRUE(joined.addPart("#define ONE 1 // not ##\n", "_1", why)) << why;
}
