//===- VectorLimit.cpp - The widest vectors that code may use -------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/System/VectorLimit.h"
#include <cstdio>
#include <cstdlib>
#include <string_view>

unsigned fastk::parseVectorLimit(const char *value) {
  std::string_view text = value ? value : "";
  if (text.empty() || text == "64")
    return 64;
  return text == "32" ? 32 : 0;
}

static unsigned limitHere() {
  return fastk::parseVectorLimit(std::getenv("FASTK_VECTOR_BYTES"));
}

unsigned fastk::vectorLimit() {
  static const unsigned limit = limitHere();
  return limit == 0 ? 64 : limit;
}

bool fastk::checkVectorLimit(const char *program) {
  if (limitHere() != 0)
    return true;
  std::fprintf(
      stderr,
      "%s: error: FASTK_VECTOR_BYTES is '%s': it is the widest vectors "
      "of x86-64 that code may use, 32 (AVX2) or 64 (AVX-512) bytes\n",
      program, std::getenv("FASTK_VECTOR_BYTES"));
  return false;
}
