//===- JoinedProgramErrorsTest.cpp - What is no part of a C program -------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/JoinedProgram.h"
#include "llvm/ADT/Twine.h"
#include "gmock/gmock.h"

using fastk::families::JoinedProgram;
using testing::StartsWith;

/// Why a program is no part of another one.
static std::string refusal(llvm::StringRef program) {
  JoinedProgram joined;
  std::string why;
  EXPECT_FALSE(joined.addPart(program, "_2", why)) << joined.text();
  return why;
}

TEST(JoinedProgramErrorsTest, DeclarationsByMacros) {
  llvm::StringRef define = "#define DECLARE(name) static int name\n"
                           "#define HIDDEN long hidden\n"
                           "#define TWO static int one; static int\n"
                           "#define NAME hidden\n";
  for (llvm::StringRef use :
       {"DECLARE(a);", "DECLARE(f)(void) { return 1; }", "HIDDEN;",
        "unsigned HIDDEN;", "static HIDDEN = 3, b;", "TWO three;",
        "static int NAME;", "static int b, NAME;", "static int *NAME = 0;",
        "static int (*NAME)(int);", "struct S { int i; } NAME;",
        "enum { NAME };", "enum { A, DECLARE(b) };"})
    EXPECT_THAT(refusal((define + use + "\n").str()),
                StartsWith(("in '" + use + "': ").str()));
  EXPECT_EQ(refusal("\n#define STEP(n) static int n;\n  STEP(four)\n"),
            "in 'STEP(four)': 'STEP' is a macro, and what it declares is not "
            "seen: write it out");
  EXPECT_EQ(refusal("DEFINE_ELSEWHERE(x)\nstatic int a;\n"),
            "in 'DEFINE_ELSEWHERE(x)': 'DEFINE_ELSEWHERE' has no type: what a "
            "macro declares is not seen, so write it out");
  EXPECT_EQ(refusal("#define KINDS A, B\nenum { KINDS };\n"),
            "in 'enum { KINDS };': 'KINDS' is a macro, and which constants it "
            "makes is not seen: write them out");
}

TEST(JoinedProgramErrorsTest, WhatIsNoDeclaration) {
  EXPECT_EQ(refusal("static f(int x) { return x; }\n"),
            "in 'static f(int x) { return x; }': 'f' has no type: what a macro "
            "declares is not seen, so write it out");
  EXPECT_EQ(refusal("static int f(a) int a; { return a; }\n"),
            "in 'static int f(a) int a; { return a; }': a ';' behind the "
            "declaration of 'f' is expected");
  EXPECT_EQ(refusal("int;\n"), "in 'int;': it declares nothing: what a macro "
                               "declares is not seen, so write it out");
  EXPECT_EQ(refusal("__asm__(\"nop\");\n"),
            "in '__asm__(\"nop\");': assembly outside of functions is not "
            "understood: leave it out");
  EXPECT_EQ(refusal("int f(void) __asm__(\"g\");\n"),
            "in 'int f(void) __asm__(\"g\");': a name that assembly gives 'f' "
            "stays the same: leave it out");
  EXPECT_EQ(refusal("static int a = 3\n"),
            "in 'static int a = 3': a ';' behind a value is expected");
  EXPECT_EQ(refusal("static int a[3;\nstatic int b;\n"),
            "in 'static int a[3;': nothing closes '['");
  EXPECT_EQ(refusal("static void f(void) { (}; }\n"),
            "in 'static void f(void) { (}; }': nothing opens '}'");
  EXPECT_EQ(refusal("static int a;\n}\n"), "in '}': a type is expected");
  EXPECT_EQ(refusal("static struct {int i;} S {};\n"),
            "in 'static struct {int i;} S {};': a body is expected behind a "
            "function alone");
}

TEST(JoinedProgramErrorsTest, WhatIsOnlyDeclared) {
  EXPECT_EQ(refusal("static int a;\nfloat sinf(float x);\n"),
            "in 'float sinf(float x);': 'sinf' is declared, and not defined: "
            "include what declares it, or define it");
  EXPECT_EQ(refusal("extern int count;\n"),
            "in 'extern int count;': 'count' is declared, and not defined: "
            "include what declares it, or define it");
}

TEST(JoinedProgramErrorsTest, ConditionsAcrossDeclarations) {
  EXPECT_EQ(refusal("static\n#if A\ninline\n#endif\nint f(void) {}\n"),
            "in '#if A': a condition surrounds a part of a declaration: let it "
            "surround all of it, or lines of its body");
  EXPECT_EQ(refusal("#if A\nstatic int f(void) {\n#else\nstatic int g(void) "
                    "{\n#endif\n  return 1;\n}\n"),
            "in '#else': a condition that begins before a declaration ends "
            "inside of it: let it surround all of it, or lines of its body");
  EXPECT_EQ(refusal("static void f(int a) {\n#if A\n  if (a) {\n#endif\n#if "
                    "A\n  }\n#endif\n}\n"),
            "in '#endif': branches of a condition leave other brackets open: "
            "let each close what it opens");
  EXPECT_EQ(refusal("static int a[] = {\n#if A\n1};\n#else\n2};\n#endif\n"),
            "in '1};': a condition ends behind what it closes: let it surround "
            "whole declarations");
  EXPECT_EQ(refusal("static int a;\n#if A\nstatic int b;\n"),
            "in '#if A': it has no #endif");
  EXPECT_EQ(refusal("static int a;\n#endif\n"),
            "in '#endif': there is no #if before it");
}

TEST(JoinedProgramErrorsTest, NamesThatStayTheSame) {
  EXPECT_EQ(refusal("static void barrier(void) {}\nstatic void f(void) {\n  "
                    "barrier();\n#pragma omp barrier\n}\n"),
            "in '#pragma omp barrier': 'barrier' is a word of pragmas, and the "
            "program defines it: name that otherwise");
  EXPECT_EQ(refusal("#define TEAM 2\n#define SHARE _Pragma(\"omp parallel "
                    "num_threads(TEAM)\")\n"),
            "in '#define SHARE _Pragma(\"omp parallel num_threads(TEAM)\")': a "
            "string that the compiler reads has the program's name 'TEAM': "
            "write a #pragma, or name it otherwise");
  EXPECT_EQ(refusal("static int f(void) { return 1; }\nstatic int g(void) "
                    "__attribute__((alias(\"f\")));\nstatic int g(void) {}\n"),
            "in 'static int g(void) __attribute__((alias(\"f\")));': a string "
            "that the compiler reads has the program's name 'f': write a "
            "#pragma, or name it otherwise");
  EXPECT_EQ(refusal("#pragma omp declare reduction(most : float : x)\n"),
            "in '#pragma omp declare reduction(most : float : x)': what a "
            "pragma declares is not understood: write it out where it is "
            "used");
  EXPECT_EQ(refusal("#define N 2\n#pragma push_macro(\"N\")\n"),
            "in '#pragma push_macro(\"N\")': a string names a macro: leave it "
            "out");
  EXPECT_EQ(refusal("static int f(void) { int i\\\n = 1; return i; }\n"),
            "in 'static int f(void) { int i\\': a backslash that joins lines "
            "stands outside of directives: leave it out");
}

TEST(JoinedProgramErrorsTest, DeepNestingIsNoCrash) {
  std::string deep(100000, '(');
  EXPECT_EQ(refusal("static int " + deep).substr(0, 15), "in 'static int ");
  std::string conditions;
  for (int i = 0; i < 1000; ++i)
    conditions += "#if A\n";
  EXPECT_EQ(refusal(conditions),
            "in '#if A': conditions are too deep inside of each other");
  std::string macros = "#define M0 static int\n";
  for (int i = 1; i < 1000; ++i)
    macros += "#define M" + std::to_string(i) + " M" + std::to_string(i - 1) +
              " M" + std::to_string(i - 1) + "\n";
  EXPECT_EQ(refusal(macros + "M999 a;\n"),
            "in 'M999 a;': 'M999' is a macro, and what it declares is not "
            "seen: write it out");
}
