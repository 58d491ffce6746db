//===- Worker.h - Evaluates one job -----------------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_WORKER_WORKER_H
#define FASTK_WORKER_WORKER_H

#include "fastk/Protocol/Job.h"
#include "fastk/Protocol/Verdict.h"

namespace fastk::worker {

/// Validates and times the candidate of \p job on this host. Every program
/// runs in a process that re-executes this one with a hidden argument, so the
/// caller's main() must begin with childMain(). Never fails: what goes wrong is
/// the verdict.
Verdict evaluate(const Job &job);

/// Why programs of a device cannot be judged here; empty when they can.
/// \p missing gets the protections that this machine does not offer them.
std::string checkDevice(DeviceKind device,
                        std::vector<std::string> *missing = nullptr);

/// Runs as a program's process if the command line says so; returns whether it
/// did, with the exit code in \p code.
bool childMain(int argc, char **argv, int &code);

/// Kills all processes of programs. Safe in a signal handler.
void killAllPrograms();

/// For the handler of a signal that ends this process: true where something is
/// to be said first, on another thread; the signal then comes a second time.
bool handsOverEnding(int signal);

} // namespace fastk::worker

#endif // FASTK_WORKER_WORKER_H
