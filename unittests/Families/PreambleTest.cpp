//===- PreambleTest.cpp - Helpers of C programs ---------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostProgram.h"
#include "fastk/Families/Emitter.h"
#include "fastk/Families/Machine.h"
#include "gtest/gtest.h"

using namespace fastk;
using namespace fastk::test;

/// Stores the first `count` lanes of integers that were wider before, for
/// counts that the compiler knows, and looks at what is behind.
static std::string storesOf(llvm::StringRef suffix, llvm::StringRef element,
                            llvm::StringRef wide) {
  std::string text;
  for (int count : {1, 2, 3}) {
    std::string n = std::to_string(count);
    text += ("  {\n    " + element + " out[LANES + 8];\n" +
             "    for (int i = 0; i < LANES + 8; ++i) out[i] = 77;\n    " +
             wide + " from;\n" +
             "    for (int i = 0; i < LANES; ++i) from[i] = seed + i;\n" +
             "    store_" + suffix + "_" + n + "(out, &from);\n" +
             "    for (int i = 0; i < LANES + 8; ++i)\n      if (out[i] != (i "
             "< " +
             n + " ? (" + element + ")(seed + i) : 77)) return printf(\"" +
             suffix + " of " + n + " at %d\\n\", i), 1;\n  }\n")
                .str();
  }
  return text;
}
static std::string functionsOf(llvm::StringRef suffix, llvm::StringRef element,
                               llvm::StringRef wide) {
  std::string text;
  for (int count : {1, 2, 3}) {
    std::string n = std::to_string(count);
    text +=
        ("__attribute__((noinline)) static void store_" + suffix + "_" + n +
         "(" + element + " *p, " + wide + " *v) { fk_store_" + suffix +
         "(p, __builtin_convertvector(*v, v" + suffix + "), " + n + "); }\n")
            .str();
  }
  return text;
}

/// clang stored two bytes too many, of a bf16 that is the last of a row.
TEST(PreambleTest, LanesThatAreStoredAreAsWideAsTheirType) {
  catalog::Machine machine;
  for (unsigned bytes : {16, 32, 64}) {
    machine.vectorBytes = bytes;
    machine.isNarrowed = bytes < 64;
    catalog::Program program(machine.lanes(), 1);
    program.masksByRegisters = machine.masksByRegisters();
    program.knowsBF16 = true;
    for (const char *helper :
         {"store_bf16", "store_i8", "store_b8", "store_i16", "store_i32"})
      program.helper(helper);
    std::string functions, stores;
    for (auto [suffix, element, wide] : {std::tuple("bf16", "uint16_t", "vi32"),
                                         {"i8", "int8_t", "vi32"},
                                         {"b8", "uint8_t", "vi32"},
                                         {"i16", "int16_t", "vi32"},
                                         {"i32", "int32_t", "vi64"}}) {
      functions += functionsOf(suffix, element, wide);
      stores += storesOf(suffix, element, wide);
    }
    EXPECT_EQ(runOnHost("#include <stdio.h>\n#define LANES " +
                            std::to_string(machine.lanes()) + "\n" +
                            catalog::preamble(program) + functions +
                            "int main(int argc, char **argv) {\n  const int "
                            "seed = argc;\n" +
                            stores + "  return 0;\n}\n",
                        "c"),
              "");
  }
}
