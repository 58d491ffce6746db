//===- SanitizerDefaults.cpp - What the sanitizers take for granted -------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM's libraries are not instrumented, its headers, as part of our code, are:
// one poisons memory of allocators and containers that the other then uses.
// OpenMP's runtime does not give back what its threads have. Part of every
// program that is built with FASTK_SANITIZE.
//
//===----------------------------------------------------------------------===//

extern "C" const char *__asan_default_options();
extern "C" const char *__lsan_default_suppressions();

const char *__asan_default_options() {
  return "allow_user_poisoning=0:detect_container_overflow=0";
}

const char *__lsan_default_suppressions() { return "leak:libomp.so\n"; }
