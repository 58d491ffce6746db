//===- CudaOnHost.cpp - Headers in CUDA-C, run on the host ----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaOnHost.h"
#include "HostProgram.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace fastk;

/// What the prelude and NVRTC have, as far as a header without streams needs
/// it. PTX is never run but divided by: headers have it for hints and extrema.
static const char *kShim = R"(
extern "C" int printf(const char *, ...);
extern "C" void *malloc(unsigned long);
#define FASTK_DEVICE inline
#define SKIP_PTX(...)
#define memcpy __builtin_memcpy
#define fabsf __builtin_fabsf
#define fabs __builtin_fabs
#define fmaf __builtin_fmaf
#define fmaxf __builtin_fmaxf
#define fminf __builtin_fminf
#define fmax __builtin_fmax
#define fmin __builtin_fmin
#define sqrtf __builtin_sqrtf
#define rsqrtf(x) (1 / __builtin_sqrtf(x))
#define copysignf __builtin_copysignf
#define expf __builtin_expf
#define tanhf __builtin_tanhf
#define erff __builtin_erff
typedef unsigned char u8; typedef unsigned short u16; typedef unsigned u32; typedef unsigned long long u64;
typedef signed char i8; typedef short i16; typedef int i32; typedef long long i64;
struct uint2 { u32 x, y; };
struct uint4 { u32 x, y, z, w; };
struct float2 { float x, y; };
static inline float __int_as_float(int bits) { float x; memcpy(&x, &bits, 4); return x; }
static inline u32 packF16(float x, float) { _Float16 h = (_Float16)x; u16 bits; memcpy(&bits, &h, 2); return bits; }
static inline float2 unpackF16(u32 bits) { u16 low = bits; _Float16 h; memcpy(&h, &low, 2); return {(float)h, 0}; }
static inline u32 packBF16(float x, float) { u32 bits; memcpy(&bits, &x, 4); return (bits + 0x7fff + (bits >> 16 & 1)) >> 16; }
static inline float2 unpackBF16(u32 bits) { return {__int_as_float(bits << 16), 0}; }
static inline float exp2Fast(float x) { return __builtin_exp2f(x); }
static inline float log2Fast(float x) { return __builtin_log2f(x); }
static inline float rcpFast(float x) { return 1 / x; }
static inline u64 policyEvictFirst() { return 0; }
template <typename T> static inline void __stcs(T *to, T x) { *to = x; }
)";

static const char *kMain = R"(
static u64 state = 88172645463325252ull;
static long draw() { state ^= state << 13; state ^= state >> 7; state ^= state << 17; return state >> 33; }
static float valueOf(f16 x) { return x; }
static float valueOf(bf16 x) { return x; }
static float valueOf(float x) { return x; }
template <typename T> static T *makeFloats(long count) {
  T *all = (T *)malloc((count + 128) * sizeof(T));
  for (long i = 0; i < count + 128; ++i)
    all[i] = T(i < 64 || i >= count + 64 ? __builtin_nanf("") : (float)(draw() % 2001 - 1000) / 64);
  return all + 64;
}
template <typename T> static T *makeIntegers(long count, long low, long high) {
  T *all = (T *)malloc(count * sizeof(T));
  for (long i = 0; i < count; ++i)
    all[i] = (T)(low + draw() % (high - low + 1));
  return all;
}
static int bad(long at, double x, double wanted) {
  printf("element %ld is %g, not %g\n", at, x, wanted);
  return 1;
}
)";

static void replaceAll(std::string &text, llvm::StringRef from,
                       llvm::StringRef to) {
  for (size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

std::string fastk::test::runFunctions(const std::string &functions,
                                      const std::string &program) {
  // They take these names.
  const std::string shim =
      kShim + std::string("#undef expf\n#undef tanhf\n#undef erff\n");
  return runOnHost(shim + functions + program, "cpp");
}

std::string fastk::test::runPointwise(const std::string &header,
                                      CanonicalForm &form, int64_t low,
                                      int64_t high, const std::string &checks) {
  std::string plain = header, made, names;
  replaceAll(plain,
             R"(asm("div.full.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b)))",
             "r = a / b");
  replaceAll(plain, "asm volatile(", "SKIP_PTX(");
  replaceAll(plain, "asm(", "SKIP_PTX(");
  mlir::Block &body = form.getPattern().front();
  for (mlir::BlockArgument argument : body.getArguments()) {
    auto type = mlir::cast<mlir::RankedTensorType>(argument.getType());
    mlir::Type element = type.getElementType();
    std::string name =
        "a" + std::to_string(form.inputOrder[argument.getArgNumber()]);
    std::string count = std::to_string(type.getNumElements());
    if (element.isInteger())
      made += "  auto " + name + " = makeIntegers<i" +
              std::to_string(element.getIntOrFloatBitWidth()) + ">(" + count +
              ", " + std::to_string(low) + ", " + std::to_string(high) + ");\n";
    else
      made += "  auto " + name + " = makeFloats<" +
              (element.isF16()    ? "f16"
               : element.isBF16() ? "bf16"
                                  : "float") +
              ">(" + count + ");\n";
    names += (names.empty() ? "" : ", ") + name;
  }
  return runOnHost(
      kShim + plain + kMain + "int main() {\n" + made +
          "  const long elements = ELEMENTS;\n"
          "  OUT_TYPE *out = (OUT_TYPE *)malloc(elements * "
          "sizeof(OUT_TYPE));\n#undef OPERANDS\n#define OPERANDS " +
          names + R"(
  for (long i = 0; i < elements; i += VECTOR) {
    const Place p = placeOf(i);
    Values v[VECTOR];
    load(OPERANDS, p, v);
    finish(out, OPERANDS, p, v);
  }
)" + checks +
          "  return 0;\n}\n",
      "cpp");
}
