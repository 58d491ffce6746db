//===- DelayPTX.h - Delays at chosen places of a program --------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program that lacks a barrier is right as long as its warps happen to run in
// the right order. Here its PTX gets places where a warp may be held back:
// around barriers, arrivals, waits, asynchronous copies, fences, flags, and in
// front of accesses to shared memory. Whether a warp waits at a place, and how
// long, follows at run time from a hash of the place, the warp, the block and
// the numbers of a schedule, which whoever runs the program writes into a
// constant of the module: it is assembled once for all schedules.
//
// All threads of a warp that come to a place together decide alike, so nothing
// diverges there that did not before. No place is between wgmma.fence and
// wgmma.wait_group, where the assembler would have to serialise the products.
//
// What no delay can show, since the order is lost inside the memory system, is
// looked for in the text (findUnfenced).
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_CUDA_DELAYPTX_H
#define FASTK_CUDA_DELAYPTX_H

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace fastk::cuda {

/// What a place is next to; a bit in Schedule::kinds.
enum class DelayKind : uint32_t {
  Entry,    ///< The begin of a kernel.
  Barrier,  ///< bar, barrier, bar.warp.sync, barrier.cluster.
  Mbarrier, ///< mbarrier.
  Copy,     ///< cp.async and its groups, bulk copies.
  Fence,    ///< fence, membar.
  Flag,     ///< Atomics, and loads and stores that order others.
  Shared,   ///< Other accesses to shared memory.
  Grid      ///< griddepcontrol.
};
inline constexpr uint32_t delayKinds = 8;
const char *nameOf(DelayKind kind);

/// What the places read: the constant, as it lies in memory.
struct Schedule {
  /// Differs from schedule to schedule.
  uint32_t key = 0;
  /// And-masks of what is hashed: 0 makes all warps (blocks, places) alike.
  uint32_t warps = 0, blocks = 0, places = 0;
  /// Of the clock's low word: how it changes from one visit to the next.
  uint32_t visits = 0;
  /// A place delays if the hash, 0 to 2^16 - 1, is less. 0: never.
  uint32_t threshold = 0;
  /// And-mask of the delay in nanoseconds, one less than a power of two.
  uint32_t nanoseconds = 0;
  /// Bits by DelayKind.
  uint32_t kinds = (1u << delayKinds) - 1;
};

struct DelayedPTX {
  /// Why there is none; else empty.
  std::string error;
  std::string ptx;
  /// The constant's name, one that the program does not have: it holds a
  /// Schedule, all zeros when it is loaded.
  std::string variable;
  /// Places in it by DelayKind, and how many the whole program has.
  int64_t places[delayKinds] = {};
  int64_t possible = 0;
  /// The numbers of those next to ordinary accesses to shared memory.
  std::vector<size_t> ordinary;
  int64_t total() const;
};

/// \p leftOut: by number (0 to possible - 1), 1 where no place is wanted; empty
/// for all of them.
DelayedPTX addDelays(std::string_view ptx,
                     const std::vector<char> &leftOut = {});

/// Variants that \p isGood lets pass, at most \p most, the one with the most
/// places first: each place is in one of them, but for those that are good in
/// none, or for which no question was left. Those of ordinary accesses come
/// last. It is asked at most \p questions, about ever smaller ranges of places.
std::vector<DelayedPTX>
coverDelays(std::string_view ptx,
            const std::function<bool(const DelayedPTX &)> &isGood,
            int questions, size_t most);

/// What the kernels \p launched of a program use that tools which follow
/// barriers of a block do not follow: "mbarriers", "bulk copies", "arrivals at
/// named barriers", "other blocks' shared memory". Empty when nothing.
std::string beyondRacecheck(std::string_view ptx,
                            const std::vector<std::string_view> &launched);

/// Whether the kernels \p launched have atomics: what they add up or let in
/// first may depend on who comes first, in a program that is right.
bool hasAtomics(std::string_view ptx,
                const std::vector<std::string_view> &launched);

/// Sentences about synchronisation that is certainly missing: a wgmma before
/// any wgmma.fence; shared memory that ordinary stores write and wgmma or a
/// bulk copy reads with no fence.proxy.async between; a bulk store that its
/// thread never awaits. docs/cuda.md says what is seen. Text that cannot be
/// followed has no findings.
std::vector<std::string> findUnfenced(std::string_view ptx);

} // namespace fastk::cuda

#endif // FASTK_CUDA_DELAYPTX_H
