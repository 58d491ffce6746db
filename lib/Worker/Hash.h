//===- Hash.h - Hashes of buffers -------------------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_HASH_H
#define FASTK_LIB_WORKER_HASH_H

#include <cstddef>
#include <cstdint>

namespace fastk::worker {

/// Depends on every byte; computed by several threads, at the speed of memory.
uint64_t hashBytes(const char *data, size_t bytes);

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_HASH_H
