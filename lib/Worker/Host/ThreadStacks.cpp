//===- ThreadStacks.cpp - What lies below the stacks of threads -----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The C library puts the stacks of threads one below the other, with one page
// between that faults: a frame of more than a page steps over it, into the
// stack of another thread, and nobody sees. OpenMP's runtimes ask for no more.
// So this executable has a pthread_create of its own, which libraries find
// before the C library's, and asks for them.
//
//===----------------------------------------------------------------------===//

#include "ThreadStacks.h"
#include <algorithm>
#include <cerrno>
#include <dlfcn.h>
#include <pthread.h>

#ifndef __has_feature
#define __has_feature(feature) 0
#endif

using namespace fastk::worker;

/// 0 in the worker itself.
static size_t guardBytes = 0;

void fastk::worker::guardThreadStacks() { guardBytes = threadGuardBytes; }

// The sanitizers have one of their own.
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer) &&   \
    !__has_feature(memory_sanitizer)

using Start = void *(*)(void *);
using Create = int (*)(pthread_t *, const pthread_attr_t *, Start, void *);

/// As asked for, but for what lies below the stack.
static int createGuarded(Create create, pthread_t *thread,
                         const pthread_attr_t *asked, Start start,
                         void *argument) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0)
    return create(thread, asked, start, argument);
  if (asked) {
    // What it holds by pointers stays that of who asked.
    size_t guard = 0;
    attributes = *asked;
    pthread_attr_getguardsize(&attributes, &guard);
    pthread_attr_setguardsize(&attributes, std::max(guard, guardBytes));
    return create(thread, &attributes, start, argument);
  }
  pthread_attr_setguardsize(&attributes, guardBytes);
  int result = create(thread, &attributes, start, argument);
  pthread_attr_destroy(&attributes);
  return result;
}

extern "C" __attribute__((visibility("default"))) int
pthread_create(pthread_t *thread, const pthread_attr_t *attributes, Start start,
               void *argument) noexcept {
  static const auto create =
      reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  if (!create)
    return EAGAIN;
  return guardBytes == 0
             ? create(thread, attributes, start, argument)
             : createGuarded(create, thread, attributes, start, argument);
}

#endif
