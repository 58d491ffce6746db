//===- Protocol.h - Between the worker and a program's process --*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The worker tells a child what to do by messages on a socket, with buffers as
// attached descriptors; start and end of a call go through one shared page,
// because a socket would cost more than a small kernel. Nothing the child
// writes to the page is believed: the clock of record is the worker's, and what
// counts is what the output buffers hold once the child is stopped.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_HOST_PROTOCOL_H
#define FASTK_LIB_WORKER_HOST_PROTOCOL_H

#include "fastk/Sandbox/Sandbox.h"
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace fastk::worker {

/// The hidden first argument that makes the worker a child.
inline constexpr const char *childFlag = "--fastk-child";
/// The child's end of the socket.
inline constexpr int childSocket = 3;

inline constexpr size_t maxBuffers = 32;
inline constexpr uint32_t maxSlots = 16;
inline constexpr size_t pageSize = 4096;

/// How far a child has come; kept in ControlPage::stage.
enum Stage : uint32_t {
  StageStarting = 0,
  StageLoading = 1,
  StageIdle = 2,
  StageLoadFailed = 3,
  StageSetupFailed = 4
};

struct ControlPage {
  /// Written by the child when it is ready for the call of this number.
  std::atomic<uint32_t> ready;
  /// Written by the worker to start it.
  std::atomic<uint32_t> go;
  /// Written by the child at its end.
  std::atomic<uint32_t> done;
  /// Nonzero while the child sleeps on `go`.
  std::atomic<uint32_t> sleeping;
  /// Number of the last map or unmap carried out.
  std::atomic<uint32_t> mapped;
  std::atomic<uint32_t> stage;
  /// Bits of sandbox::Protection.
  std::atomic<uint32_t> protections;
  sandbox::DeniedCall denied;
  /// The child's own clock around the call.
  std::atomic<uint64_t> elapsedNs;
  /// How its processor computed after the call (controlWord()).
  std::atomic<uint64_t> controlWord;
  /// The same of the thread of OpenMP that computes otherwise; 0: of none.
  std::atomic<uint64_t> threadControlWord;
  /// Why loading failed. Written by a child, so never more than text.
  char text[1024];
};
static_assert(sizeof(ControlPage) <= pageSize);
static_assert(std::atomic<uint64_t>::is_always_lock_free);

enum class Command : uint32_t { Start, Map, Unmap, Call };

/// How this thread's floating-point arithmetic rounds, whether it flushes
/// denormals and what it traps: MXCSR without its flags, and above it the
/// control word of the x87; on AArch64 FPCR; elsewhere 0.
uint64_t controlWord();

struct BufferMessage {
  uint64_t fileBytes;
  /// Where the tensor begins in the file.
  uint64_t offset;
  uint32_t writable;
  /// Given to the kernel as the null pointer (an empty workspace): no file.
  uint32_t null;
};

struct Message {
  Command command;
  uint32_t sequence;
  uint32_t slot;
  uint32_t count;
  BufferMessage buffers[maxBuffers];
  /// Call only: how many threads OpenMP takes.
  uint32_t threads;
  // Start only; the descriptors are the control page and the program.
  uint32_t hasProgram;
  sandbox::Limits limits;
};

/// The child's main function. Returns its exit code; never returns while the
/// worker lives and the program behaves.
int runChild();

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_HOST_PROTOCOL_H
