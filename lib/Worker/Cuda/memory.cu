//===- memory.cu - What programs find in memory, and what they leave ------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loaded by the worker and, beside the program, by each program's process.
// ValueFormulas.h and Patterns.h are put before this file.
//
//===----------------------------------------------------------------------===//

using namespace fastk::worker;
typedef unsigned long long Word;

__device__ Word wordAt(int pattern, Word key, Word index) {
  return patternWord(Pattern(pattern), patternLine(key, index / 8), index);
}

/// Writes bytes [begin, end) of a pattern whose place 0 is at base, which is
/// aligned to 8 bytes.
extern "C" __global__ void fastk_write_pattern(unsigned char *base, Word begin,
                                               Word end, int pattern,
                                               Word key) {
  Word stride = Word(gridDim.x) * blockDim.x;
  for (Word i = begin / 8 + Word(blockIdx.x) * blockDim.x + threadIdx.x;
       i * 8 < end; i += stride) {
    Word word = wordAt(pattern, key, i);
    if (i * 8 >= begin && i * 8 + 8 <= end) {
      ((Word *)base)[i] = word;
      continue;
    }
    for (Word k = 0; k < 8; ++k)
      if (i * 8 + k >= begin && i * 8 + k < end)
        base[i * 8 + k] = (unsigned char)(word >> (8 * k));
  }
}

/// Counts the bytes of [begin, end) that are not the pattern's.
extern "C" __global__ void fastk_count_changed(const unsigned char *base,
                                               Word begin, Word end,
                                               int pattern, Word key,
                                               Word *changed) {
  Word count = 0, stride = Word(gridDim.x) * blockDim.x;
  for (Word i = begin / 8 + Word(blockIdx.x) * blockDim.x + threadIdx.x;
       i * 8 < end; i += stride) {
    Word word = wordAt(pattern, key, i);
    if (i * 8 >= begin && i * 8 + 8 <= end) {
      count += ((const Word *)base)[i] != word;
      continue;
    }
    for (Word k = 0; k < 8; ++k)
      if (i * 8 + k >= begin && i * 8 + k < end)
        count += base[i * 8 + k] != (unsigned char)(word >> (8 * k));
  }
  if (count)
    atomicAdd(changed, count);
}

/// No block ends before all have begun: none takes the place of another, and
/// every multiprocessor has its share. The launch is cooperative, so that all
/// are resident; arrived is 0 before it.
__device__ void awaitAll(unsigned *arrived) {
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(arrived, 1);
    while (atomicAdd(arrived, 0) < gridDim.x)
      ;
  }
  __syncthreads();
}

/// Overwrites the shared memory of every multiprocessor: a block each, with all
/// that a block may have.
extern "C" __global__ void fastk_scrub_shared(unsigned bytes, Word key,
                                              unsigned *arrived) {
  extern __shared__ Word shared[];
  volatile Word *words = shared;
  for (unsigned i = threadIdx.x; i < bytes / 8; i += blockDim.x)
    words[i] = wordAt(int(Pattern::Undefined), key, i + Word(blockIdx.x) * bytes);
  awaitAll(arrived);
}

/// Overwrites the local memory of every thread that can be resident. A frame is
/// no smaller than that of the program, whose threads get the same memory.
template <unsigned bytes>
__device__ void scrubLocal(Word key, unsigned *arrived) {
  volatile Word frame[bytes / 8];
  Word line = mix(key + Word(blockIdx.x) * blockDim.x + threadIdx.x);
  for (unsigned i = 0; i < bytes / 8; ++i)
    frame[i] = patternWord(Pattern::Undefined, line, i);
  awaitAll(arrived);
}

#define SCRUB_LOCAL(bytes)                                                     \
  extern "C" __global__ void __launch_bounds__(256)                            \
      fastk_scrub_local_##bytes(Word key, unsigned *arrived) {                 \
    scrubLocal<bytes>(key, arrived);                                           \
  }
SCRUB_LOCAL(256)
SCRUB_LOCAL(512)
SCRUB_LOCAL(1024)
SCRUB_LOCAL(2048)
SCRUB_LOCAL(4096)
SCRUB_LOCAL(8192)
SCRUB_LOCAL(16384)
SCRUB_LOCAL(32768)
SCRUB_LOCAL(65536)
SCRUB_LOCAL(131072)
SCRUB_LOCAL(262144)

/// Ends when all that was enqueued before it has reached memory.
extern "C" __global__ void fastk_fence() { __threadfence_system(); }
