//===- SampleScan.cpp - Random scans --------------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Draw.h"
#include "fastk/Families/Samples.h"
#include "fastk/Families/ScanText.h"
#include "llvm/ADT/Twine.h"

using namespace llvm;
using namespace fastk;
using families::ScanSample;
using families::ScanText;

namespace {
/// Draws one sample.
class Sampler : families::Draw {
public:
  using Draw::Draw;

  ScanSample run(uint64_t number) {
    text.name = "sample_" + std::to_string(number);
    text.operands.clear();
    std::string words = drawCombiner();
    drawSizes();
    std::string type = pick({"f32", "f32", "f16", "bf16"});
    text.result = oneIn(3) ? pick({"f32", "f16", "bf16"}) : type.c_str();
    text.operands.push_back({"x", text.dims, type});
    words += " of " + drawElement(type);
    if (oneIn(4)) {
      text.isReversed = true;
      words += ", from the back";
    }
    // Nothing before the first: no infinity.
    if (oneIn(3) && StringRef(text.neutral).contains('.')) {
      text.isExclusive = true;
      words += ", exclusive";
    }
    words += std::string(" along ") + text.along + drawFinish(type);
    std::string about;
    for (char dim : text.dims)
      about += std::string(about.empty() ? "" : ", ") + dim + " " +
               std::to_string(text.extents[dim]);
    about += "; " + words + "; result " + text.result;
    return {std::move(text), std::move(about)};
  }

private:
  void drawSizes() {
    text.dims = pick({"rc", "rc", "rc", "brc"});
    text.along = oneIn(8) ? 'r' : 'c';
    do {
      text.extents = {{'b', drawShort()},
                      {'r', drawSize()},
                      {'c', oneIn(4) ? drawLong() : drawSize()}};
      if (oneIn(4))
        text.extents['r'] = pick<int64_t>({1, 2, 3});
    } while (text.elements(text.dims) > families::kMaxSampleElements ||
             text.extents[text.along] < 2 ||
             (isProduct() && text.extents[text.along] > kMostFactors));
  }
  /// Each factor is rounded, and so is a product of many.
  static constexpr int64_t kMostFactors = 20000;
  bool isProduct() const { return text.combiner == "arith.mulf"; }
  int64_t drawShort() { return pick<int64_t>({1, 2, 3, 5, 8, 16}); }
  int64_t drawSize() {
    switch (below(4)) {
    case 0:
      return pick<int64_t>({2, 3, 4, 7, 8, 12, 16, 31, 32, 33});
    case 1:
      return pick<int64_t>({63, 65, 100, 127, 129, 255, 257, 1000, 1023, 2049});
    case 2:
      return pick<int64_t>({64, 128, 256, 512, 1024, 2048, 4096});
    default:
      return 2 + static_cast<int64_t>(below(700));
    }
  }
  int64_t drawLong() {
    return pick<int64_t>(
        {5000, 8192, 16384, 20000, 32768, 50001, 65536, 262144, 1000003});
  }

  void line(std::string &lines, StringRef name, const Twine &operation) {
    lines += ("    %" + name + " = " + operation + " : f32\n").str();
  }

  std::string drawCombiner() {
    switch (below(5)) {
    case 0:
      text.combiner = "arith.maximumf";
      text.neutral = "0xFF800000";
      return "maximum";
    case 1:
      text.combiner = "arith.minimumf";
      text.neutral = "0x7F800000";
      return "minimum";
    case 2:
      text.combiner = "arith.mulf";
      text.neutral = "1.0";
      return "product";
    default:
      return "sum";
    }
  }

  /// What is scanned. Factors are near 1, so that products neither vanish nor
  /// overflow.
  std::string drawElement(const std::string &type) {
    std::string words = type + " " + text.dims;
    if (isProduct()) {
      line(text.lines, "h", "math.tanh %x");
      line(text.lines, "small", "arith.constant 1.0e-03");
      line(text.lines, "one", "arith.constant 1.0");
      line(text.lines, "less", "arith.mulf %h, %small");
      line(text.lines, "v", "arith.addf %one, %less");
      text.value = "%v";
      return words + ", near 1";
    }
    switch (below(4)) {
    case 0:
      line(text.lines, "v", "math.absf %x");
      text.value = "%v";
      return words + ", absolute";
    case 1:
      text.operands.push_back({"scale", oneIn(2) ? text.dims : "c", type});
      line(text.lines, "v", "arith.mulf %x, %scale");
      text.value = "%v";
      return words + ", scaled by " + text.operands.back().dims;
    default:
      return words;
    }
  }

  std::string drawFinish(const std::string &type) {
    switch (below(4)) {
    case 0:
      text.finishOperands.push_back({"bias", oneIn(2) ? text.dims : "r", type});
      line(text.finishLines, "z", "arith.addf %y, %bias");
      text.finishValue = "%z";
      return ", plus " + text.finishOperands.back().dims;
    case 1:
      line(text.finishLines, "k", "arith.constant 0.125");
      line(text.finishLines, "z", "arith.mulf %y, %k");
      text.finishValue = "%z";
      return ", scaled";
    default:
      return "";
    }
  }

  ScanText text;
};
} // namespace

ScanSample families::sampleScan(uint64_t seed, uint64_t number) {
  return Sampler(seed, number).run(number);
}
