//===- HostBenchmarks.h - Rates of the machine, measured --------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_TARGET_HOSTBENCHMARKS_H
#define FASTK_LIB_TARGET_HOSTBENCHMARKS_H

#include "fastk/Target/TargetDescription.h"

namespace fastk {

/// Fills in the measured rates of `host`, whose threads, cores, caches and
/// vector width are known, and whether the machine was quiet meanwhile.
void measureRates(TargetDescription &host);

} // namespace fastk

#endif // FASTK_LIB_TARGET_HOSTBENCHMARKS_H
