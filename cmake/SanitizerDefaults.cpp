//===- SanitizerDefaults.cpp - What the address sanitizer assumes ---------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM's libraries are not instrumented, its headers, as part of our code, are:
// one poisons memory of allocators and containers that the other then uses.
// Part of every program that is built with FASTK_SANITIZE.
//
//===----------------------------------------------------------------------===//

extern "C" const char *__asan_default_options();

const char *__asan_default_options() {
  return "allow_user_poisoning=0:detect_container_overflow=0";
}
