//===- Arc4Random.cpp - Random numbers of a C library before 2.36 ---------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The archives of LLVM and of the C++ library call arc4random, which glibc has
// since 2.36; nothing else in them is newer than 2.34. Part of every
// self-contained program (cmake/modules/SelfContained.cmake) and of the
// runtime.
//
//===----------------------------------------------------------------------===//

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <sys/random.h>

extern "C" uint32_t arc4random() noexcept;

uint32_t arc4random() noexcept {
  uint32_t value = 0;
  // So few bytes come whole, or not at all.
  while (::getrandom(&value, sizeof(value), 0) != sizeof(value))
    if (errno != EINTR)
      std::abort();
  return value;
}
