//===- Fleet.h - A worker for each GPU --------------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_TOOLS_FASTK_WORKER_FLEET_H
#define FASTK_TOOLS_FASTK_WORKER_FLEET_H

#include "SpoolCommand.h"

namespace fastk::worker {

/// Runs a worker for each GPU that the command names, in a process of its own
/// that sees no other, and shows what they say with the GPU before it. One that
/// dies is started again; one that does so at once and again is given up. Ends
/// when all have, or with a signal, which it hands on. Returns the exit code.
int runFleet(const SpoolCommand &command);

} // namespace fastk::worker

#endif // FASTK_TOOLS_FASTK_WORKER_FLEET_H
