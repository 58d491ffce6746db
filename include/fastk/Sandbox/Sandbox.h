//===- Sandbox.h - What a program may not do --------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs inside a child process, before any code that is not ours. Whatever the
// kernel or the container does not offer is left out, and the caller learns
// what is in force.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_SANDBOX_SANDBOX_H
#define FASTK_SANDBOX_SANDBOX_H

#include <atomic>
#include <cstdint>

namespace fastk::sandbox {

/// Which protections a process could put up, as bits.
enum Protection : uint32_t {
  ProtectRlimits = 1 << 0,
  ProtectNoNewPrivileges = 1 << 1,
  ProtectCapabilities = 1 << 2,
  ProtectUser = 1 << 3,
  ProtectNetwork = 1 << 4,
  ProtectLandlock = 1 << 5,
  ProtectSeccomp = 1 << 6,
  ProtectThreads = 1 << 7
};

/// What a process may take.
struct Limits {
  uint64_t addressSpaceBytes;
  /// Of one mapping, once the sandbox is locked.
  uint64_t largestMapping;
  /// Of a file that it writes.
  uint64_t fileBytes;
  uint64_t cpuSeconds;
  /// Of the main thread's stack.
  uint64_t stackBytes;
  /// Binds where the process gets a user of its own.
  uint32_t threadLimit;
  uint32_t uid; ///< The user that it becomes; 0: it stays what it is.
};

/// Where a forbidden system call is noted, in memory that another process maps.
struct DeniedCall {
  /// 1 + its number.
  std::atomic<uint32_t> call;
  /// Its second argument.
  std::atomic<uint64_t> argument;
};

/// Limits, user, capabilities, network, Landlock and the system calls that
/// loading a shared object needs. Returns the bits of Protection in force.
/// With \p mayExecute the process may become another program, which keeps all
/// of this but the note of a forbidden call: it ends by SIGSYS.
uint32_t enterSandbox(const Limits &limits, DeniedCall *denied,
                      bool mayExecute = false);

/// Why the system call filter is not in force, as errno; ENOMEM where memory
/// ran out while it was made. 0 while nothing failed.
int filterError();

/// After loading: no more files, no more executable memory. Returns whether
/// the filter is in force.
bool lockSandbox(const Limits &limits);

} // namespace fastk::sandbox

#endif // FASTK_SANDBOX_SANDBOX_H
