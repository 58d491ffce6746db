//===- SampleContraction.cpp - Random contractions ------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Draw.h"
#include "fastk/Families/ContractionText.h"
#include "fastk/Families/Samples.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Twine.h"

using namespace llvm;
using namespace fastk;
using families::ContractionSample;
using families::ContractionText;

namespace {
/// Draws one sample.
class Sampler : families::Draw {
public:
  using Draw::Draw;

  ContractionSample run(uint64_t number) {
    text.name = "sample_" + std::to_string(number);
    text.operands.clear();
    drawTypes();
    do {
      drawSizes();
      drawLayouts();
    } while (!isSmall());
    std::string ofA = drawPrologue(text.prologueA, text.a, 'm', 4);
    std::string ofB = drawPrologue(text.prologueB, text.b, 'n', 6);
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
    text.type = pick({"f16", "bf16"});
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
  std::string drawPrologue(ContractionText::Prologue &prologue, StringRef dims,
                           char outer, uint64_t rarity) {
    if (!oneIn(rarity))
      return "";
    const std::string &type = text.type;
    switch (below(3)) {
    case 0:
      prologue.lines = "    %none = arith.constant 0.0 : " + type +
                       "\n    %isMore = arith.cmpf ugt, %a0, %none : " + type +
                       "\n    %a1 = arith.select %isMore, %a0, %none : " + type;
      return ", relu";
    case 1:
      prologue.scale = dims.contains('b') && oneIn(2) ? std::string("b") + outer
                                                      : std::string(1, outer);
      prologue.lines = "    %a1 = arith.mulf %a0, %s0 : " + type;
      return ", scaled by " + prologue.scale;
    default:
      prologue.stored = "f32";
      prologue.lines = "    %a1 = arith.truncf %a0 : f32 to " + type;
      return ", cast from f32";
    }
  }

  /// Adds a line that makes the next value of the last one.
  void addStep(const Twine &operation) {
    std::string made = "%t" + std::to_string(steps++);
    text.tail += ("    " + made + " = " + operation + " : f32\n").str();
    last = made;
  }
  void addConstant(StringRef name, StringRef value) {
    text.tail +=
        ("    %" + name + " = arith.constant " + value + " : f32\n").str();
  }
  std::string addOperand(StringRef name, std::string dims) {
    text.operands.push_back({name.str(), std::move(dims)});
    return ("%" + name + "32").str();
  }

  /// What becomes of a sum, as words.
  std::string drawTail() {
    text.tail.clear();
    std::string words;
    if (oneIn(4)) {
      std::string dims =
          StringRef(text.out).contains('b') && oneIn(2) ? "bm" : "m";
      addStep("arith.mulf " + last + ", " + addOperand("scale", dims));
      words += ", scaled by " + dims;
    }
    if (oneIn(2)) {
      addStep("arith.addf " + last + ", " + addOperand("bias", "n"));
      words += ", bias";
    }
    words += drawActivation();
    if (oneIn(4)) {
      addStep("arith.addf " + last + ", " + addOperand("residual", text.out));
      words += ", residual";
    }
    text.value = last;
    return words;
  }

  std::string drawActivation() {
    std::string x = last;
    switch (below(7)) {
    case 0:
      addConstant("none", "0.0");
      text.tail += "    %isMore = arith.cmpf ugt, " + x + ", %none : f32\n";
      addStep("arith.select %isMore, " + x + ", %none");
      return ", relu";
    case 1:
      addConstant("half", "0.5");
      addConstant("one", "1.0");
      addConstant("root", "0.70710678118654757");
      addStep("arith.mulf " + x + ", %root");
      addStep("math.erf " + last);
      addStep("arith.addf " + last + ", %one");
      addStep("arith.mulf " + last + ", " + x);
      addStep("arith.mulf " + last + ", %half");
      return ", gelu";
    case 2:
      addStep("math.tanh " + x);
      return ", tanh";
    case 3:
      addConstant("one", "1.0");
      addStep("arith.negf " + x);
      addStep("math.exp " + last);
      addStep("arith.addf " + last + ", %one");
      addStep("arith.divf " + x + ", " + last);
      return ", silu";
    default:
      return "";
    }
  }

  ContractionText text;
  /// The value that the next line of the tail works on, and how many there are.
  std::string last = "%x";
  unsigned steps = 0;
};
} // namespace

ContractionSample families::sampleContraction(uint64_t seed, uint64_t number) {
  return Sampler(seed, number).run(number);
}
