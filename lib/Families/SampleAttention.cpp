//===- SampleAttention.cpp - Random attention -----------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Draw.h"
#include "fastk/Families/AttentionText.h"
#include "fastk/Families/Samples.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Twine.h"
#include <cmath>

using namespace llvm;
using namespace fastk;
using families::AttentionSample;
using families::AttentionText;

/// Of a sample for the host: products of both sums. Some hundred milliseconds
/// of one thread.
static constexpr int64_t kMaxHostTerms = 1'000'000'000;

namespace {
/// Draws one sample.
class Sampler : families::Draw {
public:
  Sampler(uint64_t seed, uint64_t number, bool isForHost)
      : Draw(seed, number), isForHost(isForHost) {}

  AttentionSample run(uint64_t number) {
    text.name = "sample_" + std::to_string(number);
    drawTypes();
    do
      drawSizes();
    while (!isSmall());
    drawLayouts();
    std::string about;
    for (char dim : StringRef("bhgmnde"))
      about += std::string(about.empty() ? "" : ", ") + dim + " " +
               std::to_string(text.extents.at(dim));
    about += "; " + text.type + ", result " + text.result + "; q " + text.q +
             ", k " + text.k + ", v " + text.v + ", out " + text.out;
    if (text.mergesHeads)
      about += ", heads in one dimension";
    about += drawScores() + drawWeights() + drawTail();
    return {std::move(text), std::move(about)};
  }

private:
  void drawTypes() {
    text.type = isForHost && !oneIn(4) ? "f32" : pick({"f16", "bf16"});
    text.result = text.type;
    if (text.type == "f32" ? oneIn(8) : oneIn(5))
      text.result = oneIn(2) ? "f32" : text.type == "f16" ? "bf16" : "f16";
  }

  int64_t drawLength() {
    switch (below(4)) {
    case 0:
      return pick<int64_t>({1, 2, 3, 7, 8, 17, 33});
    case 1:
      return pick<int64_t>(
          {63, 65, 127, 129, 191, 193, 255, 257, 383, 511, 513, 1023});
    case 2:
      return pick<int64_t>({64, 128, 192, 256, 384, 512, 640, 1024});
    default:
      return pick<int64_t>({72, 77, 100, 160, 197, 200, 300, 320, 577, 800});
    }
  }
  int64_t drawColumns() {
    switch (below(6)) {
    case 0:
      return pick<int64_t>({8, 16, 24, 33, 40, 50, 72, 80, 100});
    case 1:
      return pick<int64_t>({96, 160, 192, 256});
    case 2:
      return pick<int64_t>({32, 128, 128});
    default:
      return pick<int64_t>({64, 64, 128});
    }
  }
  void drawSizes() {
    text.extents['b'] = pick<int64_t>({1, 1, 2, 3, 5});
    text.extents['h'] = pick<int64_t>({1, 2, 3, 4, 8, 12});
    text.extents['g'] = oneIn(3) ? pick<int64_t>({2, 3, 4, 8}) : 1;
    bool isDecoded = isForHost && oneIn(4);
    text.extents['m'] =
        isDecoded ? pick<int64_t>({1, 1, 1, 2, 3, 4, 6}) : drawLength();
    text.extents['n'] =
        !isDecoded && oneIn(2) ? text.extents['m'] : drawLength();
    text.extents['d'] = drawColumns();
    text.extents['e'] = oneIn(5) ? drawColumns() : text.extents['d'];
  }
  bool isSmall() const {
    for (StringRef dims : {"bhgmn", "bhgmd", "bhnd", "bhne", "bhgme"})
      if (text.elements(dims) > families::kMaxSampleElements)
        return false;
    // A softmax of a key or two is no test of anything.
    return text.extents.at('n') > 2 &&
           text.elements("bhgmn") *
                   (text.extents.at('d') + text.extents.at('e')) <=
               (isForHost ? kMaxHostTerms : families::kMaxSampleTerms);
  }

  void drawLayouts() {
    bool areRowsFirst = oneIn(3);
    text.q = areRowsFirst ? "bmhgd" : "bhgmd";
    text.k = areRowsFirst ? "bnhd" : "bhnd";
    text.v = areRowsFirst ? "bnhe" : "bhne";
    text.out = areRowsFirst || oneIn(3) ? "bmhge" : "bhgme";
    if (oneIn(8))
      text.k = "bhdn";
    if (oneIn(12))
      text.v = "bhen";
    text.mergesHeads = oneIn(2);
  }

  void add(const Twine &line) {
    text.scoreLines += ("    " + line + "\n").str();
  }

  /// What scores are of sums, as words.
  std::string drawScores() {
    text.scale = 1.0 / std::sqrt(static_cast<double>(text.extents.at('d')));
    text.scoreLines.clear();
    add("%s0 = arith.mulf %x, %scale : f32");
    text.score = "%s0";
    std::string words;
    if (oneIn(8)) {
      add("%cap = arith.constant 4.0 : f32");
      add("%c0 = arith.divf %s0, %cap : f32");
      add("%c1 = math.tanh %c0 : f32");
      add("%s1 = arith.mulf %c1, %cap : f32");
      text.score = "%s1";
      words = ", capped";
    }
    if (oneIn(3)) {
      std::string dims = pick({"mn", "hgmn", "bhgmn", "bn", "hgn"});
      text.scoreOperands.push_back(
          {"bias", dims, oneIn(3) ? "f32" : text.type});
      add("%s2 = arith.addf " + text.score + ", %bias32 : f32");
      text.score = "%s2";
      words += ", bias " + dims;
    }
    switch (below(5)) {
    case 0:
    case 1:
      return words + drawCausal();
    case 2:
      return words + drawMask();
    default:
      return words;
    }
  }

  std::string drawCausal() {
    // Every row has a key.
    int64_t m = text.extents.at('m'), n = text.extents.at('n');
    int64_t offset = n > m && oneIn(2) ? n - m : pick<int64_t>({0, 0, 0, 1, 5});
    add("%offset = arith.constant " + Twine(offset) + " : index");
    add("%last = arith.addi %row, %offset : index");
    if (oneIn(2)) {
      add("%isSeen = arith.cmpi sle, %key, %last : index");
      add("%s3 = arith.select %isSeen, " + text.score + ", %hidden : f32");
    } else {
      add("%isHidden = arith.cmpi sgt, %key, %last : index");
      add("%s3 = arith.select %isHidden, %hidden, " + text.score + " : f32");
    }
    text.score = "%s3";
    return ", causal by " + std::to_string(offset);
  }

  std::string drawMask() {
    std::string dims = pick({"mn", "bn", "bhgmn"});
    text.scoreOperands.push_back({"mask", dims, "i1"});
    if (oneIn(2)) {
      add("%low = arith.constant -1.0e4 : f32");
      add("%s4 = arith.select %mask1, " + text.score + ", %low : f32");
      text.score = "%s4";
      return ", mask " + dims + " of low scores";
    }
    add("%s4 = arith.select %mask1, " + text.score + ", %hidden : f32");
    text.score = "%s4";
    text.hasZeroRows = true;
    return ", mask " + dims;
  }

  std::string drawWeights() {
    std::string words = text.hasZeroRows ? ", zero rows" : "";
    if (!text.hasZeroRows && oneIn(6)) {
      text.dividesLast = true;
      words += ", divided last";
    }
    // As PyTorch's kernels do, and more often where it matters more.
    if (text.type != "f32" && (text.type == "f16" ? !oneIn(6) : oneIn(2))) {
      text.roundsWeights = true;
      words += ", weights rounded";
    }
    return words;
  }

  /// What becomes of a product, as words.
  std::string drawTail() {
    text.tail.clear();
    text.value = "%y";
    std::string words;
    if (oneIn(5)) {
      text.tailOperands.push_back({"gain", "e", text.type});
      text.tail += "    %y1 = arith.mulf %y, %gain32 : f32\n";
      text.value = "%y1";
      words += ", gain";
    }
    if (oneIn(5)) {
      text.tailOperands.push_back({"residual", text.out, text.type});
      text.tail +=
          "    %y2 = arith.addf " + text.value + ", %residual32 : f32\n";
      text.value = "%y2";
      words += ", residual";
    }
    return words;
  }

  bool isForHost;
  AttentionText text;
};
} // namespace

AttentionSample families::sampleAttention(uint64_t seed, uint64_t number) {
  return Sampler(seed, number, /*isForHost=*/false).run(number);
}

AttentionSample families::sampleHostAttention(uint64_t seed, uint64_t number) {
  return Sampler(seed, number, /*isForHost=*/true).run(number);
}
