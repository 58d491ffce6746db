//===- ContractionMacros.cpp - A contraction as macros --------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ContractionMacros.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using families::ContractionMacros;
using families::ContractionSide;

/// Bytes at which a tensor map's buffer and rows begin.
static constexpr int64_t kMapAlignment = 16;

static bool isAligned(int64_t elements, Elem elem) {
  return elements * bytesOf(elem) % kMapAlignment == 0;
}

void ContractionMacros::writeMacros() {
  os << "// A contraction: sum[b, m, n] = sum over k of A[b, m, k] * "
        "B[b, n, k].\n";
  define("BATCH", contraction.batchSize);
  define("M", contraction.mSize);
  define("N", contraction.nSize);
  define("K", contraction.kSize);
  writeSide("A", contraction.a);
  writeSide("B", contraction.b);
  writeResult();
}

void ContractionMacros::writeSide(StringRef name, const ContractionSide &side) {
  defineElem(name, side.elem);
  define(name + "_PLAIN", side.isPlain);
  // Of what is computed the order is the program's to choose.
  bool isKMajor = !side.isPlain || side.k == 1;
  define(name + "_K_MAJOR", isKMajor);
  define(name + "_BATCHED",
         !side.isShared && (!side.isPlain || side.batch != 0));
  define(name + "_OFFSET", side.offset * bytesOf(side.elem));
  define(name + "_BATCH_STRIDE", side.batch);
  define(name + "_ROW_STRIDE", isKMajor ? side.outer : side.k);
  bool isMapped = side.isPlain && (side.k == 1 || side.outer == 1) &&
                  isAligned(side.offset, side.elem) &&
                  isAligned(side.batch, side.elem) &&
                  isAligned(isKMajor ? side.outer : side.k, side.elem);
  define(name + "_ALIGNED", isMapped);
}

void ContractionMacros::writeResult() {
  Elem elem = contraction.resultElem;
  defineElem("OUT", elem);
  define("OUT_BATCH_STRIDE", contraction.resultBatch.value_or(0));
  define("OUT_ROW_STRIDE", contraction.resultM.value_or(0));
  bool isMapped = contraction.resultBatch && contraction.resultM &&
                  contraction.resultN == 1 &&
                  isAligned(*contraction.resultBatch, elem) &&
                  isAligned(*contraction.resultM, elem) &&
                  isAligned(contraction.nSize, elem);
  define("OUT_ALIGNED", isMapped);
}
