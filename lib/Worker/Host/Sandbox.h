//===- Sandbox.h - What a program may not do --------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs inside the child, before any of the program's code. Whatever the kernel
// or the container does not offer is left out, and the caller learns what is in
// force.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_HOST_SANDBOX_H
#define FASTK_LIB_WORKER_HOST_SANDBOX_H

#include "Protocol.h"

namespace fastk::worker {

/// Limits, user, capabilities, network, Landlock and the system calls that
/// loading a shared object needs. Returns the bits of Protection in force.
/// With \p mayExecute the process may become another program, which keeps all
/// of this but the note of a forbidden call: it ends by SIGSYS.
uint32_t enterSandbox(const Message &start, ControlPage *control,
                      bool mayExecute = false);

/// Why the system call filter is not in force, as errno; ENOMEM where memory
/// ran out while it was made. 0 while nothing failed.
int filterError();

/// After loading: no more files, no more executable memory. Returns whether
/// the filter is in force.
bool lockSandbox(const Message &start);

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_HOST_SANDBOX_H
