//===- DelayPTXTest.cpp - Delays in PTX, and fences that are missing ------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Cuda/DelayPTX.h"
#include "CudaTest.h"
#include "PTXFlow.h"
#include "fastk/Cuda/CompileInChild.h"
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

using namespace fastk::cuda;
namespace fs = std::filesystem;

namespace {

const char header[] = ".version 8.0\n.target sm_90a\n.address_size 64\n";

/// A kernel with \p body between a load of the parameter and ret.
std::string kernel(const std::string &body) {
  return std::string(header) +
         ".visible .entry k(.param .u64 p) {\n.reg .pred %p<4>;\n.reg .b32 "
         "%r<40>;\n.reg .f32 %f<40>;\n.reg .b64 %d<4>;\n"
         ".shared .align 1024 .b8 s[4096];\nmov.u32 %r1, %tid.x;\n" +
         body + "\nret;\n}\n";
}

std::string mma() {
  std::string registers;
  for (int i = 0; i < 32; ++i)
    registers += (i ? ", %f" : "%f") + std::to_string(i);
  return "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {" + registers +
         "}, %d1, %d2, 1, 1, 1, 0, 0;\n";
}

std::string textOf(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(file)), {});
}

/// The tests' and winners' kernels that are in the source tree.
std::vector<fs::path> kernelsIn(const std::string &folder,
                                const std::string &begin) {
  std::vector<fs::path> found;
  for (const fs::directory_entry &entry :
       fs::directory_iterator(FASTK_SOURCE_DIR "/" + folder)) {
    fs::path path = entry.path() / "kernel.cu";
    if (entry.path().filename().string().compare(0, begin.size(), begin) == 0 &&
        fs::exists(path))
      found.push_back(path);
  }
  return found;
}

std::string ptxOf(const std::string &source, bool isBroken) {
  CompileRequest request;
  request.source = source;
  if (isBroken)
    request.defines.push_back({"BROKEN", "1"});
  static Headers headers;
  std::string error;
  const Nvrtc *nvrtc = Nvrtc::get(error);
  EXPECT_TRUE(nvrtc) << error;
  if (headers.empty())
    headers = readToolkitHeaders(nvrtc->toolkit().include);
  CompileResult result = nvrtc->compile(request, headers);
  EXPECT_TRUE(result.ok()) << result.error;
  return result.ptx;
}

/// Whether ptxas takes it; its complaint otherwise.
std::string assemble(const std::string &ptx) {
  fs::path base = fs::path(testing::TempDir()) /
                  ("fastk-delays-" + std::to_string(getpid()));
  std::string source = base.string() + ".ptx", log = base.string() + ".log";
  std::ofstream(source) << ptx;
  std::string command = findPtxas() + " -arch=sm_90a " + source + " -o " +
                        base.string() + ".cubin > " + log + " 2>&1";
  std::string text =
      std::system(command.c_str()) == 0 ? "" : textOf(log) + "failed";
  for (const char *end : {".ptx", ".log", ".cubin"})
    fs::remove(base.string() + end);
  return text;
}

/// No place is where registers belong to products, and all names differ.
void expectWellPlaced(const DelayedPTX &delayed) {
  std::vector<PTXFunction> functions;
  std::string error;
  ASSERT_TRUE(readPTXFunctions(delayed.ptx, functions, error)) << error;
  int64_t places = 0;
  std::set<std::string> operands;
  for (const PTXFunction &function : functions) {
    std::vector<WgmmaState> states = wgmmaStates(function);
    for (size_t i = 0; i < function.statements.size(); ++i) {
      const PTXStatement &each = function.statements[i];
      if (!each.isA("nanosleep") ||
          each.tokens[1].find(delayed.variable) == std::string_view::npos)
        continue;
      ++places;
      EXPECT_FALSE(states[i].isOpen || states[i].isAhead);
      EXPECT_TRUE(operands.insert(std::string(each.tokens[1])).second);
    }
  }
  EXPECT_EQ(places, delayed.total());
}

} // namespace

TEST(DelayPTX, PlacesAreAroundWhatOrders) {
  std::string text = kernel("bar.sync 0;\nst.shared.u32 [s], %r1;\n"
                            "add.u32 %r2, %r1, 1;\nbar.sync 0;");
  DelayedPTX delayed = addDelays(text);
  ASSERT_EQ(delayed.error, "");
  EXPECT_EQ(delayed.places[uint32_t(DelayKind::Entry)], 1);
  // Before and after each; the store is next to the first.
  EXPECT_EQ(delayed.places[uint32_t(DelayKind::Barrier)], 4);
  EXPECT_EQ(delayed.places[uint32_t(DelayKind::Shared)], 0);
  EXPECT_EQ(delayed.total(), delayed.possible);
  expectWellPlaced(delayed);
  // What was there is there, in its order.
  size_t at = 0;
  for (const char *each : {"bar.sync 0;", "st.shared.u32 [s]", "add.u32 %r2",
                           "bar.sync 0;", "ret;"}) {
    at = delayed.ptx.find(each, at);
    ASSERT_NE(at, std::string::npos) << each;
  }
}

TEST(DelayPTX, NoPlaceBetweenFenceAndWait) {
  std::string open = "mbarrier.arrive.shared::cta.b64 _, [s];\n";
  std::string text =
      kernel(open + "wgmma.fence.sync.aligned;\n" + open + mma() + open +
             "wgmma.commit_group.sync.aligned;\n" + open +
             "wgmma.wait_group.sync.aligned 0;\n" + open);
  DelayedPTX delayed = addDelays(text);
  ASSERT_EQ(delayed.error, "");
  EXPECT_EQ(delayed.places[uint32_t(DelayKind::Mbarrier)], 4);
  expectWellPlaced(delayed);
}

TEST(DelayPTX, NoPlaceBeforeAProductWithoutAFenceOfItsOwn) {
  // Products go on after a wait, on the fence of those before.
  std::string open = "mbarrier.arrive.shared::cta.b64 _, [s];\n";
  std::string text = kernel(
      "wgmma.fence.sync.aligned;\n" + mma() +
      "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n" +
      open + mma() +
      "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n" +
      open);
  DelayedPTX delayed = addDelays(text);
  EXPECT_EQ(delayed.places[uint32_t(DelayKind::Mbarrier)], 2);
  expectWellPlaced(delayed);
}

TEST(DelayPTX, LoopsCarryAProductOverTheirEnd) {
  std::string text =
      kernel("$L:\nbar.sync 0;\nwgmma.fence.sync.aligned;\n" + mma() +
             "wgmma.commit_group.sync.aligned;\nsetp.eq.u32 %p1, %r1, 0;\n"
             "@%p1 bra $L;\nwgmma.wait_group.sync.aligned 0;");
  DelayedPTX delayed = addDelays(text);
  EXPECT_EQ(delayed.places[uint32_t(DelayKind::Barrier)], 0);
  expectWellPlaced(delayed);
}

TEST(DelayPTX, NamesAreNotTheProgramsOwn) {
  std::string text = kernel("{\n.reg .b32 fastk_delay_0a;\nmov.u32 "
                            "fastk_delay_0a, 1;\n}\nbar.sync 0;");
  DelayedPTX delayed = addDelays(text);
  ASSERT_EQ(delayed.error, "");
  EXPECT_EQ(text.find(delayed.variable), std::string::npos);
}

TEST(DelayPTX, LabelsOfBracesAreTheirOwn) {
  std::string wait =
      "{\n.reg .pred P;\nWAIT:\nmbarrier.try_wait.parity.shared"
      "::cta.b64 P, [s], 0;\n@P bra DONE;\nbra WAIT;\nDONE:\n}\n";
  std::vector<PTXFunction> functions;
  std::string error, text = kernel(wait + wait);
  ASSERT_TRUE(readPTXFunctions(text, functions, error)) << error;
  const std::vector<PTXStatement> &all = functions[0].statements;
  ASSERT_EQ(all.size(), 8u);
  EXPECT_EQ(all[3].next, std::vector<size_t>{1});
  EXPECT_EQ(all[6].next, std::vector<size_t>{4});
}

TEST(DelayPTX, BadPlacesAreLeftOut) {
  std::string body;
  for (int i = 0; i < 20; ++i)
    body += "bar.sync " + std::to_string(i % 16) + ";\n";
  std::string text = kernel(body);
  int64_t all = addDelays(text).possible;
  int asked = 0;
  auto isGood = [&](const DelayedPTX &variant) {
    ++asked;
    return variant.ptx.find(variant.variable + "7a") == std::string::npos;
  };
  std::vector<DelayedPTX> delayed = coverDelays(text, isGood, 40, 4);
  ASSERT_EQ(delayed.size(), 1u);
  EXPECT_EQ(delayed[0].total(), all - 1);
  EXPECT_LE(asked, 30);
  EXPECT_EQ(coverDelays(
                text, [](const DelayedPTX &) { return false; }, 40, 4)
                .size(),
            0u);
  EXPECT_EQ(coverDelays("no PTX", isGood, 40, 4).at(0).error.empty(), false);
}

/// What is too much for one variant is dealt out to several.
TEST(DelayPTX, VariantsCoverWhatOneCannotHold) {
  std::string body;
  for (int i = 0; i < 40; ++i)
    body += "bar.sync " + std::to_string(i % 16) + ";\n";
  std::string text = kernel(body);
  int64_t all = addDelays(text).possible;
  auto isGood = [&](const DelayedPTX &variant) {
    return variant.total() <= 16;
  };
  std::vector<DelayedPTX> delayed = coverDelays(text, isGood, 40, 4);
  ASSERT_GE(delayed.size(), 3u);
  ASSERT_LE(delayed.size(), 4u);
  int64_t places = 0;
  for (const DelayedPTX &each : delayed) {
    EXPECT_LE(each.total(), 16);
    EXPECT_LE(each.total(), delayed[0].total());
    places += each.total();
  }
  EXPECT_EQ(places, all);
  // Each place in one of them.
  for (int64_t number = 0; number < all; ++number) {
    int found = 0;
    for (const DelayedPTX &each : delayed)
      found += each.ptx.find("$" + each.variable + std::to_string(number) +
                             ":") != std::string::npos;
    EXPECT_EQ(found, 1) << number;
  }
  EXPECT_EQ(coverDelays(text, isGood, 40, 2).size(), 2u);
}

TEST(DelayPTX, WhatRacecheckCannotFollow) {
  auto beyond = [](const std::string &ptx) {
    return beyondRacecheck(ptx, {"k"});
  };
  EXPECT_EQ(beyond(kernel("bar.sync 0;")), "");
  EXPECT_EQ(beyond(kernel("cp.async.bulk.prefetch.L2.global [%d1], "
                          "%r1;")),
            "");
  for (const char *arrival :
       {"bar.arrive 1, 64;", "bar.cta.arrive 1, 64;",
        "barrier.arrive.aligned 1, 64;", "barrier.cta.arrive.aligned 1, 64;"})
    EXPECT_EQ(beyond(kernel(arrival)), "arrivals at named barriers");
  EXPECT_EQ(beyond(kernel("bar.sync 1, 64;")), "");
  EXPECT_EQ(beyond(kernel("mbarrier.arrive.shared::cta.b64 _, [s];")),
            "mbarriers");
  EXPECT_EQ(beyond(kernel("barrier.cluster.arrive.aligned;")),
            "other blocks' shared memory");
}

/// What no launch reaches excuses nothing: a kernel or a function that is only
/// there must not make a finding of racecheck an opinion.
TEST(DelayPTX, OnlyWhatIsLaunchedCounts) {
  std::string arrival = "mbarrier.arrive.shared::cta.b64 _, [s];";
  std::string function = ".func f() {\n.shared .b8 s[8];\n" + arrival +
                         "\natom.global.add.u32 %r1, [%d1], 1;\nret;\n}\n";
  std::string idle = std::string(header) + function +
                     ".visible .entry idle(.param .u64 p) {\n.shared .b8 "
                     "s[8];\n" +
                     arrival +
                     "\natom.global.add.u32 %r1, [%d1], 1;\nret;\n}\n";
  auto after = [](const std::string &text) {
    return text.substr(sizeof(header) - 1);
  };
  std::string plain = idle + after(kernel("bar.sync 0;"));
  EXPECT_EQ(beyondRacecheck(plain, {"k"}), "");
  EXPECT_FALSE(hasAtomics(plain, {"k"}));
  EXPECT_EQ(beyondRacecheck(plain, {"k", "idle"}), "mbarriers");
  EXPECT_TRUE(hasAtomics(plain, {"k", "idle"}));
  std::string calls = idle + after(kernel("call.uni f, ();"));
  EXPECT_EQ(beyondRacecheck(calls, {"k"}), "mbarriers");
  EXPECT_TRUE(hasAtomics(calls, {"k"}));
}

TEST(FindUnfenced, FencesOfProducts) {
  std::string rest = mma() + "wgmma.commit_group.sync.aligned;\n"
                             "wgmma.wait_group.sync.aligned 0;";
  EXPECT_EQ(findUnfenced(kernel("wgmma.fence.sync.aligned;\n" + rest)).size(),
            0u);
  EXPECT_EQ(findUnfenced(kernel(rest)).size(), 1u);
  // On one of two ways.
  EXPECT_EQ(findUnfenced(
                kernel("@%p1 bra $L;\nwgmma.fence.sync.aligned;\n$L:\n" + rest))
                .size(),
            1u);
}

TEST(FindUnfenced, FencesOfTheAsyncProxy) {
  std::string store = "st.shared.u32 [s], %r1;\n",
              copy =
                  "cp.async.bulk.global.shared::cta.bulk_group [%d1], [%r2], "
                  "%r3;\ncp.async.bulk.commit_group;\n"
                  "cp.async.bulk.wait_group.read 0;\n",
              fence = "fence.proxy.async.shared::cta;\n", bar = "bar.sync 0;\n";
  EXPECT_EQ(findUnfenced(kernel(store + bar + copy)).size(), 1u);
  EXPECT_EQ(findUnfenced(kernel(store + fence + bar + copy)).size(), 0u);
  // Of global memory, or before the store: no help.
  EXPECT_EQ(
      findUnfenced(kernel(store + "fence.proxy.async.global;\n" + bar + copy))
          .size(),
      1u);
  EXPECT_EQ(findUnfenced(kernel(fence + store + bar + copy)).size(), 1u);
  // Nothing is known of what it copies.
  EXPECT_EQ(findUnfenced(kernel(bar + copy)).size(), 0u);
  // What wgmma reads may have been loaded by TMA.
  std::string load =
                  "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx"
                  "::bytes [%r2], [%d1], %r3, [%r4];\n",
              product = "wgmma.fence.sync.aligned;\n" + mma();
  EXPECT_EQ(findUnfenced(kernel(store + bar + product)).size(), 1u);
  std::string read = "ld.shared.u32 %r5, [s];\n";
  EXPECT_EQ(findUnfenced(kernel(load + store + bar + product + read)).size(),
            0u);
  EXPECT_EQ(
      findUnfenced(kernel(load + store + fence + bar + product + read)).size(),
      0u);
  // But then nobody reads what was stored.
  EXPECT_EQ(findUnfenced(kernel(load + store + bar + product)).size(), 1u);
  EXPECT_EQ(findUnfenced(kernel(store + fence + bar + product)).size(), 0u);
}

TEST(FindUnfenced, BulkStoresThatNobodyAwaits) {
  auto findings = [](const std::string &body) {
    return findUnfenced(kernel(body)).size();
  };
  std::string store =
                  "cp.async.bulk.global.shared::cta.bulk_group [%d1], [%r2], "
                  "%r3;\n",
              tensor = "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add."
                       "tile.bulk_group [%d1, {%r2, %r3}], [%r4];\n",
              commit = "cp.async.bulk.commit_group;\n",
              wait = "cp.async.bulk.wait_group.read 0;\n", loop = "$L:\n",
              again = "@%p1 bra $L;\n";
  for (const std::string &each : {store, tensor}) {
    EXPECT_EQ(findings(each + commit), 1u);
    EXPECT_EQ(findings(each + commit + wait), 0u);
    EXPECT_EQ(findings(each + commit + "cp.async.bulk.wait_group 0;\n"), 0u);
    // What is in no group is not waited for.
    EXPECT_EQ(findings(each + wait), 1u);
    EXPECT_EQ(findings(each + wait + commit), 1u);
  }
  // All but the newest group; two of them.
  std::string shallow = "cp.async.bulk.wait_group.read 1;\n";
  EXPECT_EQ(findings(store + commit + shallow), 1u);
  EXPECT_EQ(findings(store + commit + commit + shallow), 0u);
  EXPECT_EQ(findings(store + commit + store + commit + shallow), 1u);
  EXPECT_EQ(findings(store + commit + store + commit + wait), 0u);
  // Each turn awaits the store of the one before; nobody that of the last.
  EXPECT_EQ(findings(loop + wait + store + commit + again), 1u);
  EXPECT_EQ(findings(loop + wait + store + commit + again + wait), 0u);
  EXPECT_EQ(findings(loop + shallow + store + commit + again + shallow), 1u);
  // Who has stored waits: the two conditions may be one.
  std::string skip = "@%p2 bra $M;\n", to = "$M:\nbar.sync 0;\n",
              skip2 = "@%p3 bra $N;\n", to2 = "$N:\n", skip3 = "@%p2 bra $O;\n";
  EXPECT_EQ(findings(skip + store + commit + to + skip2 + wait + to2), 0u);
  EXPECT_EQ(findings("@%p2 " + store + "@%p2 " + commit + "@%p2 " + wait), 0u);
  // In the turns after the last that stores.
  EXPECT_EQ(findings(loop + wait + "@%p2 " + store + commit + again), 0u);
  EXPECT_EQ(findings(loop + wait + skip + store + commit + to + again), 0u);
  EXPECT_EQ(findings(skip + store + commit + to), 1u);
  // The same condition, computed anew: who has stored stores in each turn.
  std::string first = "mov.u32 %r6, %tid.x;\nsetp.ne.s32 %p2, %r6, 0;\n",
              turn = loop + first + skip + wait + to + skip3 + store + commit +
                     "$O:\n" + again;
  EXPECT_EQ(findings(turn), 1u);
  EXPECT_EQ(findings(turn + skip2 + wait + to2), 0u);
  std::string other = "setp.ne.s32 %p3, %r1, 0;\n";
  EXPECT_EQ(findings(turn + other + skip2 + wait + to2), 0u);
  // Of something that changes: nobody knows.
  EXPECT_EQ(findings("mov.u32 %r6, 1;\n" + loop + "add.u32 %r6, %r6, 1;\n" +
                     "setp.ne.s32 %p2, %r6, 0;\n" + skip + wait + to + skip3 +
                     store + commit + "$O:\n" + again),
            0u);
  // A way that ends in a trap needs none.
  EXPECT_EQ(findings(store + commit + skip + wait + "ret;\n" + to + "trap;\n"),
            0u);
  // A function that it calls may.
  EXPECT_EQ(findings(store + commit + "call f;\n"), 0u);
  // Other copies are awaited otherwise.
  EXPECT_EQ(
      findings("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx"
               "::bytes [%r2], [%r3], %r5, [%r4];\n"),
      0u);
}

// All that is honest passes the rules and assembles with delays.
NVRTC_TEST(DelayPTX, WinnersAndHonestProgramsKeepTheirOrder) {
  std::vector<fs::path> all = kernelsIn("winners/sm_90a", "");
  EXPECT_GE(all.size(), 6u);
  for (const fs::path &path :
       kernelsIn("test/Integration/Cuda/exploits", "honest"))
    all.push_back(path);
  for (const fs::path &path : all) {
    SCOPED_TRACE(path.string());
    std::string ptx = ptxOf(textOf(path), false);
    EXPECT_EQ(findUnfenced(ptx), std::vector<std::string>());
    DelayedPTX delayed = addDelays(ptx);
    ASSERT_EQ(delayed.error, "");
    EXPECT_GE(delayed.total(), 1);
    expectWellPlaced(delayed);
    if (!findPtxas().empty())
      EXPECT_EQ(assemble(delayed.ptx), "");
  }
}

// Recorded by scripts/regenerate-triton.py.
NVRTC_TEST(DelayPTX, ProgramsOfTritonKeepTheirOrder) {
  size_t count = 0;
  for (const auto &each : fs::recursive_directory_iterator(
           fs::path(FASTK_SOURCE_DIR) / "test/Inputs/triton")) {
    if (each.path().filename() != "kernel.ptx")
      continue;
    SCOPED_TRACE(each.path().string());
    ++count;
    DelayedPTX delayed = addDelays(textOf(each.path()));
    ASSERT_EQ(delayed.error, "");
    EXPECT_GE(delayed.total(), 1);
    expectWellPlaced(delayed);
    if (!findPtxas().empty())
      EXPECT_EQ(assemble(delayed.ptx), "");
  }
  EXPECT_EQ(count, 4u);
}

NVRTC_TEST(DelayPTX, PairsAssembleAndRulesFindTheirs) {
  std::vector<fs::path> pairs = kernelsIn("test/Integration/Cuda/races", "");
  EXPECT_GE(pairs.size(), 20u);
  for (const fs::path &path : pairs)
    for (bool isBroken : {false, true}) {
      SCOPED_TRACE(path.string() + (isBroken ? ", broken" : ""));
      std::string text = textOf(path), ptx = ptxOf(text, isBroken);
      bool isForRules =
          isBroken &&
          (text.find("class: bulk store not awaited at the end") != text.npos ||
           text.find("class: missing fence.proxy.async") != text.npos ||
           text.find("class: missing wgmma.fence") != text.npos);
      EXPECT_EQ(findUnfenced(ptx).size(), isForRules ? 1u : 0u);
      DelayedPTX delayed = addDelays(ptx);
      ASSERT_EQ(delayed.error, "");
      expectWellPlaced(delayed);
      if (!findPtxas().empty())
        EXPECT_EQ(assemble(delayed.ptx), "");
    }
}
