//===- ChildRegistry.h - Children to kill when the worker is ----*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_PROCESS_CHILDREGISTRY_H
#define FASTK_LIB_WORKER_PROCESS_CHILDREGISTRY_H

#include <functional>
#include <sys/types.h>

namespace fastk::worker {

void rememberChild(pid_t pid);
void forgetChild(pid_t pid);

/// Of those that are remembered.
void forEachChild(const std::function<void(pid_t)> &visit);

/// Kills every child of this process at once. Safe in a signal handler.
void killAllChildren();

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_PROCESS_CHILDREGISTRY_H
