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

std::string families::cudaTypes(bool isFast) {
  return std::string(kTypes) + (isFast ? kFastFunctions : "");
}
