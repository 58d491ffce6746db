//===- CudaText.cpp - Element types and functions in CUDA-C ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaText.h"

using namespace fastk;
using namespace fastk::catalog;

std::string families::cudaType(Elem elem) {
  switch (elem) {
  case Elem::F16:
    return "f16";
  case Elem::BF16:
    return "bf16";
  default:
    return cTypeOf(elem);
  }
}

bool families::isZero(llvm::StringRef text) {
  return text == "0x0p+0f" || text == "0x0p+0" || text == "0";
}

static const char *kTypes = R"(
typedef unsigned char uint8_t;
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fc00000)
#define INT64_C(x) x##LL
#define roundevenf rintf
#define INT64_MIN (-9223372036854775807LL - 1)
struct f16 {
  u16 bits;
  f16() = default;
  FASTK_DEVICE explicit f16(float x) : bits((u16)packF16(x, 0.0f)) {}
  FASTK_DEVICE operator float() const { return unpackF16(bits).x; }
};
struct bf16 {
  u16 bits;
  bf16() = default;
  FASTK_DEVICE explicit bf16(float x) : bits((u16)packBF16(x, 0.0f)) {}
  FASTK_DEVICE operator float() const { return unpackBF16(bits).x; }
};
// NaN if one is NaN.
FASTK_DEVICE float fk_maxs_f32(float a, float b) { float r; asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b)); return r; }
FASTK_DEVICE float fk_mins_f32(float a, float b) { float r; asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b)); return r; }
FASTK_DEVICE float fk_maxnums_f32(float a, float b) { return fmaxf(a, b); }
FASTK_DEVICE float fk_minnums_f32(float a, float b) { return fminf(a, b); }
// 2 ulp off at most, without a branch.
FASTK_DEVICE float fk_divide(float a, float b) { float r; asm("div.full.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b)); return r; }
)";

/// exp by one multiplication and ex2.approx; erf by Abramowitz and Stegun's
/// 7.1.26 (1.5e-7 off at most); tanh by exp, near zero by its series.
static const char *kFastFunctions = R"(
FASTK_DEVICE float fastExp(float x) { return exp2Fast(x * 0x1.715476p+0f); }
FASTK_DEVICE float fastErf(float x) {
  const float t = rcpFast(fmaf(0.3275911f, fabsf(x), 1.0f));
  float p = fmaf(1.061405429f, t, -1.453152027f);
  p = fmaf(p, t, 1.421413741f);
  p = fmaf(p, t, -0.284496736f);
  p = fmaf(p, t, 0.254829592f) * t;
  return copysignf(fmaf(-p, fastExp(-x * x), 1.0f), x);
}
FASTK_DEVICE float fastTanh(float x) {
  const float y = fmaf(-2.0f, rcpFast(1.0f + fastExp(2.0f * x)), 1.0f);
  return fabsf(x) < 0.0625f ? fmaf(x * x, -0x1.555556p-2f * x, x) : y;
}
#define expf fastExp
#define erff fastErf
#define tanhf fastTanh
)";

/// Near zero by its series, whose next term is 2e-7 of the value at most; NaN
/// below -1.
static const char *kFastLog1p = R"(
FASTK_DEVICE float fastLog1p(float x) {
  const float y = 0x1.62e430p-1f * log2Fast(1.0f + x);
  const float p = fmaf(x, fmaf(x, fmaf(x, -0.25f, 0x1.555556p-2f), -0.5f), 1.0f);
  return fabsf(x) < 0x1p-5f ? x * p : y;
}
#define log1pf fastLog1p
)";

std::string families::cudaTypes(bool isFast) {
  return std::string(kTypes) + (isFast ? kFastFunctions : "");
}

std::string families::fastLog1pFor(llvm::StringRef text) {
  return text.contains("log1pf(") ? kFastLog1p : "";
}

std::string families::fastFunctionsFor(llvm::StringRef text) {
  return kFastFunctions + fastLog1pFor(text);
}

/// Moves N elements at once, where they lie together at a multiple of their
/// size or of 16 bytes.
static const char *kVectors = R"(
#define INT32_MIN (-2147483647 - 1)
#define INT32_MAX 2147483647
#define INT64_MAX 9223372036854775807LL
FASTK_DEVICE double fk_maxs_f64(double a, double b) { return a != a || a > b ? a : b; }
FASTK_DEVICE double fk_mins_f64(double a, double b) { return a != a || a < b ? a : b; }
FASTK_DEVICE double fk_maxnums_f64(double a, double b) { return fmax(a, b); }
FASTK_DEVICE double fk_minnums_f64(double a, double b) { return fmin(a, b); }
template <int BYTES> struct Chunk { typedef uint4 Type; };
template <> struct Chunk<8> { typedef uint2 Type; };
template <> struct Chunk<4> { typedef u32 Type; };
template <> struct Chunk<2> { typedef u16 Type; };
template <> struct Chunk<1> { typedef unsigned char Type; };
// What nothing asks for again takes no place in caches from what something does.
FASTK_DEVICE void loadOnce(const uint4 *from, uint4 &to) {
  asm volatile("ld.global.nc.L1::no_allocate.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
               : "=r"(to.x), "=r"(to.y), "=r"(to.z), "=r"(to.w) : "l"(from), "l"(policyEvictFirst()));
}
FASTK_DEVICE void loadOnce(const uint2 *from, uint2 &to) {
  asm volatile("ld.global.nc.L1::no_allocate.L2::cache_hint.v2.u32 {%0, %1}, [%2], %3;"
               : "=r"(to.x), "=r"(to.y) : "l"(from), "l"(policyEvictFirst()));
}
FASTK_DEVICE void loadOnce(const u32 *from, u32 &to) {
  asm volatile("ld.global.nc.L1::no_allocate.L2::cache_hint.u32 %0, [%1], %2;"
               : "=r"(to) : "l"(from), "l"(policyEvictFirst()));
}
FASTK_DEVICE void loadOnce(const u16 *from, u16 &to) {
  asm volatile("ld.global.nc.L1::no_allocate.L2::cache_hint.u16 %0, [%1], %2;"
               : "=h"(to) : "l"(from), "l"(policyEvictFirst()));
}
FASTK_DEVICE void loadOnce(const unsigned char *from, unsigned char &to) { to = *from; }
template <int N, bool ONCE, typename T> FASTK_DEVICE void loadTogether(const T *from, T *to) {
  constexpr int bytes = N * sizeof(T) < 16 ? N * (int)sizeof(T) : 16, each = bytes / (int)sizeof(T);
  typedef typename Chunk<bytes>::Type Piece;
#pragma unroll
  for (int i = 0; i < N / each; ++i) {
    Piece piece;
    if constexpr (ONCE)
      loadOnce((const Piece *)(from + i * each), piece);
    else
      piece = *(const Piece *)(from + i * each);
    memcpy(to + i * each, &piece, bytes);
  }
}
template <int N, typename T> FASTK_DEVICE void storeTogether(T *to, const T *from) {
  constexpr int bytes = N * sizeof(T) < 16 ? N * (int)sizeof(T) : 16, each = bytes / (int)sizeof(T);
  typedef typename Chunk<bytes>::Type Piece;
#pragma unroll
  for (int i = 0; i < N / each; ++i) {
    Piece piece;
    memcpy(&piece, from + i * each, bytes);
    *(Piece *)(to + i * each) = piece;
  }
}
)";

std::string families::vectorText() { return kVectors; }

/// Stores what nothing reads soon.
static const char *kStreams = R"(
template <int N, bool ONCE, typename T> FASTK_DEVICE void storeAll(T *to, const T *from) {
  constexpr int bytes = N * sizeof(T) < 16 ? N * (int)sizeof(T) : 16, each = bytes / (int)sizeof(T);
  typedef typename Chunk<bytes>::Type Piece;
  if constexpr (!ONCE) {
    storeTogether<N>(to, from);
  } else {
#pragma unroll
    for (int i = 0; i < N / each; ++i) {
      Piece piece;
      memcpy(&piece, from + i * each, bytes);
      __stcs((Piece *)(to + i * each), piece);
    }
  }
}
)";

std::string families::streamText() { return kStreams; }
