//===- RandomPrograms.cpp - Prints models of random programs --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// fastk-test-programs SEED COUNT: the functions that
// python/tests/random_programs compiles and runs.
//
//===----------------------------------------------------------------------===//

#include "ModelFromBytes.h"
#include <cerrno>
#include <cstdio>
#include <cstdlib>

/// A decimal number and nothing else; exits otherwise.
static unsigned long long numberOf(const char *text, const char *name) {
  char *end = nullptr;
  errno = 0;
  unsigned long long number = std::strtoull(text, &end, 10);
  if (errno || end == text || *end) {
    std::fprintf(stderr, "error: %s is no number: '%s'\n", name, text);
    std::exit(1);
  }
  return number;
}

int main(int argc, char **argv) {
  if (argc != 3) {
    std::fputs("usage: fastk-test-programs SEED COUNT\n", stderr);
    return 1;
  }
  unsigned long long seed = numberOf(argv[1], "SEED"),
                     count = numberOf(argv[2], "COUNT");
  for (unsigned long long i = 0; i < count; ++i)
    std::fputs(fastk::fuzz::runnableProgram(seed + i).c_str(), stdout);
  return std::fflush(stdout) == 0 ? 0 : 1;
}
