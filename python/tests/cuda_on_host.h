//===- cuda_on_host.h - Programs for GPUs, on the host ----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What programs of families and of scaffolds call, in C++, and what runs their
// threads one after the other. Lanes of a warp are fibers, which meet in
// shuffles. There is no shared memory, and no barrier. Included before the
// program, whose inline assembly is replaced (cuda_on_host.py).
//
//===----------------------------------------------------------------------===//

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <ucontext.h>

// The program has its own.
#undef INFINITY
#undef NAN
#undef INT64_C
#undef INT64_MIN
#undef INT64_MAX
#undef INT32_MIN
#undef INT32_MAX
#define int64_t fastk_int64_t
#define uint8_t fastk_uint8_t
#define int8_t fastk_int8_t
#define int16_t fastk_int16_t
#define int32_t fastk_int32_t

#define FASTK_DEVICE inline
#define FASTK_INFINITY __int_as_float(0x7f800000)
#define __device__
#define __global__
#define __launch_bounds__(...)
#define __constant__
#define __forceinline__ inline

typedef unsigned char u8;
typedef signed char i8;
typedef short i16;
typedef unsigned short u16;
typedef unsigned int u32;
typedef int i32;
typedef unsigned long long u64;
typedef long long i64;
struct float2 {
  float x, y;
};
struct alignas(8) uint2 {
  u32 x, y;
};
struct alignas(16) uint4 {
  u32 x, y, z, w;
};

inline float __int_as_float(u32 bits) {
  float value;
  memcpy(&value, &bits, 4);
  return value;
}
inline u32 packF16(float a, float b) {
  _Float16 halves[2] = {(_Float16)a, (_Float16)b};
  u32 bits;
  memcpy(&bits, halves, 4);
  return bits;
}
inline float2 unpackF16(u32 bits) {
  _Float16 halves[2];
  memcpy(halves, &bits, 4);
  return {(float)halves[0], (float)halves[1]};
}
inline u32 bitsOfBF16(float value) {
  if (value != value)
    return 0x7fff;
  u32 bits;
  memcpy(&bits, &value, 4);
  return (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
}
inline u32 packBF16(float a, float b) {
  return bitsOfBF16(a) | bitsOfBF16(b) << 16;
}
inline float2 unpackBF16(u32 bits) {
  return {__int_as_float(bits << 16), __int_as_float(bits & 0xffff0000u)};
}
struct __half {
  _Float16 value;
};
inline float __half2float(__half x) { return x.value; }
inline __half __float2half(float x) { return {(_Float16)x}; }
struct __nv_bfloat16 {
  u16 bits;
};
inline float __bfloat162float(__nv_bfloat16 x) {
  return __int_as_float((u32)x.bits << 16);
}
inline __nv_bfloat16 __float2bfloat16(float x) { return {(u16)bitsOfBF16(x)}; }
inline float exp2Fast(float x) { return exp2f(x); }
inline float rcpFast(float x) { return 1.0f / x; }
inline float largest(float a, float b) { return a != a || a > b ? a : b; }
inline float smallest(float a, float b) { return a != a || a < b ? a : b; }
template <typename T>
inline void __stcs(T *to, T value) {
  *to = value;
}

struct Number3 {
  u32 x = 0, y = 0, z = 0;
};
inline Number3 threadIdx, blockIdx;

/// A warp's lanes.
namespace warp {
inline ucontext_t caller, lanes[32];
inline bool isDone[32];
/// What lanes pass on: two shuffles never use the same ones.
inline u32 passed[2][32], shuffles[32];
inline int lane, firstThread;
inline void (*body)();
inline char stacks[32][1 << 17];

/// Goes on in the next lane that is not done. False: there is none.
inline bool next() {
  int from = lane;
  for (int k = 1; k < 32; ++k) {
    int to = (from + k) % 32;
    if (isDone[to])
      continue;
    lane = to;
    threadIdx.x = firstThread + to;
    swapcontext(&lanes[from], &lanes[to]);
    lane = from;
    threadIdx.x = firstThread + from;
    return true;
  }
  return false;
}

inline void runLane() {
  body();
  isDone[lane] = true;
  next();
  setcontext(&caller);
}

inline void run() {
  for (int l = 0; l < 32; ++l) {
    isDone[l] = false;
    shuffles[l] = 0;
    getcontext(&lanes[l]);
    lanes[l].uc_stack.ss_sp = stacks[l];
    lanes[l].uc_stack.ss_size = sizeof(stacks[l]);
    lanes[l].uc_link = nullptr;
    makecontext(&lanes[l], runLane, 0);
  }
  lane = 0;
  threadIdx.x = firstThread;
  swapcontext(&caller, &lanes[0]);
}
} // namespace warp

inline u32 __shfl_sync(u32, u32 value, int lane) {
  u32 set = warp::shuffles[warp::lane]++ % 2;
  warp::passed[set][warp::lane] = value;
  warp::next();
  return warp::passed[set][lane];
}

inline void runGrid(u64 blocks, int threads, void (*body)()) {
  warp::body = body;
  for (u64 block = 0; block < blocks; ++block) {
    blockIdx.x = block;
    for (warp::firstThread = 0; warp::firstThread < threads;
         warp::firstThread += 32)
      warp::run();
  }
}

/// An operand or a result, between pages that are not there; where it is no
/// whole number of widest accesses, what is left of the last one is there.
struct Memory {
  char *at = nullptr;
  size_t bytes = 0;

  void make(size_t size) {
    size_t page = 4096, room = (size + page - 1) / page * page;
    char *all = (char *)mmap(nullptr, room + 2 * page, PROT_NONE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED ||
        mprotect(all + page, room, PROT_READ | PROT_WRITE) != 0)
      abort();
    bytes = size;
    at = all + page + (room - size) / 16 * 16;
    // What nobody writes is NaN.
    memset(at, 0xff, size);
  }
  void read(const char *path) { move(fopen(path, "rb"), fread); }
  void write(const char *path) { move(fopen(path, "wb"), fwrite); }
  template <typename T>
  operator T *() const {
    return (T *)at;
  }

private:
  template <typename F>
  void move(FILE *file, F f) {
    if (!file || f(at, 1, bytes, file) != bytes || fclose(file) != 0)
      abort();
  }
};
