//===- Preamble.cpp - Vector types and the vector math library ------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What stands in front of a kernel: vector types of the chosen width and those
// helpers that the kernel uses. The polynomials were fitted for this library
// (weighted least squares towards the minimax fit, relative error of the result
// as the weight); accuracies are in docs/catalog.md.
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/Emitter.h"

#include "llvm/ADT/StringRef.h"

using namespace fastk::catalog;
using llvm::StringRef;

static std::string num(uint64_t n) { return std::to_string(n); }

/// e^x by Cody and Waite: x = n·ln 2 + r, e^r by a polynomial of degree 6
/// (3.1e-9 off at most), times 2^n: by one instruction where there is one, else
/// in two factors, so that the results near overflow and underflow are right.
/// Below -104 the result is 0, above 89 it is infinite; the comparisons let NaN
/// through.
static std::string expText(unsigned w) {
  std::string builtin, condition = "defined(__AVX512F__)";
  if (w == 16) {
    builtin = "__builtin_ia32_scalefps512_mask(p, n, p, (unsigned short)-1, 4)";
  } else {
    condition += " && defined(__AVX512VL__)";
    builtin = w == 8 ? "__builtin_ia32_scalefps256_mask(p, n, p, "
                       "(unsigned char)-1)"
                     : "__builtin_ia32_scalefps128_mask(p, n, p, "
                       "(unsigned char)-1)";
  }
  return R"(
FK_INLINE vf32 fk_exp_f32(vf32 x) {
  const vf32 magic = (vf32)12582912.0f; /* 1.5 * 2^23: rounds to an integer */
  vf32 c = x > (vf32)89.0f ? (vf32)89.0f : x;
  c = c < (vf32)-104.0f ? (vf32)-104.0f : c;
  const vf32 shifted = c * (vf32)1.44269504f + magic;
  const vf32 n = shifted - magic;
  vf32 r = c - n * (vf32)0.693145751953125f;
  r = r - n * (vf32)1.42860677e-6f;
  vf32 p = (vf32)1.3814583654e-03f;
  p = p * r + (vf32)8.3687258884e-03f;
  p = p * r + (vf32)4.1668388993e-02f;
  p = p * r + (vf32)1.6666521132e-01f;
  p = p * r + (vf32)4.9999994040e-01f;
  p = p * r + (vf32)1.0f;
  p = p * r + (vf32)1.0f;
#if )" + condition +
         "\n  return " + builtin + R"(;
#else
  const vi32 k = (vi32)shifted - (vi32)magic;
  const vi32 half = k >> 1;
  p = p * (vf32)((half + 127) << 23);
  return p * (vf32)((k - half + 127) << 23);
#endif
}
)";
}

/// An odd polynomial below 0.92; above, 1 - e^q(|x|) where q is a polynomial
/// close to log(erfc).
static const char *erfText = R"(
FK_INLINE vf32 fk_erf_f32(vf32 x) {
  const vf32 s = x * x;
  vf32 p = (vf32)8.3167724370e-05f;
  p = p * s + (vf32)-8.1300118472e-04f;
  p = p * s + (vf32)5.1999064162e-03f;
  p = p * s + (vf32)-2.6858940721e-02f;
  p = p * s + (vf32)1.1283687502e-01f;
  p = p * s + (vf32)-3.7612631917e-01f;
  p = p * s + (vf32)1.2837916613e-01f;
  const vf32 small = p * x + x;
  vf32 t = __builtin_elementwise_abs(x);
  const vi32 isSmall = t < (vf32)0.92f;
  t = t > (vf32)3.95f ? (vf32)3.95f : t;
  vf32 q = (vf32)-2.1095052944e-05f;
  q = q * t + (vf32)4.3446265045e-04f;
  q = q * t + (vf32)-4.1710631922e-03f;
  q = q * t + (vf32)2.5119427592e-02f;
  q = q * t + (vf32)-1.0828009248e-01f;
  q = q * t + (vf32)-6.3334691525e-01f;
  q = q * t + (vf32)-1.1295149326e+00f;
  q = q * t + (vf32)1.7468446458e-04f;
  const vf32 large = (vf32)1.0f - fk_exp_f32(q);
  return isSmall ? small : __builtin_elementwise_copysign(large, x);
}
)";

/// An odd polynomial below 0.625; above, 1 - 2 / (e^(2|x|) + 1).
static const char *tanhText = R"(
FK_INLINE vf32 fk_tanh_f32(vf32 x) {
  const vf32 s = x * x;
  vf32 p = (vf32)-5.7049784809e-03f;
  p = p * s + (vf32)2.0639078692e-02f;
  p = p * s + (vf32)-5.3739711642e-02f;
  p = p * s + (vf32)1.3331441581e-01f;
  p = p * s + (vf32)-3.3333280683e-01f;
  const vf32 small = p * s * x + x;
  const vf32 t = __builtin_elementwise_abs(x);
  const vf32 e = fk_exp_f32(t + t);
  const vf32 large = (vf32)1.0f - (vf32)2.0f / (e + (vf32)1.0f);
  return t < (vf32)0.625f ? small : __builtin_elementwise_copysign(large, x);
}
)";

/// log(2^k · m) = k·ln 2 + log1p(m - 1) with m between sqrt(1/2) and sqrt(2);
/// subnormal arguments are scaled first.
static const char *logText = R"(
FK_INLINE vf32 fk_log_f32(vf32 x) {
  const vi32 tiny = x < (vf32)1.17549435e-38f;
  const vf32 y = tiny ? x * (vf32)8388608.0f : x;
  vi32 bits = (vi32)y - (vi32)0x3f3504f3;
  const vi32 k = (bits >> 23) - (tiny ? (vi32)23 : (vi32)0);
  bits = (bits & (vi32)0x007fffff) + (vi32)0x3f3504f3;
  const vf32 f = (vf32)bits - (vf32)1.0f;
  vf32 p = (vf32)6.7466013134e-02f;
  p = p * f + (vf32)-1.1675640941e-01f;
  p = p * f + (vf32)1.1888174713e-01f;
  p = p * f + (vf32)-1.2405591458e-01f;
  p = p * f + (vf32)1.4219550788e-01f;
  p = p * f + (vf32)-1.6667996347e-01f;
  p = p * f + (vf32)2.0002119243e-01f;
  p = p * f + (vf32)-2.5000008941e-01f;
  p = p * f + (vf32)3.3333313465e-01f;
  const vf32 e = __builtin_convertvector(k, vf32);
  const vf32 f2 = f * f;
  vf32 r = p * (f2 * f) + e * (vf32)1.42860677e-6f;
  r = r - (vf32)0.5f * f2 + f + e * (vf32)0.693145751953125f;
  r = x == (vf32)INFINITY ? (vf32)INFINITY : r;
  r = x == (vf32)0.0f ? (vf32)-INFINITY : r;
  return ((x < (vf32)0.0f) | (x != x)) ? (vf32)NAN : r;
}
)";

/// W vectors of W lanes, transposed in place by log2 W rounds of exchanges.
static std::string transposeText(unsigned w, const char *name,
                                 const std::string &type) {
  std::string text = std::string("FK_INLINE void ") + name + "(" + type +
                     " *r) {\n  " + type + " a, b;\n";
  for (unsigned h = w / 2; h; h /= 2)
    for (unsigned i = 0; i < w; ++i) {
      if (i & h)
        continue;
      std::string lo, hi;
      for (unsigned l = 0; l < w; ++l) {
        lo += ", " + num(l & h ? w + (l - h) : l);
        hi += ", " + num(l & h ? w + l : l + h);
      }
      std::string x = "r[" + num(i) + "]", y = "r[" + num(i + h) + "]";
      text += "  a = __builtin_shufflevector(" + x + ", " + y + lo + ");\n";
      text += "  b = __builtin_shufflevector(" + x + ", " + y + hi + ");\n";
      text += "  " + x + " = a;\n  " + y + " = b;\n";
    }
  return text + "}\n";
}

/// bf16 as bits, scalars and vectors, rounded to nearest even.
static const char *kBF16 = R"(
typedef uint32_t vu32 __attribute__((ext_vector_type(LANES)));
FK_INLINE float fk_widens_bf16(uint16_t x) {
  const uint32_t bits = (uint32_t)x << 16;
  float wide;
  memcpy(&wide, &bits, 4);
  return wide;
}
FK_INLINE uint16_t fk_narrows_bf16(float x) {
  uint32_t bits;
  memcpy(&bits, &x, 4);
  return x != x ? bits >> 16 | 64 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
FK_INLINE vf32 fk_widen_bf16(vbf16 x) {
  return (vf32)(__builtin_convertvector(x, vu32) << 16);
}
FK_INLINE vbf16 fk_narrow_bf16(vf32 x) {
  const vu32 bits = (vu32)x, one = 1, half = 0x7fff, quiet = 64;
  const vu32 rounded = (bits + half + (bits >> 16 & one)) >> 16;
  const vu32 nan = bits >> 16 | quiet;
  return __builtin_convertvector(x != x ? nan : rounded, vbf16);
}
)";

static std::string iotaText(unsigned w, const char *type) {
  std::string list;
  for (unsigned i = 0; i < w; ++i)
    list += (i ? ", " : "") + num(i);
  return std::string("((") + type + "){" + list + "})";
}

/// In front of a masked store of integers: where the mask is one lane and
/// known, clang before 23 stores that lane as wide as it was before it was
/// narrowed, if masks are registers
/// (https://github.com/llvm/llvm-project/issues/179489).
static const char *kOneLane =
    "  if (__builtin_constant_p(n) && n == 1) {\n    *p = v[0];\n"
    "    return;\n  }\n";

/// load_, store_, gather_, scatter_, products and extrema of one type.
static std::string helperText(StringRef name, unsigned w,
                              bool masksByRegisters) {
  auto [stem, suffix] = name.split('_');
  const std::string s = suffix.str();
  std::string scalar = s == "f32"    ? "float"
                       : s == "f64"  ? "double"
                       : s == "f16"  ? "_Float16"
                       : s == "b8"   ? "uint8_t"
                       : s == "bf16" ? "uint16_t"
                                     : "int" + s.substr(1) + "_t";
  std::string v = "v" + s;
  std::string mask = "  const vbool m = __builtin_convertvector(" +
                     iotaText(w, "vi32") + " < (int)n, vbool);\n";
  if (stem == "load")
    return "FK_INLINE " + v + " fk_" + name.str() + "(const " + scalar +
           " *p, long n) {\n" + mask +
           "  return __builtin_masked_load(m, p, (" + v + ")0);\n}\n";
  if (stem == "store")
    return "FK_INLINE void fk_" + name.str() + "(" + scalar + " *p, " + v +
           " v, long n) {\n" +
           (masksByRegisters && s.front() != 'f' ? kOneLane : "") + mask +
           "  __builtin_masked_store(m, v, p);\n}\n";
  if (stem == "gather")
    return "FK_INLINE " + v + " fk_" + name.str() + "(const " + scalar +
           " *p, long stride, long n) {\n  " + v + " v = (" + v +
           ")0;\n  for (long i = 0; i < " + num(w) +
           "; ++i)\n    if (i < n)\n      v[i] = p[i * stride];\n  return "
           "v;\n}\n";
  if (stem == "scatter")
    return "FK_INLINE void fk_" + name.str() + "(" + scalar + " *p, " + v +
           " v, long stride, long n) {\n  for (long i = 0; i < " + num(w) +
           "; ++i)\n    if (i < n)\n      p[i * stride] = v[i];\n}\n";
  if (stem.consume_front("map")) {
    // map1_exp2_f32: one argument, exp2, f32.
    auto [function, type] = suffix.split('_');
    std::string t = type == "f32" ? "float" : "double";
    std::string vt = "v" + type.str();
    std::string f = function.str() + (type == "f32" ? "f" : "");
    if (stem == "1")
      return "FK_INLINE " + vt + " fk_" + name.str() + "(" + vt +
             " a) {\n  for (int i = 0; i < " + num(w) +
             "; ++i)\n    a[i] = " + f + "(a[i]);\n  return a;\n}\n";
    return "FK_INLINE " + vt + " fk_" + name.str() + "(" + vt + " a, " + vt +
           " b) {\n  for (int i = 0; i < " + num(w) +
           "; ++i)\n    a[i] = " + f + "(a[i], b[i]);\n  return a;\n}\n";
  }
  bool isScalar = stem.consume_back("s");
  std::string type = isScalar ? scalar : v;
  // Not to be fused with what is added to it.
  if (stem == "product")
    return "FK_INLINE " + type + " fk_" + name.str() + "(" + type + " a, " +
           type + " b) {\n#pragma clang fp contract(off)\n  return a * b;\n}\n";
  // Extrema. The first argument is the accumulator: max and min return NaN if
  // either is NaN, maxnum and minnum the other one.
  std::string less = stem.starts_with("max") ? ">" : "<";
  std::string head = "FK_INLINE " + type + " fk_" + name.str() + "(" + type +
                     " a, " + type + " b) {\n  const " + type + " m = a " +
                     less + " b ? a : b;\n";
  if (stem.ends_with("num"))
    return head + "  return b != b ? a : m;\n}\n";
  return head + "  return a != a ? a : m;\n}\n";
}

std::string fastk::catalog::preamble(const Program &program) {
  unsigned w = program.lanes;
  std::string text =
      "#include <float.h>\n#include <limits.h>\n#include "
      "<math.h>\n#include <omp.h>\n#include <stddef.h>\n#include "
      "<stdint.h>\n#include <string.h>\n\n"
      "#define FK_INLINE static inline "
      "__attribute__((always_inline, unused))\n";
  auto vectorType = [&](const char *scalar, const char *suffix, int bytes) {
    std::string lanes = num(w);
    text += std::string("typedef ") + scalar + " v" + suffix +
            " __attribute__((ext_vector_type(" + lanes + ")));\n";
    text += std::string("typedef ") + scalar + " v" + suffix +
            "u __attribute__((ext_vector_type(" + lanes + "), aligned(" +
            num(bytes) + "), may_alias));\n";
  };
  vectorType("float", "f32", 4);
  vectorType("double", "f64", 8);
  vectorType("_Float16", "f16", 2);
  vectorType("int64_t", "i64", 8);
  vectorType("int32_t", "i32", 4);
  vectorType("int16_t", "i16", 2);
  vectorType("int8_t", "i8", 1);
  vectorType("uint8_t", "b8", 1);
  text +=
      "typedef _Bool vbool __attribute__((ext_vector_type(" + num(w) + ")));\n";
  std::set<std::string> used = program.usedHelpers();
  if (program.knowsBF16) {
    vectorType("uint16_t", "bf16", 2);
    text += kBF16;
    for (const char *each :
         {"widens_bf16", "narrows_bf16", "widen_bf16", "narrow_bf16"})
      used.erase(each);
  }
  if (used.erase("iota"))
    text += "#define FK_IOTA " + iotaText(w, "vi64") + "\n";
  bool exp = used.erase("exp_f32"), erf = used.erase("erf_f32"),
       tanh = used.erase("tanh_f32");
  if (exp || erf || tanh)
    text += expText(w);
  if (erf)
    text += erfText;
  if (tanh)
    text += tanhText;
  if (used.erase("log_f32"))
    text += logText;
  if (used.erase("transpose"))
    text += transposeText(w, "fk_transpose", "vf32");
  if (used.erase("transpose_f64"))
    text += transposeText(w, "fk_transpose_f64", "vf64");
  for (const std::string &name : used)
    text += helperText(name, w, program.masksByRegisters);
  return text + "\n";
}
