//===- AvailableMemory.h - How much memory there is -------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_SYSTEM_AVAILABLEMEMORY_H
#define FASTK_SYSTEM_AVAILABLEMEMORY_H

#include <cstdint>
#include <string>

namespace fastk {

/// Bytes of memory that this process can get: what the machine has left, and
/// no more than its control group and the process itself may have.
int64_t availableMemory();

/// The same if nobody else took any.
int64_t totalMemory();

/// "33.6 MB"; units are powers of 1000.
std::string showBytes(double bytes);

} // namespace fastk

#endif // FASTK_SYSTEM_AVAILABLEMEMORY_H
