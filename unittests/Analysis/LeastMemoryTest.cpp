//===- LeastMemoryTest.cpp - What a call of a model takes at least --------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Analysis/LeastMemory.h"
#include "ParsedModule.h"
#include "fastk/System/AvailableMemory.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace fastk;

/// Workloads that make tensors of 1000 f32 each, in the lines of `body`: each
/// "%c = %a %b" reads the two.
static MemoryNeed needOf(const std::string &lines, const std::string &results) {
  std::string text = "func.func @f(%x: tensor<1000xf32>) -> (";
  int64_t count = llvm::StringRef(results).count('%');
  for (int64_t i = 0; i < count; ++i)
    text += i ? ", tensor<1000xf32>" : "tensor<1000xf32>";
  text += ") {\n";
  for (llvm::StringRef line : llvm::split(lines, ';')) {
    auto [result, operands] = line.trim().split(" = ");
    auto [a, b] = operands.split(' ');
    text += (result + " = fastk.workload \"w\"(" + a + ", " + b +
             ") : (tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xf32> {\n"
             "^bb0(%l: tensor<1000xf32>, %r: tensor<1000xf32>):\n"
             "fastk.yield %l : tensor<1000xf32>\n}\n")
                .str();
  }
  text += "return " + results + " : ";
  for (int64_t i = 0; i < count; ++i)
    text += i ? ", tensor<1000xf32>" : "tensor<1000xf32>";
  text += "\n}\n";
  ParsedModule module(text);
  return leastMemory(cast<func::FuncOp>(module.body().getParentOp()));
}

TEST(LeastMemory, WhatIsAliveAtOnce) {
  // %a and %b are alive when %c is made, which is a result.
  MemoryNeed need = needOf("%a = %x %x; %b = %a %x; %c = %a %b", "%c");
  EXPECT_EQ(need.arguments, 4000);
  EXPECT_EQ(need.results, 4000);
  EXPECT_EQ(need.temporaries, 8000);
  // A chain needs the one before and the next.
  need = needOf("%a = %x %x; %b = %a %a; %c = %b %b; %d = %c %c; %e = %d %d",
                "%e");
  EXPECT_EQ(need.temporaries, 8000);
  // What is read late stays.
  need = needOf("%a = %x %x; %b = %a %a; %c = %b %b; %d = %c %a", "%d");
  EXPECT_EQ(need.temporaries, 12000);
  EXPECT_EQ(needOf("%a = %x %x; %b = %a %a", "%a, %b").temporaries, 0);
}

TEST(LeastMemory, Message) {
  MemoryNeed need{4.4e12, 4.4e12, 500};
  EXPECT_EQ(need.explainShortage(int64_t(16) * 1000 * 1000 * 1000),
            "takes at least 8.8 TB of memory (arguments 4.4 TB, results 4.4 "
            "TB, temporaries 500 B), and 16.0 GB are available");
  EXPECT_EQ(need.explainShortage(int64_t(1) << 50), "");
}

TEST(AvailableMemory, IsSome) {
  EXPECT_GT(availableMemory(), 1 << 20);
  EXPECT_GE(totalMemory(), availableMemory());
}
