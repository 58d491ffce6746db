//===- PTXProgramTest.cpp - Variants in PTX that are refused --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Cuda/PTXProgram.h"
#include "CudaTest.h"
#include "fastk/Cuda/CompileInChild.h"
#include "fastk/Cuda/Cubin.h"
#include "fastk/Cuda/DelayPTX.h"
#include <filesystem>
#include <fstream>
#include <iterator>

using namespace fastk;
using namespace fastk::cuda;

namespace {

/// One launch of `k` with a pointer and an i32.
worker::LaunchPlan planOf(const std::string &fields = "",
                          const std::string &arguments = R"("in0", {"i32": 5})",
                          const std::string &kernel = "k") {
  std::string error;
  auto plan = worker::parseLaunchPlan(
      R"({"format": 1, "steps": [{"launch": ")" + kernel +
          R"(", "grid": [8], "block": [64], "arguments": [)" + arguments + "]" +
          fields + "}]}",
      error);
  EXPECT_TRUE(plan) << error;
  return plan.value_or(worker::LaunchPlan());
}

const std::string header = ".version 8.4\n.target sm_90a\n.address_size 64\n";

/// `k` begins on line 5, its body on line 8.
std::string module(const std::string &body, const std::string &before = "",
                   const std::string &directives = "",
                   const std::string &head = header) {
  return head + before + "\n.visible .entry k(.param .u64 x, .param .u32 n)\n" +
         directives + "\n{ .reg .b32 %r<8>; .reg .b64 %rd<8>;\n" + body +
         "\nret;\n}\n";
}

std::string said(const std::string &ptx,
                 const worker::LaunchPlan &plan = planOf(),
                 std::string_view arch = "sm_90a") {
  return describe(checkPTXProgram(ptx, plan, arch), "kernel.ptx");
}

void expectSaid(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos) << text << "\nlacks: " << part;
}

TEST(PTXProgram, AnOrdinaryOneIsTaken) {
  EXPECT_EQ(said(module("ld.param.u64 %rd1, [x]; st.global.u32 [%rd1], 7;")),
            "");
  EXPECT_EQ(said(module("", ".extern .shared .align 16 .b8 s[];",
                        ".reqntid "
                        "64")),
            "");
}

TEST(PTXProgram, Entries) {
  std::string text = module("", ".func f() { ret; }",
                            ".maxntid 32, 4\n"
                            ".reqnctapercluster 2") +
                     ".entry other(.param .align 64 .b8 map[128]) { ret; }\n";
  std::vector<PTXEntry> entries = readPTXEntries(text);
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].name, "k");
  EXPECT_EQ(entries[0].line, 5u);
  EXPECT_EQ(entries[0].parameters, (std::vector<uint64_t>{8, 4}));
  EXPECT_EQ(entries[0].maxThreads, 128);
  EXPECT_EQ(entries[0].cluster, (worker::Dim3{2, 1, 1}));
  EXPECT_FALSE(entries[0].block);
  EXPECT_EQ(entries[1].parameters, (std::vector<uint64_t>{128}));
  EXPECT_TRUE(readPTXEntries("\\").empty());
}

//===----------------------------------------------------------------------===//
// What it says of itself
//===----------------------------------------------------------------------===//

TEST(PTXProgram, TheTargetIsNotNewerThanTheDevice) {
  auto of = [](const std::string &target, std::string_view arch) {
    return said(
        module("", "", "",
               ".version 8.4\n.target " + target + "\n.address_size 64\n"),
        planOf(), arch);
  };
  for (auto [target, arch] : {std::pair("sm_90a", "sm_90a"),
                              {"sm_90", "sm_90a"},
                              {"sm_80", "sm_90a"},
                              {"sm_70", "sm_80"},
                              {"sm_100f", "sm_103a"},
                              {"sm_100", "sm_120a"}})
    EXPECT_EQ(of(target, arch), "") << target << " on " << arch;
  for (auto [target, arch] : {std::pair("sm_100", "sm_90a"),
                              {"sm_90a", "sm_90"},
                              {"sm_90a", "sm_80"},
                              {"sm_90a", "sm_100a"},
                              {"sm_100a", "sm_90a"},
                              {"sm_100f", "sm_120a"},
                              {"sm_100f", "sm_103"},
                              {"sm_90f", "sm_100a"}})
    expectSaid(of(target, arch), "kernel.ptx:2: '.target " +
                                     std::string(target) +
                                     "' does not run on " + arch);
  for (const char *target : {"sm_90x", "sm_", "sm_90aa", "compute_90", "90"})
    expectSaid(of(target, "sm_90a"), "is no GPU: write .target sm_90a");
}

TEST(PTXProgram, HeadersThatOthersCouldReadDifferently) {
  auto of = [](const std::string &head) {
    return said(module("", "", "", head));
  };
  expectSaid(of(header + ".target sm_80\n"), "one '.target', this one has 2");
  expectSaid(of(".target sm_90a\n.address_size 64\n"),
             "one '.version', this one has 0");
  expectSaid(of(".version 8.4\n.target sm_90a\n"),
             "one '.address_size', this one has 0");
  expectSaid(of(".version 8.4\n.target sm_90a, debug\n.address_size 64\n"),
             "kernel.ptx:2: '.target' has one value and no options");
  expectSaid(of(".version 8.4\n.target sm_90a\n.address_size 32\n"),
             "kernel.ptx:3: '.address_size 32': a plan passes addresses of 64");
}

TEST(PTXProgram, TooLong) {
  expectSaid(said(header + std::string(3 << 20, '\n')), "the limit is 2097152");
}

//===----------------------------------------------------------------------===//
// The plan
//===----------------------------------------------------------------------===//

TEST(PTXProgram, ThePlanLaunchesWhatThereIs) {
  std::string text = module("");
  expectSaid(said(text, planOf("", R"("in0")", "kernel")),
             "kernel.ptx: the plan's $.steps[0].launch names 'kernel', but the "
             "entries are 'k' (required by 'fastk.ptx_launch')");
  expectSaid(said(text, planOf("", R"("in0")")),
             "kernel.ptx:5: the plan's $.steps[0]: kernel 'k' has 2 "
             "parameters, but the plan passes 1 arguments");
  expectSaid(said(text, planOf("", R"("in0", {"i64": 5})")),
             "parameter 1 has 4 bytes, but the plan's argument, an i64, has 8");
  expectSaid(said(header, planOf()), "but the entries are none");
  // A declaration is no entry.
  expectSaid(said(header + ".visible .entry k(.param .u64 x, .param .u32 n);"),
             "but the entries are none");
  expectSaid(said(header + ".visible .entry k(.param .texref t, .param .u32 n) "
                           "{ ret; }"),
             "parameter 0 of 'k' is of a type that no plan can pass");
}

TEST(PTXProgram, ExtentsThatTheEntryAsksFor) {
  expectSaid(said(module("", "", ".reqntid 128")),
             ".block is 64x1x1, but 'k' says .reqntid 128x1x1");
  expectSaid(said(module("", "", ".maxntid 32")),
             ".block has 64 threads, but 'k' says .maxntid of 32");
  expectSaid(said(module("", "", ".reqnctapercluster 2")),
             ".cluster is 1x1x1, but 'k' says .reqnctapercluster 2x1x1");
  EXPECT_EQ(said(module("", "", ".reqnctapercluster 2"),
                 planOf(R"(, "cluster": [2])")),
            "");
}

//===----------------------------------------------------------------------===//
// What no device code may do, with the line
//===----------------------------------------------------------------------===//

TEST(PTXProgram, HostileInstructions) {
  for (auto [body, part] : {
           std::pair("mov.u32 %r1, 1;\ntrap;", "kernel.ptx:9: 'trap' is not"),
           {"mov.u64 %rd1, %globaltimer;", "kernel.ptx:8: '%globaltimer' is"},
           {"mov.u32 %r1, %clock;", "must not know the time"},
           {"mov.u64 %rd1, %gridid;", "it counts launches"},
           {"tex.1d.v4.f32.s32 {%r1,%r2,%r3,%r4}, [t, {%r5}];",
            "kernel.ptx:8: 'tex.1d.v4.f32.s32' is not allowed: textures"},
           {"tensormap.replace.tile.rank.global.b1024.b32 [%rd1], 3;",
            "tensor maps are made by the plan"},
           {"multimem.red.global.add.f32 [%rd1], %r1;", "runs on one device"},
           {"clusterlaunchcontrol.try_cancel.async.b128 [%r1], [%r2];",
            "not in the list of allowed instructions"},
           {"call (%r1), %rd2, (%r3), p;", "a call through a pointer"},
           {"call.uni (%r1), malloc, (%r3);",
            "kernel.ptx:8: a call of 'malloc', which the module does not"},
           {"ld .global.u32 %r1, [%rd1];", "stands apart from its instruction"},
           {"\n.pragma \"is not defined for option 'gpu-name'\";",
            "kernel.ptx:9: the pragma \"is not defined for option 'gpu-name'\" "
            "is not allowed: nounroll"},
           {".pragma \"nounroll\", \"set_knobs x\";",
            "kernel.ptx:8: the pragma \"set_knobs x\" is not allowed"},
           {".pragma \"used_bytes_mask 5 Unsupported .version\";",
            "is not allowed: nounroll"},
           {".pragma \"frequency \";", "is not allowed: nounroll"},
           {".pragma nounroll;", "the pragma nounroll is not allowed"},
           {".loc 1 2 3\nmov.u32 %r1, 1;",
            "kernel.ptx:8: '.loc' is not allowed: it is debug information"},
           {"} .visible .entry j() { brkpt;", "kernel.ptx:8: 'brkpt' is not"},
       })
    expectSaid(said(module(body)), part);
}

TEST(PTXProgram, HostileModules) {
  for (auto [before, part] : {
           std::pair(".extern .func (.param .b32 r) vprintf(.param .b64 a, "
                     ".param .b64 b);",
                     "kernel.ptx:4: a call of 'vprintf': device printf is not"),
           {".extern .func (.param .b64 r) malloc(.param .b64 a);",
            "the device heap outlives a launch"},
           {".extern .func __assertfail(.param .b64 a);", "assert traps"},
           {".extern .func (.param .b32 r) cudaLaunchDevice(.param .b64 a);",
            "device-side launches are not allowed"},
           {".extern .func mystery();", "nothing to link with"},
           {".global .attribute(.managed) .u32 n;", "managed memory"},
           {".global .u32 n; .global .u64 p = n;", "holds an address"},
           {".alias f, g;", "'.alias' at module scope is not allowed"},
           {".file 1 \"kernel.py\"\n", "kernel.ptx:4: '.file' is not allowed"},
           {".section .debug_str { .b8 0; }", "'.section' is not allowed"},
           {".texref t;", "'.texref' at module scope is not allowed"},
           {".surfref t;", "'.surfref' at module scope is not allowed"},
           {".local .u32 n;", "'.local' at module scope is not allowed"},
           {".pragma \"anything\";", "'.pragma' at module scope"},
           {".func f()\n.pragma \"anything\";",
            "kernel.ptx:5: the pragma \"anything\" is not allowed"},
           {"/* open", "PTX line 4: a comment without end"},
           {"// \\\n", "PTX line 4: a backslash"},
       })
    expectSaid(said(module("", before)), part);
}

TEST(PTXProgram, StateThatOutlivesALaunch) {
  expectSaid(said(module("\n\natom.global.add.u32 %r1, [calls], 1;",
                         ".global .u32 calls;")),
             "kernel.ptx:10: 'calls' is a __device__ variable");
  expectSaid(said(module("mov.u64 %rd2, t;\nst.global.u32 [%rd2], %r1;",
                         ".global .align 4 .b8 t[8] = {1, 2, 3, 4};")),
             "kernel.ptx:9: the address of a table or constant is used by");
  expectSaid(said(module("mov.u64 %rd2, c;\nst.u32 [%rd2], %r1;",
                         ".const .align 4 .b8 c[8];")),
             "kernel.ptx:9: the address of a table or constant is used by");
  // Of a name that only this module has, in any linkage.
  for (const char *linkage : {".visible", ".weak", ".common", ".extern"})
    expectSaid(said(module("ld.global.u32 %r1, [calls];",
                           std::string(linkage) + " .global .u32 calls;")),
               "kernel.ptx:8: 'calls' is a __device__ variable");
}

// Whatever the text, it is refused or taken, in time that grows with it.
TEST(PTXProgram, RandomTextNeverCrashes) {
  const char *pieces[] = {".version",
                          "8.4",
                          ".target",
                          "sm_90a",
                          ".address_size",
                          "64",
                          ".entry",
                          "k",
                          "(",
                          ")",
                          ".param",
                          ".u64",
                          "x",
                          ",",
                          ".reqntid",
                          "{",
                          "}",
                          ";",
                          ".maxntid",
                          "99999999999999999999",
                          "[",
                          "]",
                          ".reqnctapercluster",
                          ".func",
                          "\n"};
  uint64_t state = 1;
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (int i = 0; i < 30; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      text += pieces[(state >> 33) % std::size(pieces)];
      text += " ";
    }
    EXPECT_NE(said(text), "") << text;
  }
}

//===----------------------------------------------------------------------===//
// What Triton makes (scripts/regenerate-triton.py)
//===----------------------------------------------------------------------===//

struct Recorded {
  std::string name, ptx;
  worker::LaunchPlan plan;
};

std::string readAll(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::vector<Recorded> recorded() {
  std::vector<Recorded> all;
  std::filesystem::path folder = FASTK_SOURCE_DIR "/test/Inputs/triton";
  for (const auto &each : std::filesystem::recursive_directory_iterator(folder))
    if (each.path().filename() == "kernel.ptx") {
      std::string error;
      auto plan = worker::parseLaunchPlan(
          readAll(each.path().parent_path() / "plan.json"), error);
      EXPECT_TRUE(plan) << error;
      all.push_back({each.path().parent_path().filename().string(),
                     readAll(each.path()),
                     plan.value_or(worker::LaunchPlan())});
    }
  return all;
}

TEST(TritonsPTX, IsTaken) {
  std::vector<Recorded> all = recorded();
  EXPECT_EQ(all.size(), 4u);
  for (const Recorded &each : all) {
    EXPECT_EQ(said(each.ptx, each.plan), "") << each.name;
    EXPECT_TRUE(findUnfenced(each.ptx).empty()) << each.name;
  }
}

NVRTC_TEST(TritonsPTX, IsAssembled) {
  if (findPtxas().empty()) {
    printf("needs ptxas, which was not found\n");
    return;
  }
  for (const Recorded &each : recorded()) {
    CompileResult result = assembleInChild({each.ptx, "sm_90a"});
    ASSERT_TRUE(result.ok()) << each.name << ": " << result.error;
    Cubin cubin;
    ASSERT_EQ(readCubin(result.cubin, cubin), "");
    EXPECT_EQ(compareArguments(each.plan, cubin), "") << each.name;
  }
}

} // namespace
