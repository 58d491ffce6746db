//===- FileFaults.h - A file system that fails on demand --------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// FileFaults.cpp stands before libc: it defines open, write, rename, fsync and
// what else changes files, counts the calls that change something below one
// folder, and at the n-th of them does what it was told. It is linked into
// tests, and loaded with LD_PRELOAD into programs; no program of ours has it.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_UNITTESTS_FAULTS_FILEFAULTS_H
#define FASTK_UNITTESTS_FAULTS_FILEFAULTS_H

#include <string>

namespace fastk::test {

enum class Fault {
  None,        ///< Only counts.
  KillBefore,  ///< SIGKILL in place of the call.
  KillAfter,   ///< SIGKILL when the call is done.
  KillTorn,    ///< SIGKILL when half of the bytes are written.
  Short,       ///< Half of the bytes are written, and the call says so.
  NoSpace,     ///< ENOSPC from this call on, for all that needs space.
  NoSpaceOnce, ///< ENOSPC for this call, after half of the bytes.
  Io,          ///< EIO from this call on, for all.
  IoOnce,      ///< EIO for this call.
  NoExchange,  ///< No call: names are not exchanged, as on NFS.
};

/// Arms the fault for the `at`-th change (from 1) below `folder`.
void armFault(Fault fault, int at, const std::string &folder);
void disarmFault();
/// Changes below the folder since it was armed.
int faultCalls();

} // namespace fastk::test

#endif // FASTK_UNITTESTS_FAULTS_FILEFAULTS_H
