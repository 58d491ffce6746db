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

/// Stores the first N lanes of integers that were wider before, a number that
/// the compiler knows, and looks at what is behind.
static const char *kStores = R"(
#define STORE_(suffix, element, wide, N) \
  __attribute__((noinline)) static int store_##suffix##_##N(const wide *from) { \
    element out[LANES + 8]; \
    for (int i = 0; i < LANES + 8; ++i) out[i] = 77; \
    fk_store_##suffix(out, __builtin_convertvector(*from, v##suffix), N); \
    for (int i = 0; i < LANES + 8; ++i) \
      if (out[i] != (i < N ? (element)(*from)[i % LANES] : 77)) \
        return printf(#suffix " of " #N " at %d\n", i), 1; \
    return 0; \
  }
#define STORES_(suffix, element, wide) \
  STORE_(suffix, element, wide, 1) STORE_(suffix, element, wide, 2) STORE_(suffix, element, wide, 3)
STORES_(bf16, uint16_t, vi32)
STORES_(i8, int8_t, vi32)
STORES_(b8, uint8_t, vi32)
STORES_(i16, int16_t, vi32)
STORES_(i32, int32_t, vi64)
#define RUN_(suffix, from) store_##suffix##_1(from) || store_##suffix##_2(from) || store_##suffix##_3(from)
int main(int argc, char **argv) {
  vi32 x;
  vi64 y;
  for (int i = 0; i < LANES; ++i) x[i] = y[i] = argc + i;
  return RUN_(bf16, &x) || RUN_(i8, &x) || RUN_(b8, &x) || RUN_(i16, &x) || RUN_(i32, &y);
}
)";

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
    EXPECT_EQ(runOnHost("#include <stdio.h>\n#define LANES " +
                            std::to_string(machine.lanes()) + "\n" +
                            catalog::preamble(program) + kStores,
                        "c"),
              "");
  }
}
