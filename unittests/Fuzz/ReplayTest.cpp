//===- ReplayTest.cpp - What fuzzing found, and what it cannot reach ------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every file of Findings/TARGET once broke a promise of that target. Inputs
// that are too long for a fuzzer to come by are made here.
//
//===----------------------------------------------------------------------===//

#include "FuzzTargets.h"
#include "ModelFromBytes.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"
#include <random>

using namespace fastk::fuzz;

namespace {

struct Target {
  const char *name;
  void (*run)(std::string_view);
};

class Replay : public testing::TestWithParam<Target> {};

std::string readFile(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  EXPECT_TRUE(static_cast<bool>(buffer)) << path;
  return buffer ? (*buffer)->getBuffer().str() : "";
}

std::string repeated(const std::string &part, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i)
    text += part;
  return text;
}

/// Deep enough for the stack of any machine.
constexpr size_t kDeep = 200000;

TEST_P(Replay, Findings) {
  std::error_code code;
  llvm::sys::fs::directory_iterator it(
      std::string(FASTK_FUZZ_FINDINGS "/") + GetParam().name, code);
  for (llvm::sys::fs::directory_iterator end; !code && it != end;
       it.increment(code)) {
    SCOPED_TRACE(it->path());
    GetParam().run(readFile(it->path()));
  }
}

TEST_P(Replay, AnyShortInput) {
  for (const char *text : {"", "\n", "{", "}", "[]", "{}", "null", "\"", "\\",
                           "raw\n", "bytes\n", "//PROGRAM\n", "\xff\xfe"})
    GetParam().run(text);
  GetParam().run(std::string_view("\0", 1));
  GetParam().run(std::string(1 << 16, '\0'));
}

TEST_P(Replay, DeepBrackets) {
  for (const char *open : {"[", "{", "(", "<", "{\"a\":", "{a = "})
    GetParam().run(repeated(open, kDeep));
  GetParam().run(repeated("[", kDeep) + repeated("]", kDeep));
  GetParam().run(repeated("{\"a\":", kDeep) + "1" + repeated("}", kDeep));
}

INSTANTIATE_TEST_SUITE_P(
    Targets, Replay,
    testing::Values(Target{"job", fuzzJob}, Target{"verdict", fuzzVerdict},
                    Target{"plan", fuzzPlan}, Target{"bank", fuzzBank},
                    Target{"journal", fuzzJournal}),
    [](const auto &target) { return std::string(target.param.name); });
// Models are the user's own, and MLIR's parser is MLIR's: only what parses is
// this target's business.
INSTANTIATE_TEST_SUITE_P(Formation, Replay,
                         testing::Values(Target{"formation", fuzzFormation}),
                         [](const auto &) { return "formation"; });

const std::string kHeader =
    "{\"type\":\"header\",\"format\":1,\"binding\":[[\"key\",\"k\"],"
    "[\"worker\",\"w\"]],\"about\":{}}\n";

TEST(Journal, DeepEvents) {
  std::string deep = repeated("[", kDeep) + repeated("]", kDeep);
  fuzzJournal(kHeader +
              "{\"type\":\"ideas\",\"name\":\"x\",\"elapsed\":1,\"ideas\":" +
              deep + "}\n");
  fuzzJournal(kHeader +
              "{\"type\":\"evaluation\",\"name\":\"x\",\"elapsed\":1,"
              "\"verdict\":" +
              deep + "}\n");
}

// Sums of what was spent stay sums, and numbers of a device are of its types.
TEST(Journal, HugeNumbers) {
  std::string exchange =
      "\"elapsed\":1e308,\"prompt\":{\"kind\":\"zz\",\"sample\":1e300},"
      "\"reply\":{\"usage\":{\"input_tokens\":9223372036854775807,"
      "\"output_tokens\":9223372036854775807,\"attempts\":-5,"
      "\"usd\":-1e308}}}\n";
  fuzzJournal(
      kHeader +
      "{\"type\":\"counts\",\"name\":\"0\",\"elapsed\":1,"
      "\"counts\":[1e300,99999999999999999999,-1]}\n"
      "{\"type\":\"device\",\"name\":\"device\",\"elapsed\":2,\"device\":"
      "{\"target\":\"host\",\"threads\":1e300,\"cores\":-5,"
      "\"l1_bytes\":1e300,\"l2_bytes\":-1e300}}\n"
      "{\"type\":\"exchange\",\"name\":\"x y\"," +
      exchange + "{\"type\":\"exchange\",\"name\":\"x z\"," + exchange);
}

class DeepWinner : public testing::Test {
protected:
  /// A whole winner, with `what` in its record or its pattern.
  std::string winner(const std::string &inRecord,
                     const std::string &inPattern = "") {
    std::string text = readFile(FASTK_TEST_BANK "/lowering.mlir");
    text.insert(text.find("record = {") + 10, inRecord);
    text.insert(text.find(":\n", text.find("pattern {")) + 2, inPattern);
    return text + "//PROGRAM\n" + readFile(FASTK_TEST_BANK "/kernel.c");
  }
};

TEST_F(DeepWinner, Record) {
  fuzzBank(winner(""));
  fuzzBank(winner("z = " + repeated("{a = ", kDeep) + "1" +
                  repeated("}", kDeep) + ", "));
  fuzzBank(winner("z = " + repeated("[", 5000) + repeated("]", 5000) + ", "));
}

// Behind the head, which is short: the whole file reaches MLIR's parser.
TEST_F(DeepWinner, Pattern) {
  for (const char *open : {"tuple<", "[", "(", "{a = "})
    fuzzBank(winner("", repeated(open, kDeep)));
  fuzzBank(winner("", "%t = arith.constant {z = affine_map<(d0) -> (" +
                          repeated("(", kDeep) + "d0" + repeated(")", kDeep) +
                          ")>} 0.0 : f32\n"));
}

// MLIR's reader of this op follows a null pointer.
TEST_F(DeepWinner, NamedOp) {
  fuzzBank(winner("", "%t = linalg.transpose ins(%arg0 : tensor<64x128xf32>) "
                      "outs(%arg0 : tensor<64x128xf32>) permutation = [x]\n"));
}

TEST(Formation, RandomModels) {
  std::mt19937 random(2026);
  for (int model = 0; model < 40; ++model) {
    std::string bytes(1 + random() % 60, '\0');
    for (char &byte : bytes)
      byte = static_cast<char>(random());
    SCOPED_TRACE(modelFromBytes(bytes));
    fuzzFormation("bytes\n" + bytes);
  }
}

} // namespace
