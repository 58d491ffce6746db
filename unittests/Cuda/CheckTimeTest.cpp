//===- CheckTimeTest.cpp - How long a check of PTX takes ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The check runs in the search, outside of any limit: its time grows with the
// text, whatever the text is. What is quadratic in 2 MiB takes minutes.
//
//===----------------------------------------------------------------------===//

#include "fastk/Cuda/PTXProgram.h"
#include "gtest/gtest.h"
#include <ctime>

using namespace fastk;
using namespace fastk::cuda;

namespace {

constexpr size_t kMiB = size_t(1) << 20;
const char *const kHeader = ".version 8.0\n.target sm_80\n.address_size 64\n";

/// Texts that \p make gives for 0, 1, 2..., up to \p bytes.
template <typename Make>
std::string repeat(size_t bytes, Make make) {
  std::string text;
  for (size_t i = 0; text.size() < bytes; ++i)
    text += make(i);
  return text;
}

/// As the tables of a program: names alone cost the least text.
std::string manyTables(size_t bytes) {
  return ".const .u8 " +
         repeat(bytes, [](size_t i) { return "t" + std::to_string(i) + ","; }) +
         "t;\n";
}

/// Processor time of the check of \p text, in seconds.
double secondsOf(const std::string &text,
                 const worker::LaunchPlan &plan = worker::LaunchPlan()) {
  std::string ptx = kHeader + text;
  EXPECT_LE(ptx.size(), 2 * kMiB);
  clock_t start = clock();
  checkPTXProgram(ptx, plan, "sm_90a");
  return double(clock() - start) / CLOCKS_PER_SEC;
}

/// Generous: a debug build on a slow machine.
constexpr double kMostSeconds = 10;

TEST(CheckTime, TablesAndEmptyFunctions) {
  EXPECT_LT(
      secondsOf(manyTables(kMiB - 1000) +
                repeat(kMiB - 1000, [](size_t) { return ".func f(){}\n"; })),
      kMostSeconds);
}

TEST(CheckTime, TablesAndFunctionsThatUseThem) {
  EXPECT_LT(secondsOf(manyTables(kMiB - 1000) +
                      repeat(kMiB - 1000,
                             [](size_t i) {
                               return ".func f(){mov.u64 a,t" +
                                      std::to_string(i) + ";}\n";
                             })),
            kMostSeconds);
}

TEST(CheckTime, OneInstructionOfManyTables) {
  std::string registers =
      repeat(kMiB / 3, [](size_t i) { return "%r" + std::to_string(i) + ","; });
  std::string sources =
      repeat(kMiB / 3, [](size_t i) { return ",t" + std::to_string(i); });
  EXPECT_LT(secondsOf(manyTables(kMiB - 1000) + ".func f(){mov.u64 {" +
                      registers + "%r}" + sources + ";}\n"),
            kMostSeconds);
}

TEST(CheckTime, ManyEntries) {
  std::string error;
  auto plan = worker::parseLaunchPlan(
      R"({"format": 1, "steps": [{"launch": "none", "grid": [1],
          "block": [1], "arguments": []}]})",
      error);
  ASSERT_TRUE(plan) << error;
  EXPECT_LT(secondsOf(repeat(2 * kMiB - 1000,
                             [](size_t) { return ".entry e(){}\n"; }),
                      *plan),
            kMostSeconds);
}

TEST(CheckTime, ManyPragmas) {
  EXPECT_LT(secondsOf(".entry e(){" +
                      repeat(2 * kMiB - 1000,
                             [](size_t i) {
                               return ".pragma \"" + std::to_string(i) +
                                      "\";\n";
                             }) +
                      "}"),
            kMostSeconds);
}

} // namespace
