//===- CompareOracles.h - The device's oracle against the host's *- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_JUDGE_COMPAREORACLES_H
#define FASTK_LIB_WORKER_JUDGE_COMPAREORACLES_H

#include "Device.h"

namespace fastk::worker {

/// Mode compare: runs the oracle on the device and the host's in a process of
/// this machine, on the same operands. `ok` where they agree, `disagreement`
/// where they do not, `error` where they could not be compared.
Verdict compareOracles(Device &device);

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_JUDGE_COMPAREORACLES_H
