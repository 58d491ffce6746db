//===- FuzzMain.cpp - One target for libFuzzer ----------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FuzzTargets.h"
#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fastk::fuzz::FASTK_FUZZ_TARGET(
      std::string_view(reinterpret_cast<const char *>(data), size));
  return 0;
}
