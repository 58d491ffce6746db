//===- SampleContraction.cpp - Random contractions ------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DrawSum.h"
#include "fastk/Families/ContractionText.h"
#include "fastk/Families/Samples.h"
#include "llvm/ADT/ArrayRef.h"

using namespace llvm;
using namespace fastk;
using families::ContractionSample;
using families::ContractionText;

namespace {
/// Draws one sample.
class Sampler : families::DrawSum {
public:
  using DrawSum::DrawSum;

  ContractionSample run(uint64_t number) {
    text.name = "sample_" + std::to_string(number);
    text.operands.clear();
    drawTypes();
    do {
      drawSizes();
      drawLayouts();
    } while (!isSmall());
    std::string ofA = drawFactor(text.prologueA, text.a, 'm', 4);
    std::string ofB = drawFactor(text.prologueB, text.b, 'n', 6);
    std::string ofResult = drawTail();
    std::string about = StringRef(text.out).contains('b')
                            ? "b " + std::to_string(text.batch) + ", "
                            : "";
    about += "m " + std::to_string(text.m) + ", n " + std::to_string(text.n) +
             ", k " + std::to_string(text.k) + "; A " + text.a + " " +
             text.type + ofA + "; B " + text.b + " " + text.type + ofB +
             "; result " + text.out + " " + text.result + ofResult;
    return {std::move(text), std::move(about)};
  }

private:
  int64_t drawEdge() { return pick<int64_t>({1, 2, 3, 5, 7, 8, 15, 17, 33}); }
  /// One off a multiple of a tile.
  int64_t drawNear() {
    return pick<int64_t>(
        {63, 65, 127, 129, 191, 193, 255, 257, 383, 511, 513, 1023, 1025});
  }
  int64_t drawExact() {
    return pick<int64_t>({64, 128, 192, 256, 384, 512, 640, 768, 1024, 2048});
  }
  int64_t drawTypical() {
    return pick<int64_t>({72, 96, 100, 160, 200, 264, 300, 320, 400, 500, 520,
                          600, 720, 800, 1000});
  }
  int64_t drawSize() {
    switch (below(5)) {
    case 0:
      return drawEdge();
    case 1:
      return drawNear();
    case 2:
      return drawExact();
    case 3:
      return 2 * static_cast<int64_t>(below(300)) + 1;
    default:
      return drawTypical();
    }
  }

  void drawTypes() {
    text.type = pick({"f16", "bf16", "f32"});
    switch (below(5)) {
    case 0:
      text.result = text.type == "f16" ? "bf16" : "f16";
      break;
    case 1:
      text.result = "f32";
      break;
    default:
      text.result = text.type;
    }
  }

  void drawSizes() {
    text.m = drawSize();
    text.n = drawSize();
    text.k = drawSize();
    switch (below(6)) {
    case 0:
      // A long sum for each of few results.
      text.m = pick<int64_t>({1, 2, 8, 17, 64, 128});
      text.n = pick<int64_t>({64, 72, 128, 129, 257});
      text.k = pick<int64_t>({4096, 4100, 8191, 8192, 12345, 16384, 32768});
      break;
    case 1:
      text.m = 1;
      text.n = oneIn(2) ? drawExact() : drawTypical();
      break;
    case 2:
      text.m = pick<int64_t>({2048, 4096, 4097, 8192, 10000});
      text.n = pick<int64_t>({8, 17, 40, 64, 72, 128});
      break;
    }
    text.batch = 1;
  }

  void drawLayouts() {
    if (oneIn(2)) {
      text.a = pick({"mk", "km"});
      text.b = pick({"nk", "kn"});
      text.out = pick({"mn", "mn", "mn", "nm"});
      return;
    }
    text.batch = pick<int64_t>({1, 2, 3, 4, 5, 7, 12, 16, 33});
    text.out = pick({"bmn", "bmn", "bmn", "bnm", "mbn"});
    // All batches may share one factor.
    uint64_t shared = below(4);
    text.a = shared == 0 ? pick({"mk", "km"}) : pick({"bmk", "bkm", "mbk"});
    text.b = shared == 1 ? pick({"nk", "kn"}) : pick({"bnk", "bkn", "nbk"});
  }

  bool isSmall() const {
    for (StringRef dims : {text.a, text.b, text.out})
      if (text.elements(dims) > families::kMaxSampleElements)
        return false;
    return text.elements(text.out) * text.k <= families::kMaxSampleTerms;
  }

  /// One in `rarity` factors is computed; what of, as words.
  std::string drawFactor(ContractionText::Prologue &prologue, StringRef dims,
                         char outer, uint64_t rarity) {
    return drawPrologue(prologue, text.type, rarity, [&] {
      return dims.contains('b') && oneIn(2) ? std::string("b") + outer
                                            : std::string(1, outer);
    });
  }

  /// What becomes of a sum, as words.
  std::string drawTail() {
    beginTail(text);
    std::string words;
    if (oneIn(4))
      words +=
          addScale(StringRef(text.out).contains('b') && oneIn(2) ? "bm" : "m");
    words += drawBias("n");
    words += drawActivation();
    words += drawResidual();
    endTail();
    return words;
  }

  ContractionText text;
};
} // namespace

ContractionSample families::sampleContraction(uint64_t seed, uint64_t number) {
  return Sampler(seed, number).run(number);
}
