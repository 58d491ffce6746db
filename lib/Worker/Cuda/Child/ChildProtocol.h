//===- ChildProtocol.h - Between the worker and a GPU program ---*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A GPU program runs in a process and a CUDA context of its own: what it can
// address is its own copies of operands, results and workspaces. The worker
// opens them by handles, writes operands before a call and looks at all of them
// after it; nothing of the worker's is ever open in a program's process. The
// process is the worker's own code; only what it launches is not trusted.
// Messages are frames on a socket: a header, then `bytes` of payload.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_CUDA_CHILD_CHILDPROTOCOL_H
#define FASTK_LIB_WORKER_CUDA_CHILD_CHILDPROTOCOL_H

#include <cstdint>
#include <string>

namespace fastk::worker {

/// The hidden first argument that makes the worker such a child.
inline constexpr const char *cudaChildFlag = "--fastk-cuda-child";
inline constexpr int cudaChildSocket = 3;

/// A context takes a fraction of a second, PTX of a large program seconds.
inline constexpr double startSeconds = 120;

/// The child begins by making a context, and sends the seconds that it took, a
/// double.
/// Start: the bytes of memoryKernels' cubin (8 bytes), the cubin, the plan's
/// JSON, a NUL, the image; slot is 1 for a trusted program.
/// Map: MapEntry per buffer, answered by MappedEntry. Call, Unmap: nothing.
/// MakeRoom: nothing; frees memory that no slot has.
/// Set: a variable's name, a NUL, its bytes.
enum class CudaCommand : uint32_t { Start, Map, Unmap, Call, MakeRoom, Set };

struct CudaRequest {
  CudaCommand command;
  uint32_t slot;
  /// Of a call: nonzero to bring the clocks up and empty the L2 cache before.
  uint64_t timed;
  /// Of a call: buffer i of the slot begins with patterns of the key
  /// bitsAt(key, i), its red zones; of ~bitsAt(key, i), itself.
  uint64_t key;
  uint64_t bytes;
};

/// Operands, then results, then workspaces.
struct MapEntry {
  /// Where the buffer begins in its allocation, its size, and the allocation's,
  /// red zones included.
  uint64_t offset;
  uint64_t bytes;
  uint64_t total;
  /// 0 operand, 1 result, 2 workspace.
  uint64_t kind;
};

/// The block that the child has taken for it.
struct MappedEntry {
  char handle[64];
  /// Where the allocation begins in the block.
  uint64_t start;
};

/// What a child spends time on besides running its program; the verdict has
/// phases of these names.
enum SpentOn { SpentAllocating, SpentWiping, SpentWarmingUp, spentKinds };
inline constexpr const char *spentNames[spentKinds] = {"allocate in child",
                                                       "wipe", "warm up"};

struct CudaReply {
  /// Of the events around the launches, with what had not reached memory at the
  /// second; and of the host's clock.
  double eventNs;
  double hostNs;
  /// Seconds by SpentOn.
  double spent[spentKinds];
  /// Bytes that follow, and whether they are the text of an error.
  uint64_t bytes;
  uint64_t isError;
};

bool sendAll(int fd, const void *data, size_t bytes);
/// Waits up to \p seconds for all of it; negative: for ever.
enum class Received { All, TimedOut, Closed };
Received receiveAll(int fd, void *data, size_t bytes, double seconds);

/// The child's main function.
int runCudaChild();

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_CUDA_CHILD_CHILDPROTOCOL_H
