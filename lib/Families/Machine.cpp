//===- Machine.cpp - The machine that C is written for --------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/Machine.h"
#include "fastk/Target/TargetDescription.h"
#include <algorithm>

using namespace fastk;

catalog::Machine catalog::machineOf(const TargetDescription &host) {
  Machine machine;
  machine.vectorBytes = host.vectorBytes >= 64   ? 64
                        : host.vectorBytes >= 32 ? 32
                                                 : 16;
  machine.threads = std::max(1u, host.threads);
  if (host.l1Bytes > 0)
    machine.l1Bytes = host.l1Bytes;
  if (host.l2Bytes > 0)
    machine.l2Bytes = host.l2Bytes;
  if (host.l3Bytes > 0)
    machine.l3Bytes = host.l3Bytes;
  return machine;
}
