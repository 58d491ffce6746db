//===- Patterns.h - MLIR text of patterns of any shape ----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_UNITTESTS_PROPOSE_CATALOG_PATTERNS_H
#define FASTK_UNITTESTS_PROPOSE_CATALOG_PATTERNS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FormatVariadic.h"
#include <string>

namespace fastk {
namespace test {

/// What follows a product, on a result of m rows and n columns.
enum class Epilogue { None, Bias, BiasGelu, Residual, RowScale, TruncateF16 };

inline std::string replaceAll(std::string text, llvm::StringRef from,
                              llvm::StringRef to) {
  for (size_t at = 0; (at = text.find(from.str(), at)) != std::string::npos;
       at += to.size())
    text.replace(at, from.size(), to.str());
  return text;
}

/// batch x (m x k) · (k x n); with `transposed` the right operand is n x k.
inline std::string product(int64_t batch, int64_t m, int64_t n, int64_t k,
                           bool transposed, bool half, Epilogue epilogue) {
  std::string in = half ? "f16" : "f32";
  std::string out = epilogue == Epilogue::TruncateF16 ? "f16" : "f32";
  std::string text = R"(
#c = affine_map<(b, m, n, k) -> (b, m, n)>
#a = affine_map<(b, m, n, k) -> (b, m, k)>
#bm = affine_map<(b, m, n, k) -> BMAP>
#id = affine_map<(b, m, n) -> (b, m, n)>
#col = affine_map<(b, m, n) -> (n)>
#row = affine_map<(b, m, n) -> (b, m, 0)>
func.func @f(%a: tensor<BxMxKxIN>, %b: tensor<BTYPE>, %bias: tensor<Nxf32>, %row: tensor<BxMx1xf32>, %res: tensor<BxMxNxf32>) -> tensor<BxMxNxOUT> {
  %z = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %one = arith.constant 1.0 : f32
  %r2 = arith.constant 0.70710678 : f32
  %e = tensor.empty() : tensor<BxMxNxf32>
  %eo = tensor.empty() : tensor<BxMxNxOUT>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<BxMxNxf32>) -> tensor<BxMxNxf32>
  %p = linalg.generic {indexing_maps = [#a, #bm, #c], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%a, %b : tensor<BxMxKxIN>, tensor<BTYPE>) outs(%i : tensor<BxMxNxf32>) {
  ^bb0(%x0: IN, %y0: IN, %acc: f32):
CAST
    %t = arith.mulf %x, %y : f32
    %s = arith.addf %acc, %t : f32
    linalg.yield %s : f32
  } -> tensor<BxMxNxf32>
EPILOGUE
}
)";
  std::string tail;
  auto generic = [&](llvm::StringRef ins, llvm::StringRef maps,
                     llvm::StringRef types, llvm::StringRef args,
                     llvm::StringRef body) {
    return llvm::formatv(
               "  %q = linalg.generic {{indexing_maps = [{0}, #id], "
               "iterator_types = [\"parallel\", \"parallel\", \"parallel\"]} "
               "ins({1} : {2}) outs(%eo : tensor<BxMxNxOUT>) {{\n  ^bb0({3}, "
               "%o: OUT):\n{4}\n    linalg.yield %v : OUT\n  } -> "
               "tensor<BxMxNxOUT>\n  return %q : tensor<BxMxNxOUT>",
               maps, ins, types, args, body)
        .str();
  };
  switch (epilogue) {
  case Epilogue::None:
    tail = "  return %p : tensor<BxMxNxf32>";
    break;
  case Epilogue::Bias:
    tail = generic("%p, %bias", "#id, #col", "tensor<BxMxNxf32>, tensor<Nxf32>",
                   "%x: f32, %y: f32", "    %v = arith.addf %x, %y : f32");
    break;
  case Epilogue::BiasGelu:
    tail = generic(
        "%p, %bias", "#id, #col", "tensor<BxMxNxf32>, tensor<Nxf32>",
        "%x: f32, %y: f32",
        "    %s = arith.addf %x, %y : f32\n    %d = arith.mulf %s, %r2 : "
        "f32\n    %f = math.erf %d : f32\n    %g = arith.addf %f, %one : f32\n "
        "   %h = arith.mulf %g, %half : f32\n    %v = arith.mulf %s, %h : f32");
    break;
  case Epilogue::Residual:
    tail =
        generic("%p, %res", "#id, #id", "tensor<BxMxNxf32>, tensor<BxMxNxf32>",
                "%x: f32, %y: f32", "    %v = arith.addf %x, %y : f32");
    break;
  case Epilogue::RowScale:
    tail =
        generic("%p, %row", "#id, #row", "tensor<BxMxNxf32>, tensor<BxMx1xf32>",
                "%x: f32, %y: f32", "    %v = arith.mulf %x, %y : f32");
    break;
  case Epilogue::TruncateF16:
    tail = generic("%p", "#id", "tensor<BxMxNxf32>", "%x: f32",
                   "    %v = arith.truncf %x : f32 to f16");
    break;
  }
  text = replaceAll(text, "EPILOGUE", tail);
  text = replaceAll(
      text, "CAST",
      half ? "    %x = arith.extf %x0 : f16 to f32\n    %y = arith.extf %y0 : "
             "f16 to f32"
           : "    %x = arith.mulf %x0, %half : f32\n    %y = arith.addf %y0, "
             "%z : f32");
  if (!half) {
    // Plain operands, so that they can be used without a copy.
    text = replaceAll(text,
                      "    %x = arith.mulf %x0, %half : f32\n    %y = "
                      "arith.addf %y0, %z : f32",
                      "");
    text = replaceAll(text, "%x0: IN, %y0: IN", "%x: IN, %y: IN");
  }
  text = replaceAll(text, "BMAP", transposed ? "(b, n, k)" : "(b, k, n)");
  text = replaceAll(text, "BTYPE", transposed ? "BxNxKxIN" : "BxKxNxIN");
  text = replaceAll(text, "BxMx", llvm::formatv("{0}x{1}x", batch, m).str());
  text = replaceAll(text, "BxNx", llvm::formatv("{0}x{1}x", batch, n).str());
  text = replaceAll(text, "BxKx", llvm::formatv("{0}x{1}x", batch, k).str());
  text = replaceAll(text, "<Nx", llvm::formatv("<{0}x", n).str());
  text = replaceAll(text, "xNx", llvm::formatv("x{0}x", n).str());
  text = replaceAll(text, "xKx", llvm::formatv("x{0}x", k).str());
  text = replaceAll(text, "Nx", llvm::formatv("{0}x", n).str());
  text = replaceAll(text, "Kx", llvm::formatv("{0}x", k).str());
  text = replaceAll(text, "IN", in);
  return replaceAll(text, "OUT", out);
}

/// Softmax of a x b x c over its last or its middle dimension.
inline std::string softmax(int64_t a, int64_t b, int64_t c, bool middle,
                           bool logarithm) {
  std::string text = R"(
#id = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#red = affine_map<(d0, d1, d2) -> RED>
func.func @f(%x: tensor<TYPE>) -> tensor<TYPE> {
  %ninf = arith.constant 0xFF800000 : f32
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<TYPE>
  %er = tensor.empty() : tensor<ROWS>
  %mi = linalg.fill ins(%ninf : f32) outs(%er : tensor<ROWS>) -> tensor<ROWS>
  %si = linalg.fill ins(%z : f32) outs(%er : tensor<ROWS>) -> tensor<ROWS>
  %m = linalg.generic {indexing_maps = [#id, #red], iterator_types = ITER} ins(%x : tensor<TYPE>) outs(%mi : tensor<ROWS>) {
  ^bb0(%in: f32, %acc: f32):
    %v = arith.maximumf %in, %acc : f32
    linalg.yield %v : f32
  } -> tensor<ROWS>
  %s = linalg.generic {indexing_maps = [#id, #red, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %m : tensor<TYPE>, tensor<ROWS>) outs(%e : tensor<TYPE>) {
  ^bb0(%in: f32, %mx: f32, %o: f32):
    %v = arith.subf %in, %mx : f32
    linalg.yield %v : f32
  } -> tensor<TYPE>
  %p = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s : tensor<TYPE>) outs(%e : tensor<TYPE>) {
  ^bb0(%in: f32, %o: f32):
    %v = math.exp %in : f32
    linalg.yield %v : f32
  } -> tensor<TYPE>
  %l = linalg.generic {indexing_maps = [#id, #red], iterator_types = ITER} ins(%p : tensor<TYPE>) outs(%si : tensor<ROWS>) {
  ^bb0(%in: f32, %acc: f32):
    %v = arith.addf %in, %acc : f32
    linalg.yield %v : f32
  } -> tensor<ROWS>
  %q = linalg.generic {indexing_maps = [#id, #red, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(LAST, %l : tensor<TYPE>, tensor<ROWS>) outs(%e : tensor<TYPE>) {
  ^bb0(%in: f32, %d: f32, %o: f32):
FINISH
    linalg.yield %v : f32
  } -> tensor<TYPE>
  return %q : tensor<TYPE>
}
)";
  text = replaceAll(text, "LAST", logarithm ? "%s" : "%p");
  text = replaceAll(text, "FINISH",
                    logarithm ? "    %w = math.log %d : f32\n    %v = "
                                "arith.subf %in, %w : f32"
                              : "    %v = arith.divf %in, %d : f32");
  text = replaceAll(text, "RED", middle ? "(d0, d2)" : "(d0, d1)");
  text = replaceAll(text, "ITER",
                    middle ? "[\"parallel\", \"reduction\", \"parallel\"]"
                           : "[\"parallel\", \"parallel\", \"reduction\"]");
  text =
      replaceAll(text, "TYPE", llvm::formatv("{0}x{1}x{2}xf32", a, b, c).str());
  return replaceAll(text, "ROWS",
                    llvm::formatv("{0}x{1}xf32", a, middle ? c : b).str());
}

/// Layer norm of a x b x c over the last two dimensions.
inline std::string layerNorm(int64_t a, int64_t b, int64_t c) {
  std::string text = R"(
#id = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#row = affine_map<(d0, d1, d2) -> (d0, 0, 0)>
#w = affine_map<(d0, d1, d2) -> (d1, d2)>
#one = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
func.func @f(%x: tensor<TYPE>, %g: tensor<BC>, %h: tensor<BC>) -> tensor<TYPE> {
  %z = arith.constant 0.0 : f32
  %n = arith.constant COUNT : f32
  %eps = arith.constant 1.0e-5 : f32
  %e = tensor.empty() : tensor<TYPE>
  %er = tensor.empty() : tensor<Ax1x1xf32>
  %i = linalg.fill ins(%z : f32) outs(%er : tensor<Ax1x1xf32>) -> tensor<Ax1x1xf32>
  %s = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction", "reduction"]} ins(%x : tensor<TYPE>) outs(%i : tensor<Ax1x1xf32>) {
  ^bb0(%in: f32, %acc: f32):
    %v = arith.addf %in, %acc : f32
    linalg.yield %v : f32
  } -> tensor<Ax1x1xf32>
  %m = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s : tensor<Ax1x1xf32>) outs(%er : tensor<Ax1x1xf32>) {
  ^bb0(%in: f32, %o: f32):
    %v = arith.divf %in, %n : f32
    linalg.yield %v : f32
  } -> tensor<Ax1x1xf32>
  %d = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %m : tensor<TYPE>, tensor<Ax1x1xf32>) outs(%e : tensor<TYPE>) {
  ^bb0(%in: f32, %mm: f32, %o: f32):
    %v = arith.subf %in, %mm : f32
    linalg.yield %v : f32
  } -> tensor<TYPE>
  %q = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction", "reduction"]} ins(%d : tensor<TYPE>) outs(%i : tensor<Ax1x1xf32>) {
  ^bb0(%in: f32, %acc: f32):
    %v = arith.mulf %in, %in : f32
    %u = arith.addf %v, %acc : f32
    linalg.yield %u : f32
  } -> tensor<Ax1x1xf32>
  %r = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel", "parallel", "parallel"]} ins(%q : tensor<Ax1x1xf32>) outs(%er : tensor<Ax1x1xf32>) {
  ^bb0(%in: f32, %o: f32):
    %v = arith.divf %in, %n : f32
    %u = arith.addf %v, %eps : f32
    %t = math.rsqrt %u : f32
    linalg.yield %t : f32
  } -> tensor<Ax1x1xf32>
  %y = linalg.generic {indexing_maps = [#id, #row, #w, #w, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%d, %r, %g, %h : tensor<TYPE>, tensor<Ax1x1xf32>, tensor<BC>, tensor<BC>) outs(%e : tensor<TYPE>) {
  ^bb0(%in: f32, %rs: f32, %gg: f32, %hh: f32, %o: f32):
    %v = arith.mulf %in, %rs : f32
    %u = arith.mulf %v, %gg : f32
    %t = arith.addf %u, %hh : f32
    linalg.yield %t : f32
  } -> tensor<TYPE>
  return %y : tensor<TYPE>
}
)";
  text = replaceAll(text, "COUNT", llvm::formatv("{0}.0", b * c).str());
  text =
      replaceAll(text, "TYPE", llvm::formatv("{0}x{1}x{2}xf32", a, b, c).str());
  text = replaceAll(text, "BC", llvm::formatv("{0}x{1}xf32", b, c).str());
  return replaceAll(text, "<Ax", llvm::formatv("<{0}x", a).str());
}

/// Convolution with padding, bias and relu; then a max pool if wanted.
inline std::string convolution(int64_t n, int64_t c, int64_t h, int64_t w,
                               int64_t f, int64_t k, int64_t stride,
                               int64_t pad, bool pool) {
  int64_t oh = (h + 2 * pad - k) / stride + 1,
          ow = (w + 2 * pad - k) / stride + 1;
  std::string text = R"(
#id = affine_map<(a, b, c, d) -> (a, b, c, d)>
func.func @f(%x: tensor<INPUT>, %w: tensor<WEIGHT>, %bias: tensor<Fxf32>) -> tensor<RESULT> {
  %z = arith.constant 0.0 : f32
  %p = tensor.pad %x low[0, 0, PAD, PAD] high[0, 0, PAD, PAD] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %z : f32
  } : tensor<INPUT> to tensor<PADDED>
  %e = tensor.empty() : tensor<CONV>
  %b = linalg.broadcast ins(%bias : tensor<Fxf32>) outs(%e : tensor<CONV>) dimensions = [0, 2, 3]
  %y = linalg.conv_2d_nchw_fchw {dilations = dense<1> : vector<2xi64>, strides = dense<STRIDE> : vector<2xi64>} ins(%p, %w : tensor<PADDED>, tensor<WEIGHT>) outs(%b : tensor<CONV>) -> tensor<CONV>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%y : tensor<CONV>) outs(%e : tensor<CONV>) {
  ^bb0(%in: f32, %o: f32):
    %c = arith.cmpf ugt, %in, %z : f32
    %s = arith.select %c, %in, %z : f32
    linalg.yield %s : f32
  } -> tensor<CONV>
TAIL
}
)";
  std::string result = llvm::formatv("{0}x{1}x{2}x{3}xf32", n, f, oh, ow).str();
  std::string conv = result;
  std::string tail = "  return %r : tensor<RESULT>";
  if (pool) {
    result = llvm::formatv("{0}x{1}x{2}x{3}xf32", n, f, (oh - 3) / 2 + 1,
                           (ow - 3) / 2 + 1)
                 .str();
    tail = R"(  %ninf = arith.constant 0xFF800000 : f32
  %pe = tensor.empty() : tensor<RESULT>
  %pi = linalg.fill ins(%ninf : f32) outs(%pe : tensor<RESULT>) -> tensor<RESULT>
  %window = tensor.empty() : tensor<3x3xf32>
  %q = linalg.pooling_nchw_max {dilations = dense<1> : vector<2xi64>, strides = dense<2> : vector<2xi64>} ins(%r, %window : tensor<CONV>, tensor<3x3xf32>) outs(%pi : tensor<RESULT>) -> tensor<RESULT>
  return %q : tensor<RESULT>)";
  }
  text = replaceAll(text, "TAIL", tail);
  text = replaceAll(text, "INPUT",
                    llvm::formatv("{0}x{1}x{2}x{3}xf32", n, c, h, w).str());
  text = replaceAll(
      text, "PADDED",
      llvm::formatv("{0}x{1}x{2}x{3}xf32", n, c, h + 2 * pad, w + 2 * pad)
          .str());
  text = replaceAll(text, "PAD", std::to_string(pad));
  text = replaceAll(text, "WEIGHT",
                    llvm::formatv("{0}x{1}x{2}x{3}xf32", f, c, k, k).str());
  text = replaceAll(text, "CONV", conv);
  text = replaceAll(text, "RESULT", result);
  text = replaceAll(text, "STRIDE", std::to_string(stride));
  return replaceAll(text, "<Fx", llvm::formatv("<{0}x", f).str());
}

/// An elementwise chain with a transposed and a broadcast operand.
inline std::string elementwise(int64_t a, int64_t b, llvm::StringRef op) {
  std::string text = R"(
#id = affine_map<(i, j) -> (i, j)>
#t = affine_map<(i, j) -> (j, i)>
#r = affine_map<(i, j) -> (j)>
func.func @f(%x: tensor<AxBxf32>, %y: tensor<BxAxf32>, %v: tensor<Bxf32>) -> tensor<AxBxf32> {
  %e = tensor.empty() : tensor<AxBxf32>
  %s = linalg.generic {indexing_maps = [#id, #r, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %v : tensor<AxBxf32>, tensor<Bxf32>) outs(%e : tensor<AxBxf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %w = OP
    %z = arith.mulf %w, %q : f32
    linalg.yield %z : f32
  } -> tensor<AxBxf32>
  %u = linalg.generic {indexing_maps = [#id, #t, #id], iterator_types = ["parallel", "parallel"]} ins(%s, %y : tensor<AxBxf32>, tensor<BxAxf32>) outs(%e : tensor<AxBxf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %w = arith.addf %p, %q : f32
    linalg.yield %w : f32
  } -> tensor<AxBxf32>
  return %u : tensor<AxBxf32>
}
)";
  text = replaceAll(text, "OP", op);
  text = replaceAll(text, "AxBx", llvm::formatv("{0}x{1}x", a, b).str());
  text = replaceAll(text, "BxAx", llvm::formatv("{0}x{1}x", b, a).str());
  return replaceAll(text, "<Bx", llvm::formatv("<{0}x", b).str());
}

/// Attention on batch x rows x depth; causal or full.
inline std::string attention(int64_t batch, int64_t rows, int64_t keys,
                             int64_t depth, bool half, bool causal) {
  std::string text = R"(
#q = affine_map<(b, m, n, k) -> (b, m, k)>
#kt = affine_map<(b, m, n, k) -> (b, n, k)>
#vm = affine_map<(b, m, n, k) -> (b, k, n)>
#c = affine_map<(b, m, n, k) -> (b, m, n)>
#id = affine_map<(b, m, n) -> (b, m, n)>
#row = affine_map<(b, m, n) -> (b, m, 0)>
func.func @f(%q: tensor<BxRxDxIN>, %k: tensor<BxKxDxIN>, %v: tensor<BxKxDxIN>) -> tensor<BxRxDxIN> {
  %z = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %scale = arith.constant 2.0 : f32
  %es = tensor.empty() : tensor<BxRxKxf32>
  %er = tensor.empty() : tensor<BxRx1xf32>
  %eo = tensor.empty() : tensor<BxRxDxf32>
  %eh = tensor.empty() : tensor<BxRxDxIN>
  %si = linalg.fill ins(%z : f32) outs(%es : tensor<BxRxKxf32>) -> tensor<BxRxKxf32>
  %s = linalg.generic {indexing_maps = [#q, #kt, #c], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%q, %k : tensor<BxRxDxIN>, tensor<BxKxDxIN>) outs(%si : tensor<BxRxKxf32>) {
  ^bb0(%x0: IN, %y0: IN, %acc: f32):
CAST2
    %t = arith.mulf %x, %y : f32
    %u = arith.addf %acc, %t : f32
    linalg.yield %u : f32
  } -> tensor<BxRxKxf32>
  %sc = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s : tensor<BxRxKxf32>) outs(%es : tensor<BxRxKxf32>) {
  ^bb0(%x: f32, %o: f32):
    %t0 = arith.mulf %x, %scale : f32
MASK
    linalg.yield %t : f32
  } -> tensor<BxRxKxf32>
  %mi = linalg.fill ins(%ninf : f32) outs(%er : tensor<BxRx1xf32>) -> tensor<BxRx1xf32>
  %m = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%sc : tensor<BxRxKxf32>) outs(%mi : tensor<BxRx1xf32>) {
  ^bb0(%x: f32, %acc: f32):
    %t = arith.maximumf %x, %acc : f32
    linalg.yield %t : f32
  } -> tensor<BxRx1xf32>
  %p = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%sc, %m : tensor<BxRxKxf32>, tensor<BxRx1xf32>) outs(%es : tensor<BxRxKxf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %t = arith.subf %x, %y : f32
    %u = math.exp %t : f32
    linalg.yield %u : f32
  } -> tensor<BxRxKxf32>
  %li = linalg.fill ins(%z : f32) outs(%er : tensor<BxRx1xf32>) -> tensor<BxRx1xf32>
  %l = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%p : tensor<BxRxKxf32>) outs(%li : tensor<BxRx1xf32>) {
  ^bb0(%x: f32, %acc: f32):
    %t = arith.addf %x, %acc : f32
    linalg.yield %t : f32
  } -> tensor<BxRx1xf32>
  %w = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%p, %l : tensor<BxRxKxf32>, tensor<BxRx1xf32>) outs(%es : tensor<BxRxKxf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %t = arith.divf %x, %y : f32
    linalg.yield %t : f32
  } -> tensor<BxRxKxf32>
  %oi = linalg.fill ins(%z : f32) outs(%eo : tensor<BxRxDxf32>) -> tensor<BxRxDxf32>
  %o = linalg.generic {indexing_maps = [#q, #vm, #c], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%w, %v : tensor<BxRxKxf32>, tensor<BxKxDxIN>) outs(%oi : tensor<BxRxDxf32>) {
  ^bb0(%x: f32, %y0: IN, %acc: f32):
CAST1
    %t = arith.mulf %x, %y : f32
    %u = arith.addf %acc, %t : f32
    linalg.yield %u : f32
  } -> tensor<BxRxDxf32>
FINISH
}
)";
  text = replaceAll(text, "MASK",
                    causal ? R"(    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %ok = arith.cmpi sle, %j, %i : index
    %t = arith.select %ok, %t0, %ninf : f32)"
                           : "    %t = arith.addf %t0, %z : f32");
  std::string cast =
      half ? " = arith.extf %?0 : f16 to f32" : " = arith.addf %?0, %z : f32";
  auto castOf = [&](llvm::StringRef name) {
    return "    %" + name.str() + replaceAll(cast, "?", name);
  };
  text = replaceAll(text, "CAST2", castOf("x") + "\n" + castOf("y"));
  text = replaceAll(text, "CAST1", castOf("y"));
  text = replaceAll(
      text, "FINISH",
      half
          ? R"(  %h = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%o : tensor<BxRxDxf32>) outs(%eh : tensor<BxRxDxIN>) {
  ^bb0(%x: f32, %y: IN):
    %t = arith.truncf %x : f32 to f16
    linalg.yield %t : f16
  } -> tensor<BxRxDxIN>
  return %h : tensor<BxRxDxIN>)"
          : "  return %o : tensor<BxRxDxf32>");
  text = replaceAll(text, "BxRxDx",
                    llvm::formatv("{0}x{1}x{2}x", batch, rows, depth).str());
  text = replaceAll(text, "BxRxKx",
                    llvm::formatv("{0}x{1}x{2}x", batch, rows, keys).str());
  text = replaceAll(text, "BxKxDx",
                    llvm::formatv("{0}x{1}x{2}x", batch, keys, depth).str());
  text = replaceAll(text, "BxRx1x",
                    llvm::formatv("{0}x{1}x1x", batch, rows).str());
  return replaceAll(text, "IN", half ? "f16" : "f32");
}

} // namespace test
} // namespace fastk

#endif // FASTK_UNITTESTS_PROPOSE_CATALOG_PATTERNS_H
