//===- CheckDeviceCodeTest.cpp - What device code may not do --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Cuda/CheckDeviceCode.h"
#include "CudaTest.h"
#include "fastk/Cuda/CompileInChild.h"
#include <algorithm>
#include <chrono>

using namespace fastk::cuda;

namespace {

/// The rules that a module breaks, in order, blank-separated.
std::string rules(const std::string &ptx) {
  std::string text;
  for (const Refusal &refusal : checkDeviceCode(ptx))
    text += (text.empty() ? "" : " ") + refusal.rule;
  return text;
}

std::string module(const std::string &body, const std::string &before = "") {
  return ".version 9.0\n.target sm_90a\n.address_size 64\n" + before +
         "\n.visible .entry k(\n\t.param .u64 k_param_0\n)\n.maxntid 128, 1, "
         "1\n"
         "{\n\t.reg .pred \t%p<3>;\n\t.reg .b32 \t%r<8>;\n\t.reg .b64 "
         "\t%rd<8>;\n"
         "\tld.param.u64 \t%rd1, [k_param_0];\n" +
         body + "\n\tret;\n}\n";
}

TEST(CheckDeviceCode, OrdinaryCodePasses) {
  EXPECT_EQ(rules(module(R"(
        cvta.to.global.u64         %rd2, %rd1; // a comment with trap;
        mov.u32         %r1, %tid.x; /* trap; */
        @%p1 bra         $L__BB0_2;
        ld.global.v4.u32         {%r1, %r2, %r3, %r4}, [%rd2+16];
        // begin inline asm
        {
        .reg .pred P;
        mbarrier.try_wait.parity.shared::cta.b64 P, [%r1], %r2;
        selp.u32 %r3, 1, 0, P;
        }
        // end inline asm
        .pragma "nounroll";
        .pragma "used_bytes_mask 0xfF", "used_bytes_mask 15";
        .pragma "enable_smem_spilling"; .pragma "frequency 100";
$L__BB0_2:
        bar.sync         0;)")),
            "");
}

TEST(CheckDeviceCode, Instructions) {
  for (const char *bad :
       {"trap;", "@%p1 trap;", "brkpt;", "pmevent 3;", "@!%p1 brkpt ;",
        "tex.1d.v4.f32.f32 {%r1,%r1,%r1,%r1}, [%rd1, {%r2}];",
        "tensormap.replace.tile.rank.global.b1024.b32 [%rd1], 3;",
        "multimem.red.global.add.f32 [%rd1], %r1;",
        "suld.b.1d.b32.trap %r1, [%rd1, {%r2}];", "frobnicate %r1;",
        "{ trap; }", "L: trap;", "ret; trap;"})
    EXPECT_EQ(rules(module(bad)), "instruction") << bad;
}

TEST(CheckDeviceCode, SpecialRegisters) {
  for (const char *bad :
       {"mov.u64 %rd1, %clock64;", "mov.u32 %r1, %clock;",
        "mov.u32 %r1, %clock_hi;", "mov.u64 %rd1, %globaltimer;",
        "mov.u32 %r1, %globaltimer_lo;", "mov.u64 %rd1, %gridid;",
        "mov.u32 %r1, %pm0;", "mov.u64 %rd1, %pm1_64;",
        "mov.b32 %r1, %envreg3;", "mov.u64 %rd1, %current_graph_exec;",
        "mov.u32 %r1, %unheardof;", "add.u32 %r1, %r2, %clock;",
        "{ .reg .u64 %clock64; mov.u64 %rd1, %clock64; }"})
    EXPECT_EQ(rules(module(bad)).substr(0, 16), "special-register") << bad;
  for (const char *good :
       {"mov.u32 %r1, %laneid;", "mov.u32 %r1, %ctaid.x;",
        "mov.u32 %r1, %cluster_ctarank;", "mov.u32 %r1, %smid;",
        "{ .reg .u32 %mine; mov.u32 %mine, 1; }"})
    EXPECT_EQ(rules(module(good)), "") << good;
}

TEST(CheckDeviceCode, ModuleVariables) {
  EXPECT_EQ(
      rules(module("ld.global.u32 %r1, [n];", ".global .align 4 .u32 n;")),
      "global-variable");
  EXPECT_EQ(rules(module("mov.u64 %rd2, n;",
                         ".visible .global .align 4 .b8 n[4096];")),
            "global-variable");
  EXPECT_EQ(rules(module("red.global.add.u32 [m], 1;", ".global .u32 m, n;")),
            "global-variable");
  // What nobody names nobody writes.
  EXPECT_EQ(rules(module("", ".global .align 1 .u8 "
                             "_ZN26__nv_atomic_triv_cp_helperIiE5__valE;")),
            "");
  EXPECT_EQ(rules(module("", ".global .u32 n;\n.global .u64 p = n;"))
                .find("global-variable"),
            0u);
  EXPECT_EQ(rules(module("", ".global .attribute(.managed) .align 4 .u32 n;")),
            "global-variable");
  EXPECT_EQ(
      rules(module("", ".const .align 4 .b8 c[8] = {1, 2, 3, 4, 5, 6, 7, 8};\n"
                       ".shared .align 4 .b8 s[8];\n"
                       ".extern .shared .align 16 .b8 d[];")),
      "");
  EXPECT_EQ(rules(module("", ".texref t;")), "directive");
}

TEST(CheckDeviceCode, TablesMayOnlyBeLoaded) {
  const char *table = ".global .align 4 .b8 t[8] = {1, 2, 3, 4, 5, 6, 7, 8};";
  for (const char *good :
       {"ld.global.u32 %r1, [t+4];", "mov.u64 %rd2, t; add.s64 %rd3, %rd2, "
                                     "%rd4; ld.global.u32 %r1, [%rd3];"})
    EXPECT_EQ(rules(module(good, table)), "") << good;
  for (const char *bad :
       {"st.global.u32 [t], %r1;",
        "mov.u64 %rd2, t; st.global.u32 [%rd2], %r1;",
        "mov.u64 %rd2, t; add.s64 %rd3, %rd2, 4; atom.global.add.u32 %r1, "
        "[%rd3], 1;",
        "mov.u64 %rd2, t; cvta.global.u64 %rd3, %rd2; st.u64 [%rd1], %rd3;",
        "mov.u64 %rd2, t; mov.b64 {%r1, %r2}, %rd2; st.global.u32 [%rd1], %r2;",
        "mov.u64 %rd2, t; xor.b64 %rd3, %rd2, 5;",
        "mov.u64 %rd2, t; setp.lt.u64 %p1, %rd2, 5;",
        "red.global.add.u32 [t+4], 1;",
        "L: st.global.u32 [%rd3], 1; add.s64 %rd3, %rd2, 4; mov.u64 %rd2, t; "
        "bra L;"})
    EXPECT_EQ(rules(module(bad, table)), "global-variable") << bad;
  const char *constants = ".const .align 4 .b8 t[8];";
  EXPECT_EQ(rules(module("ld.const.u32 %r1, [t+4];", constants)), "");
  EXPECT_EQ(rules(module("mov.u64 %rd2, t; cvta.const.u64 %rd3, %rd2; "
                         "st.u32 [%rd3], %r1;",
                         constants)),
            "global-variable");
  // A table of addresses could hold a way to write.
  EXPECT_EQ(rules(module("", std::string(table) + ".global .u64 p = t;")),
            "global-variable");
}

TEST(CheckDeviceCode, TablesHoldNoAddresses) {
  const std::string table = ".global .align 4 .b8 t[8] = {1, 2, 3, 4};\n";
  for (const char *holder :
       {".const .align 8 .u64 p[1] = {generic(t)};", ".const .u64 p = t;",
        ".global .align 8 .u64 p[2] = {0, t+4};",
        ".const .align 8 .b8 p[8] = {0xFF(t), 0xFF00(t)};",
        ".const .u64 p = k;"})
    EXPECT_EQ(rules(module("ld.const.u64 %rd2, [p]; st.global.u32 [%rd2], %r1;",
                           table + holder)),
              "global-variable")
        << holder;
}

TEST(CheckDeviceCode, AddressesInVectorRegistersAreFollowed) {
  const char *table = ".global .align 4 .b8 t[8] = {1, 2, 3, 4};";
  const std::string declare = ".reg .v2 .b64 %v1; mov.u64 %rd2, t;\n";
  for (const char *bad : {"mov.v2.b64 %v1, {%rd3, %rd2}; mov.b64 %rd4, %v1.y; "
                          "st.global.u32 [%rd4], %r1;",
                          "mov.b64 %v1.x, %rd2; mov.v2.b64 {%rd3, %rd4}, %v1; "
                          "atom.global.add.u32 %r1, [%rd3], 1;"})
    EXPECT_EQ(rules(module(declare + bad, table)), "global-variable") << bad;
}

// A comparison that no predicate sees: the borrow of tainted - guess.
TEST(CheckDeviceCode, AddressesDoNotReachTheCarryFlag) {
  const char *table = ".global .align 4 .b8 t[8] = {1, 2, 3, 4};";
  for (const char *bad : {"sub.cc.u32 %r3, %r1, %r4; subc.u32 %r5, 0, 0;",
                          "add.cc.u32 %r3, %r1, %r4; addc.u32 %r5, 0, 0;",
                          "mad.lo.cc.u32 %r3, %r1, 1, %r4;"})
    EXPECT_EQ(rules(module("mov.u64 %rd2, t; mov.b64 {%r1, %r2}, %rd2;\n" +
                               std::string(bad),
                           table)),
              "global-variable")
        << bad;
}

TEST(CheckDeviceCode, CallsMatchTheFunction) {
  const std::string callee =
      ".func (.param .b32 r) f(.param .b64 a, .param .align 8 .b8 b[16])\n"
      "{ st.param.b32 [r], 1; ret; }\n";
  auto call = [&](const std::string &text) {
    return rules(module("{ .param .b64 p0; .param .align 8 .b8 p1[16];\n"
                        ".param .align 8 .b8 p2[8]; .param .b32 q;\n"
                        ".param .b64 w;\n" +
                            text + "; }",
                        callee));
  };
  EXPECT_EQ(call("call.uni (q), f, (p0, p1)"), "");
  for (const char *bad :
       {"call.uni (q), f, (p0)", "call.uni (q), f", "call.uni f, (p0, p1)",
        "call.uni (q), f, (p0, p1, p1)", "call.uni (q), f, (p0, p2)",
        "call.uni (q), f, (p1, p0)", "call.uni (w), f, (p0, p1)",
        "call.uni (q, q), f, (p0, p1)"})
    EXPECT_EQ(call(bad), "call") << bad;
  // A declaration before the definition says the same.
  EXPECT_EQ(rules(module("", ".func g(.param .b64 a);\n"
                             ".func g(.param .b64 a) { ret; }")),
            "");
  EXPECT_EQ(rules(module("", ".func g(.param .b32 a);\n"
                             ".func g(.param .b64 a) { ret; }")),
            "call");
}

TEST(CheckDeviceCode, ARegisterMayHaveTheNameOfAFunction) {
  const char *callee = ".func f(.param .b32 a) { ret; }\n";
  EXPECT_EQ(rules(module("{ .param .b32 p; .reg .b64 f;\n"
                         "call.uni f, (p); }",
                         callee)),
            "indirect-call");
  EXPECT_EQ(rules(module("{ .param .b32 p; call.uni f, (p), proto; }", callee)),
            "indirect-call");
  EXPECT_EQ(rules(module("{ .param .b32 p; call.uni f, (p), list; }", callee)),
            "indirect-call");
  // Names of parameters in registers are no others'.
  EXPECT_EQ(rules(module("", ".func g(.reg .b32 a) { mov.u32 a, %unheardof; "
                             "ret; }")),
            "special-register");
}

// Each takes its time once, however long the chain.
TEST(CheckDeviceCode, LongCodeIsCheckedInLinearTime) {
  auto seconds = [](int count) {
    std::string body;
    // The address moves up a line at a time.
    for (int i = 0; i < count; ++i)
      body += "mov.u64 %rd" + std::to_string(10 + count - i) + ", %rd" +
              std::to_string(9 + count - i) + ";\n";
    std::string before = ".global .align 4 .b8 t[4] = {1};\n";
    for (int i = 0; i < count; ++i)
      before += ".global .u32 n" + std::to_string(i) + ";\n";
    body += "mov.u64 %rd10, t;\nst.global.u32 [%rd" +
            std::to_string(10 + count) + "], 1;";
    std::string ptx = module(body, before);
    // The least of a few: others take the processor now and then.
    double least = 1e9;
    for (int run = 0; run < 3; ++run) {
      auto start = std::chrono::steady_clock::now();
      EXPECT_EQ(rules(ptx), "global-variable");
      std::chrono::duration<double> time =
          std::chrono::steady_clock::now() - start;
      least = std::min(least, time.count());
    }
    return least;
  };
  double small = seconds(4000), large = seconds(40000);
  EXPECT_LT(large, 10 * 4 * small + 0.2);
}

TEST(CheckDeviceCode, Calls) {
  EXPECT_EQ(
      rules(module("call.uni (%r1), printf, (%r2);",
                   ".extern .func (.param .b32 r) vprintf (.param .b64 a);")),
      "external-function external-function");
  EXPECT_EQ(
      rules(module("call.uni f, (%r1);", ".func f(.param .b32 a) { ret; }")),
      "");
  EXPECT_EQ(rules(module("call (%r1), %rd2, (%r3), proto;")), "indirect-call");
  EXPECT_EQ(
      rules(module(
          "proto: .callprototype _ (.param .b32 _); call %rd2, (%r3), proto;")),
      "directive indirect-call");
}

// Text inside asm may close the function and go on.
TEST(CheckDeviceCode, TextBehindAClosedBraceIsSeen) {
  EXPECT_EQ(rules(module("ret; } .global .u32 n; .visible .entry other() { "
                         "red.global.add.u32 [n], 1; trap;")),
            "instruction global-variable");
  EXPECT_EQ(rules(module("} .extern .func malloc(); { ret;")).substr(0, 17),
            "external-function");
}

TEST(CheckDeviceCode, WhatReadersCouldSeeDifferently) {
  EXPECT_EQ(rules(module("// comment \\\ntrap;")), "lexical");
  EXPECT_EQ(rules(module("/* open")), "lexical");
  EXPECT_EQ(rules(module(".pragma \"open;\n")), "lexical");
  EXPECT_EQ(rules(module("mov.u32 %r1, \x01;")), "lexical");
  EXPECT_EQ(rules(module("# 1 \"file\"\n")), "lexical");
  EXPECT_EQ(rules(module("ld .global.u32 %r1, [%rd1];")), "lexical");
  EXPECT_EQ(rules(""), "lexical");
  EXPECT_EQ(rules(module("mov.u32 %r1, 1; {")), "lexical");
}

TEST(CheckDeviceCode, RandomTextNeverCrashes) {
  const char *pieces[] = {
      "{",    "}",       ";", "@",     "!",      "%p1",      "ld.global.u32",
      "[",    "]",       ",", "\"",    "/*",     "*/",       "//",
      "\n",   ".global", "=", ".func", ".entry", "(",        ")",
      "call", ":",       "x", " ",     "1",      ".version", ".target",
      "%",    "."};
  uint64_t state = 1;
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (int i = 0; i < 30; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      text += pieces[(state >> 33) % (sizeof(pieces) / sizeof(*pieces))];
    }
    checkDeviceCode(text);
  }
}

//===----------------------------------------------------------------------===//
// Through the compiler: how a source might hide it
//===----------------------------------------------------------------------===//

std::string refusal(const std::string &source) {
  CompileRequest request;
  request.source = source;
  CompileResult result = compileInChild(request);
  EXPECT_TRUE(result.cubin.empty() || result.ok());
  return result.error;
}

bool contains(const std::string &text, const char *part) {
  return text.find(part) != std::string::npos;
}

NVRTC_TEST(RefusedSources, StateThatOutlivesALaunch) {
  for (const char *source :
       {"__device__ int n; extern \"C\" __global__ void k(int *x) { x[0] = "
        "n++; }",
        "__managed__ int n; extern \"C\" __global__ void k(int *x) { x[0] = "
        "n++; }",
        "extern \"C\" __global__ void k(int *x) { static int n; x[0] = n++; }",
        "extern \"C\" __global__ void k(int *x) { static int n = 5; x[0] = "
        "n++; }",
        "template <class T> __device__ T v; "
        "extern \"C\" __global__ void k(int *x) { x[0] = v<int>++; }",
        "__device__ const int n[2] = {1, 2}; extern \"C\" __global__ void "
        "k(int *x) { "
        "volatile int *p = const_cast<int *>(n); p[threadIdx.x] += 1; x[0] = "
        "p[1]; }",
        // The compiler must not see which of the two is written.
        "__constant__ int n[2]; extern \"C\" __global__ void k(int *x) { int "
        "*p "
        "= x[9] ? x : const_cast<int *>(n); p[threadIdx.x] = 7; x[0] = n[1]; }",
        "int n; extern \"C\" __global__ void k(int *x) { x[0] = n++; }"})
    EXPECT_TRUE(contains(refusal(source), "'global-variable'"))
        << source << "\n"
        << refusal(source);
  EXPECT_TRUE(
      contains(refusal("extern \"C\" __global__ void k(u64 *x) { int *p = "
                       "(int *)malloc(64); p[0] = 1; x[0] = (u64)p; }"),
               "device heap"));
  EXPECT_TRUE(
      contains(refusal("extern \"C\" __global__ void k(u64 *x) { x[0] = "
                       "(u64)new int[4]; }"),
               "'external-function'"));
}

NVRTC_TEST(RefusedSources, OutputTrapsAndLaunches) {
  EXPECT_TRUE(
      contains(refusal("extern \"C\" __global__ void k() { printf(\"x\"); }"),
               "device printf is not allowed"));
  EXPECT_TRUE(contains(
      refusal("extern \"C\" __global__ void k(int *x) { assert(x[0]); }"),
      "assert traps"));
  EXPECT_TRUE(
      contains(refusal("extern \"C\" __global__ void k() { __trap(); }"),
               "'trap' is not allowed"));
  EXPECT_TRUE(
      contains(refusal("extern \"C\" __global__ void k() { __brkpt(); }"),
               "'brkpt' is not allowed"));
  EXPECT_NE(refusal("__global__ void c() {} extern \"C\" __global__ void k() { "
                    "c<<<1, 1>>>(); }"),
            "");
}

NVRTC_TEST(RefusedSources, Clocks) {
  for (const char *source :
       {"extern \"C\" __global__ void k(long long *x) { x[0] = clock64(); }",
        "extern \"C\" __global__ void k(long long *x) { x[0] = clock(); }",
        "extern \"C\" __global__ void k(u64 *x) { asm volatile(\"mov.u64 %0, "
        "%%globaltimer;\" : \"=l\"(x[0])); }"})
    EXPECT_TRUE(contains(refusal(source), "must not know the time")) << source;
}

NVRTC_TEST(RefusedSources, WaysToHideAsm) {
  for (const char *source :
       {// Pasted, spliced, spelt in escapes, in a raw string, with digraphs.
        "#define J(a, b) a##b\nextern \"C\" __global__ void k() { J(as, "
        "m)(\"trap;\"); }",
        "extern \"C\" __global__ void k() { as\\\nm(\"tr\\\nap;\"); }",
        "extern \"C\" __global__ void k() { asm(\"tr\" \"ap;\"); }",
        "extern \"C\" __global__ void k() { asm(\"\\164\\162\\x61\\x70;\"); }",
        "extern \"C\" __global__ void k() <% __asm__ volatile(R\"(trap;)\"); "
        "%>",
        "extern \"C\" __global__ void k() { asm(\"{ /* nothing */ trap; } // "
        "end\"); }",
        "extern \"C\" __global__ void k() { asm(\"// begin inline asm\\n\\n "
        "trap;\"); }",
        "extern \"C\" __global__ void k() { asm(\"@%%p1 trap;\"); }",
        "template <int N> __device__ void f() { asm(\"trap;\"); } "
        "extern \"C\" __global__ void k() { f<3>(); }"})
    EXPECT_TRUE(contains(refusal(source), "'trap' is not allowed") ||
                contains(refusal(source), "NVRTC_ERROR_COMPILATION"))
        << source << "\n"
        << refusal(source);
  // NVRTC drops asm outside of functions.
  CompileRequest request;
  request.source = "asm(\".global .u32 n;\");\nextern \"C\" __global__ void "
                   "k(int *x) { x[0] = 1; }";
  EXPECT_EQ(compileInChild(request).ptx.find(".global .u32"),
            std::string::npos);
  EXPECT_NE(
      refusal(
          "extern \"C\" __global__ void k(int *x) { asm(\"ret; } .global .u32 "
          "n; .visible .entry j() { ld.global.u32 %%r1, [n];\"); x[0] = 1; }"),
      "");
}

NVRTC_TEST(RefusedSources, CallsThroughPointers) {
  EXPECT_TRUE(contains(refusal(R"(
__device__ __noinline__ int f(int x) { return x + 1; }
__device__ __noinline__ int g(int x) { return x * 3; }
extern "C" __global__ void k(int *x, int n) {
  int (*p)(int) = n > 3 ? f : g;
  for (int i = 0; i < n; ++i) x[i] = p(x[i]);
  if (n > 100) x[0] = ((int (*)(int))(u64)x[1])(3);
})"),
                       "'indirect-call'"));
}

} // namespace
