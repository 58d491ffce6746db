//===- HostBenchmarks.cpp - Rates of the machine, measured ----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each rate is the best of many bursts that are far shorter than a scheduler's
// time slice, so other programs rarely disturb all of them.
//
//===----------------------------------------------------------------------===//

#include "HostBenchmarks.h"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Where results go, so that no loop is dead.
std::atomic<double> sink;
/// Read at run time, so that no loop is folded.
volatile double nearlyOne = 0.9999, small = 0.0001;

//===----------------------------------------------------------------------===//
// Fused multiply-adds
//===----------------------------------------------------------------------===//

constexpr int kFmaChains = 12;

/// `kFmaChains` independent chains (enough for a latency of 5 and two units),
/// in registers of `BYTES`. With 16 registers 12 chains and two factors fit.
#define FASTK_FMA_KERNEL(NAME, SCALAR, BYTES, ATTRIBUTE, FMA)                  \
  ATTRIBUTE __attribute__((noinline)) double NAME(int64_t iterations) {        \
    typedef SCALAR Vector __attribute__((vector_size(BYTES)));                 \
    SCALAR factor = static_cast<SCALAR>(nearlyOne);                            \
    SCALAR addend = static_cast<SCALAR>(small);                                \
    Vector b = Vector{} + factor, c = Vector{} + addend;                       \
    Vector a0 = c, a1 = c, a2 = c, a3 = c, a4 = c, a5 = c, a6 = c, a7 = c,     \
           a8 = c, a9 = c, a10 = c, a11 = c;                                   \
    for (int64_t i = 0; i < iterations; ++i) {                                 \
      a0 = FMA(a0, b, c);                                                      \
      a1 = FMA(a1, b, c);                                                      \
      a2 = FMA(a2, b, c);                                                      \
      a3 = FMA(a3, b, c);                                                      \
      a4 = FMA(a4, b, c);                                                      \
      a5 = FMA(a5, b, c);                                                      \
      a6 = FMA(a6, b, c);                                                      \
      a7 = FMA(a7, b, c);                                                      \
      a8 = FMA(a8, b, c);                                                      \
      a9 = FMA(a9, b, c);                                                      \
      a10 = FMA(a10, b, c);                                                    \
      a11 = FMA(a11, b, c);                                                    \
    }                                                                          \
    Vector s = a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7 + a8 + a9 + a10 + a11;    \
    return static_cast<double>(s[0]);                                          \
  }
#define FASTK_FUSED(A, B, C) __builtin_elementwise_fma(A, B, C)
#define FASTK_SPLIT(A, B, C) ((A) * (B) + (C))

FASTK_FMA_KERNEL(multiplyAdd32, float, 16, , FASTK_SPLIT)
FASTK_FMA_KERNEL(multiplyAdd64, double, 16, , FASTK_SPLIT)
#if defined(__x86_64__)
#define FASTK_AVX2 __attribute__((target("avx2,fma")))
#define FASTK_AVX512                                                           \
  __attribute__((target("avx512f,fma"), min_vector_width(512)))
FASTK_FMA_KERNEL(fma32Avx2, float, 32, FASTK_AVX2, FASTK_FUSED)
FASTK_FMA_KERNEL(fma64Avx2, double, 32, FASTK_AVX2, FASTK_FUSED)
FASTK_FMA_KERNEL(fma32Avx512, float, 64, FASTK_AVX512, FASTK_FUSED)
FASTK_FMA_KERNEL(fma64Avx512, double, 64, FASTK_AVX512, FASTK_FUSED)
#elif defined(__aarch64__)
FASTK_FMA_KERNEL(fma32Neon, float, 16, , FASTK_FUSED)
FASTK_FMA_KERNEL(fma64Neon, double, 16, , FASTK_FUSED)
#endif

struct FmaKernel {
  double (*run)(int64_t);
  int lanes;
};

FmaKernel pickFma(const fastk::TargetDescription &host, bool isDouble) {
  (void)host;
#if defined(__x86_64__)
  if (host.hasFma && host.vectorBytes == 64)
    return isDouble ? FmaKernel{fma64Avx512, 8} : FmaKernel{fma32Avx512, 16};
  if (host.hasFma && host.vectorBytes >= 32)
    return isDouble ? FmaKernel{fma64Avx2, 4} : FmaKernel{fma32Avx2, 8};
#elif defined(__aarch64__)
  return isDouble ? FmaKernel{fma64Neon, 2} : FmaKernel{fma32Neon, 4};
#endif
  return isDouble ? FmaKernel{multiplyAdd64, 2} : FmaKernel{multiplyAdd32, 4};
}

double fmaOpsPerSecond(const FmaKernel &kernel, double budget) {
  int64_t iterations = 1 << 12;
  double best = 0;
  for (Clock::time_point begin = Clock::now(); secondsSince(begin) < budget;) {
    Clock::time_point start = Clock::now();
    sink = sink + kernel.run(iterations);
    double seconds = secondsSince(start);
    if (seconds < 1e-4) { // Too short for the clock: not counted.
      iterations *= 2;
      continue;
    }
    best =
        std::max(best, 2.0 * kFmaChains * kernel.lanes * iterations / seconds);
  }
  return best;
}

//===----------------------------------------------------------------------===//
// Bandwidth
//===----------------------------------------------------------------------===//

#define FASTK_STREAM_KERNELS(SUFFIX, BYTES, ATTRIBUTE)                         \
  ATTRIBUTE __attribute__((noinline)) double read##SUFFIX(const char *from,    \
                                                          size_t bytes) {      \
    typedef float Vector __attribute__((vector_size(BYTES)));                  \
    const Vector *v = reinterpret_cast<const Vector *>(from);                  \
    Vector s0{}, s1{}, s2{}, s3{}, s4{}, s5{}, s6{}, s7{};                     \
    for (size_t i = 0; i + 8 <= bytes / BYTES; i += 8) {                       \
      s0 += v[i];                                                              \
      s1 += v[i + 1];                                                          \
      s2 += v[i + 2];                                                          \
      s3 += v[i + 3];                                                          \
      s4 += v[i + 4];                                                          \
      s5 += v[i + 5];                                                          \
      s6 += v[i + 6];                                                          \
      s7 += v[i + 7];                                                          \
    }                                                                          \
    s0 += s1 + s2 + s3 + s4 + s5 + s6 + s7;                                    \
    return s0[0];                                                              \
  }                                                                            \
  /* to = a + b: two loads and a store, the most a core may do at once. */     \
  ATTRIBUTE __attribute__((noinline)) void add##SUFFIX(                        \
      char *to, const char *a, const char *b, size_t bytes) {                  \
    typedef float Vector __attribute__((vector_size(BYTES)));                  \
    Vector *t = reinterpret_cast<Vector *>(to);                                \
    const Vector *x = reinterpret_cast<const Vector *>(a);                     \
    const Vector *y = reinterpret_cast<const Vector *>(b);                     \
    for (size_t i = 0; i + 4 <= bytes / BYTES; i += 4) {                       \
      Vector s0 = x[i] + y[i], s1 = x[i + 1] + y[i + 1];                       \
      Vector s2 = x[i + 2] + y[i + 2], s3 = x[i + 3] + y[i + 3];               \
      t[i] = s0;                                                               \
      t[i + 1] = s1;                                                           \
      t[i + 2] = s2;                                                           \
      t[i + 3] = s3;                                                           \
    }                                                                          \
  }

FASTK_STREAM_KERNELS(Narrow, 16, )
#if defined(__x86_64__)
FASTK_STREAM_KERNELS(Avx2, 32, FASTK_AVX2)
FASTK_STREAM_KERNELS(Avx512, 64, FASTK_AVX512)
#endif

struct StreamKernels {
  double (*read)(const char *, size_t) = readNarrow;
  void (*add)(char *, const char *, const char *, size_t) = addNarrow;
};

StreamKernels pickStream(const fastk::TargetDescription &host) {
  (void)host;
#if defined(__x86_64__)
  if (host.vectorBytes == 64)
    return {readAvx512, addAvx512};
  if (host.vectorBytes == 32)
    return {readAvx2, addAvx2};
#endif
  return {};
}

struct Free {
  void operator()(char *buffer) const { std::free(buffer); }
};
using Buffer = std::unique_ptr<char, Free>;

Buffer allocate(size_t bytes) {
  char *buffer = static_cast<char *>(std::aligned_alloc(4096, bytes));
  if (buffer)
    std::memset(buffer, 0, bytes); // Pages exist before the clock starts.
  return Buffer(buffer);
}

double cacheBytesPerSecond(const StreamKernels &kernels, size_t l1Bytes,
                           double budget) {
  // Three buffers in three quarters of the first-level cache.
  size_t bytes = std::max<size_t>(l1Bytes / 4, 4096) / 1024 * 1024;
  Buffer memory = allocate((3 * bytes + 4095) / 4096 * 4096);
  if (!memory)
    return 0;
  char *a = memory.get(), *b = a + bytes, *to = b + bytes;
  double best = 0;
  for (Clock::time_point begin = Clock::now(); secondsSince(begin) < budget;) {
    constexpr int repeats = 1000;
    Clock::time_point start = Clock::now();
    for (int i = 0; i < repeats; ++i)
      kernels.add(to, a, b, bytes);
    double adding = secondsSince(start);
    start = Clock::now();
    double sum = 0;
    for (int i = 0; i < repeats; ++i)
      sum += kernels.read(a, 3 * bytes);
    double reading = secondsSince(start);
    sink = sink + sum + to[0];
    best = std::max(best, 3.0 * bytes * repeats / std::min(adding, reading));
  }
  return best;
}

/// Runs `work(thread)` on all threads, each started before any begins.
void onAllThreads(unsigned threads, const std::function<void(unsigned)> &work) {
  std::atomic<unsigned> waiting{threads};
  auto body = [&](unsigned thread) {
    --waiting;
    while (waiting)
      std::this_thread::yield();
    work(thread);
  };
  std::vector<std::thread> pool;
  for (unsigned thread = 1; thread < threads; ++thread)
    pool.emplace_back(body, thread);
  body(0);
  for (std::thread &thread : pool)
    thread.join();
}

double memoryBytesPerSecond(const fastk::TargetDescription &host,
                            const StreamKernels &kernels) {
  // Four times the caches, so that most of it is not in them; whatever is makes
  // the rate too high, never too low.
  size_t total =
      std::clamp<size_t>(4 * host.cacheBytes(), 64u << 20, 256u << 20);
  size_t bytes = total / host.threads / 4096 * 4096;
  std::vector<Buffer> from(host.threads), to(host.threads);
  std::atomic<bool> failed{false};
  onAllThreads(host.threads, [&](unsigned thread) {
    from[thread] = allocate(bytes);
    to[thread] = allocate(bytes);
    if (!from[thread] || !to[thread])
      failed = true;
  });
  if (failed)
    return 0;
  double best = 0;
  for (int repeat = 0; repeat < 6; ++repeat) {
    std::vector<double> copying(host.threads), reading(host.threads);
    onAllThreads(host.threads, [&](unsigned thread) {
      Clock::time_point start = Clock::now();
      std::memcpy(to[thread].get(), from[thread].get(), bytes);
      copying[thread] = secondsSince(start);
      sink = sink + to[thread].get()[bytes / 2];
    });
    onAllThreads(host.threads, [&](unsigned thread) {
      Clock::time_point start = Clock::now();
      sink = sink + kernels.read(from[thread].get(), bytes);
      reading[thread] = secondsSince(start);
    });
    // The sum of what each thread reached: above what they reach together.
    double copied = 0, read = 0;
    for (unsigned thread = 0; thread < host.threads; ++thread) {
      copied += 2.0 * bytes / copying[thread];
      read += bytes / reading[thread];
    }
    best = std::max({best, copied, read});
  }
  return best;
}

double processorSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec + now.tv_nsec * 1e-9;
}

} // namespace

void fastk::measureRates(TargetDescription &host) {
  StreamKernels streams = pickStream(host);
  FmaKernel single = pickFma(host, false), twice = pickFma(host, true);
  struct Rates {
    double f32 = 0, f64 = 0, cache = 0, share = 1;
  };
  std::vector<Rates> rates(host.threads);
  // All threads at once, for the clock that all cores hold together. In turns:
  // a hypervisor that takes the processor for a while, which nothing here
  // shows, then spoils a turn of each rate and not the whole of one.
  constexpr int turns = 4;
  onAllThreads(host.threads, [&](unsigned thread) {
    Clock::time_point start = Clock::now();
    double processor = processorSeconds();
    Rates &mine = rates[thread];
    for (int turn = 0; turn < turns; ++turn) {
      mine.f32 = std::max(mine.f32, fmaOpsPerSecond(single, 0.08 / turns));
      mine.f64 = std::max(mine.f64, fmaOpsPerSecond(twice, 0.08 / turns));
      mine.cache = std::max(
          mine.cache, cacheBytesPerSecond(streams, host.l1Bytes, 0.06 / turns));
    }
    mine.share = (processorSeconds() - processor) / secondsSince(start);
  });
  Rates best;
  for (const Rates &rate : rates) {
    best.f32 = std::max(best.f32, rate.f32);
    best.f64 = std::max(best.f64, rate.f64);
    best.cache = std::max(best.cache, rate.cache);
    best.share = std::min(best.share, rate.share);
  }
  // Threads of one core share its units.
  host.f32OpsPerSecond = host.cores * best.f32;
  host.f64OpsPerSecond = host.cores * best.f64;
  host.cacheBytesPerSecond = host.cores * best.cache;
  host.memoryBytesPerSecond = memoryBytesPerSecond(host, streams);
  host.measuredIdle = best.share > 0.95;
}
