//===- ChildProtocol.h - Between a process and its compiler -----*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One request in, until the parent shuts its side down; one result out, until
// the child ends.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CUDA_CHILDPROTOCOL_H
#define FASTK_LIB_CUDA_CHILDPROTOCOL_H

namespace fastk::cuda {

/// The hidden argument that makes a program the compiler's child.
inline constexpr const char *nvrtcChildFlag = "--fastk-nvrtc-child";
/// The one that makes it ptxas.
inline constexpr const char *ptxasChildFlag = "--fastk-ptxas-child";
/// Its descriptors: what to do, the PTX, the cubin, the messages.
inline constexpr int ptxasRequest = 3;
inline constexpr int ptxasInput = 4;
inline constexpr int ptxasOutput = 5;
inline constexpr int ptxasLog = 6;
/// Where its sandbox cannot be set up, where it cannot be started.
inline constexpr int noSandboxExit = 126;
inline constexpr int notStartedExit = 127;

/// The child's end of the socket.
inline constexpr int nvrtcChildSocket = 3;
/// One page where the sandbox leaves a note of a forbidden call.
inline constexpr int nvrtcChildNotes = 4;
/// Exit codes beside 0 (a result was written) and 2 (a broken request).
inline constexpr int outOfMemoryExit = 12;
/// The worker's sandbox ends a process with this on a forbidden system call.
inline constexpr int forbiddenCallExit = 159;

} // namespace fastk::cuda

#endif // FASTK_LIB_CUDA_CHILDPROTOCOL_H
