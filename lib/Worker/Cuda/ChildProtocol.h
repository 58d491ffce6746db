//===- ChildProtocol.h - Between the worker and a GPU program ---*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A GPU program runs in a process and a CUDA context of its own: what it can
// address is its operands, results and workspaces, opened by handles, and
// nothing of the oracle's. The process is the worker's own code; only what it
// launches is not trusted. Messages are frames on a socket: a header, then
// `bytes` of payload.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_CUDA_CHILDPROTOCOL_H
#define FASTK_LIB_WORKER_CUDA_CHILDPROTOCOL_H

#include <cstdint>
#include <string>

namespace fastk::worker {

/// The hidden first argument that makes the worker such a child.
inline constexpr const char *cudaChildFlag = "--fastk-cuda-child";
inline constexpr int cudaChildSocket = 3;

/// A context takes a fraction of a second, PTX of a large program seconds.
inline constexpr double startSeconds = 120;

/// The child begins by making a context, and sends one byte when it is done.
/// Start: the plan's JSON, a NUL, the image. Map: MapEntry per buffer. Call:
/// nothing. Unmap: nothing.
enum class CudaCommand : uint32_t { Start, Map, Unmap, Call };

struct CudaRequest {
  CudaCommand command;
  uint32_t slot;
  /// Of a call: nonzero to bring the clocks up and empty the L2 cache before.
  uint64_t timed;
  uint64_t bytes;
};

/// Operands, then results, then workspaces.
struct MapEntry {
  char handle[64];
  /// Where the buffer begins in the allocation, and the allocation's size.
  uint64_t offset;
  uint64_t total;
  /// 0 operand, 1 result, 2 workspace.
  uint64_t kind;
};

struct CudaReply {
  /// Of the events around the launches, and of the host's clock.
  double eventNs;
  double hostNs;
  /// Bytes of error text that follow; 0: all is well.
  uint64_t errorBytes;
};

bool sendAll(int fd, const void *data, size_t bytes);
/// Waits up to \p seconds for all of it; negative: for ever.
enum class Received { All, TimedOut, Closed };
Received receiveAll(int fd, void *data, size_t bytes, double seconds);

/// The child's main function.
int runCudaChild();

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_CUDA_CHILDPROTOCOL_H
