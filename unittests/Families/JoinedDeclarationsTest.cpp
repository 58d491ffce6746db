//===- JoinedDeclarationsTest.cpp - What parts of C programs declare ------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/JoinedProgram.h"
#include "gmock/gmock.h"

using fastk::families::JoinedProgram;

/// A program as a part of another one, under the suffix "_2".
static std::string asPart(llvm::StringRef program,
                          llvm::StringRef shared = "") {
  JoinedProgram joined;
  std::string why;
  EXPECT_TRUE(joined.addShared(shared, why)) << why;
  EXPECT_TRUE(joined.addPart(program, "_2", why)) << why;
  return llvm::StringRef(joined.text()).drop_front(shared.size()).str();
}

TEST(JoinedDeclarationsTest, TypesBehindABodyAreNamed) {
  EXPECT_EQ(asPart("typedef struct { long begin; } Block;\n"
                   "typedef union Word { float f; int i; } Word, *WordPtr;\n"
                   "static long first(Block b) { return b.begin; }\n"),
            "typedef struct { long begin; } Block_2;\n"
            "typedef union Word_2 { float f; int i; } Word_2, *WordPtr_2;\n"
            "static long first_2(Block_2 b) { return b.begin; }\n");
}

TEST(JoinedDeclarationsTest, SeveralDeclaratorsAreNamedEach) {
  EXPECT_EQ(asPart("static int a, b = 2, *c, d[3] = {1, 2}, e;\n"
                   "static struct Pair { int x, y; } one = {1, 2}, two;\n"
                   "static const float *const table[2], scale = 3.0f;\n"),
            "static int a_2, b_2 = 2, *c_2, d_2[3] = {1, 2}, e_2;\n"
            "static struct Pair_2 { int x, y; } one_2 = {1, 2}, two_2;\n"
            "static const float *const table_2[2], scale_2 = 3.0f;\n");
}

TEST(JoinedDeclarationsTest, StaticAssertionsDeclareNothing) {
  EXPECT_EQ(asPart("#define M 4\n_Static_assert(M > 2, \"M is M\");\n"
                   "static_assert(sizeof(int) == M, \"\");\nstatic int a;\n"),
            "#define M_2 4\n_Static_assert(M_2 > 2, \"M is M\");\n"
            "static_assert(sizeof(int) == M_2, \"\");\nstatic int a_2;\n");
}

TEST(JoinedDeclarationsTest, PointersToFunctionsAreNamed) {
  EXPECT_EQ(
      asPart("typedef float (*Map)(float), Bare(float);\n"
             "static float twice(float x) { return x + x; }\n"
             "static float (*const maps[1])(float) = {twice};\n"
             "static Map (*choose)(int kind);\n"
             "static float (*pick(int kind))(float) { return maps[kind]; }\n"),
      "typedef float (*Map_2)(float), Bare_2(float);\n"
      "static float twice_2(float x) { return x + x; }\n"
      "static float (*const maps_2[1])(float) = {twice_2};\n"
      "static Map_2 (*choose_2)(int kind);\n"
      "static float (*pick_2(int kind))(float) { return maps_2[kind]; }\n");
}

TEST(JoinedDeclarationsTest, ConstantsAreNamedWhereverTheirTypeStands) {
  EXPECT_EQ(asPart("#define N 2\n"
                   "enum { A, B = N, C __attribute__((unused)) = (N, 7),\n"
                   "#if N > 1\n"
                   "  D,\n"
                   "#endif\n"
                   "};\n"
                   "enum Kind : int { First };\n"
                   "struct S { enum { In, Out } way; struct Inner { int i; } "
                   "s; };\n"
                   "static int sum(enum Kind k) { return A + B + C + In + k; }"
                   "\n"),
            "#define N_2 2\n"
            "enum { A_2, B_2 = N_2, C_2 __attribute__((unused)) = (N_2, 7),\n"
            "#if N_2 > 1\n"
            "  D_2,\n"
            "#endif\n"
            "};\n"
            "enum Kind_2 : int { First_2 };\n"
            "struct S_2 { enum { In_2, Out_2 } way; struct Inner_2 { int i; } "
            "s; };\n"
            "static int sum_2(enum Kind_2 k) { return A_2 + B_2 + C_2 + In_2 + "
            "k; }\n");
}

TEST(JoinedDeclarationsTest, LinesThatGoOnAreOneDirective) {
  EXPECT_EQ(asPart("#define LONG(x) \\\r\n  ((x) + \\  \n   N)\n"
                   "#define N 6 /* of\nmany */ + 1\n"
                   "static int n = LONG(N); // N \\\n  int none;\n"
                   "static int m;\n"),
            "#define LONG_2(x) \\\r\n  ((x) + \\  \n   N_2)\n"
            "#define N_2 6 /* of\nmany */ + 1\n"
            "static int n_2 = LONG_2(N_2); // N \\\n  int none;\n"
            "static int m_2;\n");
}

TEST(JoinedDeclarationsTest, MacrosOfBodiesAreNamed) {
  EXPECT_EQ(asPart("#define LOCAL enum { L1, \\\n L2 }\n"),
            "#define LOCAL_2 enum { L1_2, \\\n L2_2 }\n");
  EXPECT_EQ(asPart("static int f(void) {\n#define STEP 4\n  enum { L };\n"
                   "  return STEP + L;\n#undef STEP\n}\n"),
            "static int f_2(void) {\n#define STEP_2 4\n  enum { L };\n"
            "  return STEP_2 + L;\n#undef STEP_2\n}\n");
}

TEST(JoinedDeclarationsTest, StringsAndCommentsStayAsTheyAre) {
  EXPECT_EQ(
      asPart("static int f; // f, \"f\n"
             "/* static int g; ' */\n"
             "static const char *g = \"f; // \\\"g\" \"/* f\", h = '\"';\n"
             "#include <f.h>\n"
             "#if 0\n#error \"don't f\"\n#endif\n"
             "static int i = f + 1'000;\n"),
      "static int f_2; // f, \"f\n"
      "/* static int g; ' */\n"
      "static const char *g_2 = \"f; // \\\"g\" \"/* f\", h_2 = '\"';\n"
      "#include <f.h>\n"
      "#if 0\n#error \"don't f\"\n#endif\n"
      "static int i_2 = f_2 + 1'000;\n");
}

TEST(JoinedDeclarationsTest, MacrosMayBeSpecifiersAndAttributes) {
  llvm::StringRef shared = "#define FK_INLINE static inline\n";
  EXPECT_EQ(asPart("#define GLOBAL static int\n"
                   "#define ALIGNED(n) __attribute__((aligned(n)))\n"
                   "#define COLD __attribute__((cold)) ALIGNED(64)\n"
                   "typedef float wide __attribute__((ext_vector_type(8)));\n"
                   "GLOBAL a, b;\n"
                   "static ALIGNED(64) float buffer[3], other ALIGNED(32);\n"
                   "FK_INLINE wide f(wide x) COLD { return x; }\n"
                   "FK_INLINE wide (*g)(wide) = f;\n",
                   shared),
            "#define GLOBAL_2 static int\n"
            "#define ALIGNED_2(n) __attribute__((aligned(n)))\n"
            "#define COLD_2 __attribute__((cold)) ALIGNED_2(64)\n"
            "typedef float wide_2 __attribute__((ext_vector_type(8)));\n"
            "GLOBAL_2 a_2, b_2;\n"
            "static ALIGNED_2(64) float buffer_2[3], other_2 ALIGNED_2(32);\n"
            "FK_INLINE wide_2 f_2(wide_2 x) COLD_2 { return x; }\n"
            "FK_INLINE wide_2 (*g_2)(wide_2) = f_2;\n");
}

TEST(JoinedDeclarationsTest, TheEntryIsThePartsOwn) {
  EXPECT_EQ(asPart("#define SLOW 1\n"
                   "void fastk_kernel(float *out);\n"
                   "#if SLOW\n"
                   "// Slow.\n"
                   "void fastk_kernel(float *out) {}\n"
                   "#else\n"
                   "__attribute__((hot)) void fastk_kernel(float *out) {}\n"
                   "#endif\n"),
            "#define SLOW_2 1\n"
            "static void fastk_kernel_2(float *out);\n"
            "#if SLOW_2\n"
            "// Slow.\n"
            "static void fastk_kernel_2(float *out) {}\n"
            "#else\n"
            "static __attribute__((hot)) void fastk_kernel_2(float *out) {}\n"
            "#endif\n");
}

TEST(JoinedDeclarationsTest, PrototypesAreShared) {
  JoinedProgram joined;
  std::string why;
  EXPECT_TRUE(joined.addShared("static int f(int x);\n"
                               "static int f(int x) { return x; }\n",
                               why))
      << why;
}
