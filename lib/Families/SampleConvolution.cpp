//===- SampleConvolution.cpp - Random convolutions ------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DrawSum.h"
#include "fastk/Families/ConvolutionText.h"
#include "fastk/Families/Samples.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace fastk;
using families::ConvolutionSample;
using families::ConvolutionText;

namespace {
/// Draws one sample.
class Sampler : families::DrawSum {
public:
  using DrawSum::DrawSum;

  ConvolutionSample run(uint64_t number) {
    text.name = "sample_" + std::to_string(number);
    text.operands.clear();
    drawTypes();
    kind = pick({Ordinary, Ordinary, Ordinary, Grouped, Depthwise, Transposed});
    do {
      drawSizes();
      drawLayouts();
    } while (!isFit());
    std::string ofX = drawFactor(text.prologueX, text.x, "cC", 5);
    std::string ofW = drawFactor(text.prologueW, text.w, "oO", 6);
    std::string ofResult = drawTail();
    return {text, aboutSizes() + "; X " + text.x + " " + text.type + ofX +
                      "; W " + text.w + " " + text.type + ofW + "; result " +
                      text.out + " " + text.result + ofResult};
  }

private:
  using Axis = ConvolutionText::Axis;
  enum Kind { Ordinary, Grouped, Depthwise, Transposed };

  void drawTypes() {
    text.type = pick({"f16", "f16", "bf16", "f32"});
    text.result = text.type;
    if (oneIn(5))
      text.result = text.type == "f32" ? "f16" : "f32";
  }

  int64_t drawChannels() {
    switch (below(6)) {
    case 0:
      return pick<int64_t>({1, 2, 3, 5, 7, 8, 12, 17});
    case 1:
    case 2:
      return pick<int64_t>({33, 48, 63, 65, 72, 96, 127, 129, 160, 200, 320});
    default:
      return pick<int64_t>({16, 32, 64, 64, 128, 128, 256, 512});
    }
  }

  Axis drawAxis() {
    Axis axis;
    switch (below(3)) {
    case 0:
      axis.in = pick<int64_t>({1, 2, 3, 5, 7, 8, 9, 13, 14, 17});
      break;
    case 1:
      axis.in = pick<int64_t>({28, 31, 32, 33, 56, 64, 65});
      break;
    default:
      axis.in =
          4 + static_cast<int64_t>(below(text.axes.size() == 1 ? 500 : 60));
    }
    axis.kernel = pick<int64_t>({1, 2, 3, 3, 3, 3, 4, 5, 7});
    axis.stride = kind == Transposed ? 1 : pick<int64_t>({1, 1, 1, 2, 2, 3, 4});
    axis.dilation = pick<int64_t>({1, 1, 1, 1, 2, 3});
    if (kind == Transposed)
      axis.inputDilation = pick<int64_t>({1, 2, 2, 3});
    int64_t reach = (axis.kernel - 1) * axis.dilation;
    axis.low = pick<int64_t>({0, reach / 2, reach / 2, reach, 1, 2});
    axis.high = oneIn(4) ? pick<int64_t>({0, 1, reach}) : axis.low;
    return axis;
  }

  void drawSizes() {
    text.batch = pick<int64_t>({1, 1, 2, 3, 4, 8, 16});
    text.inChannels = drawChannels();
    text.outChannels = drawChannels();
    text.groups = 1;
    if (kind == Grouped) {
      text.groups = pick<int64_t>({2, 3, 4, 8, 32});
      text.inChannels = pick<int64_t>({1, 2, 3, 4, 8, 16, 32, 64});
      text.outChannels = pick<int64_t>({1, 2, 3, 8, 16, 24, 32, 48, 64, 64});
    }
    if (kind == Depthwise) {
      text.groups = drawChannels();
      text.inChannels = text.outChannels = 1;
    }
    text.axes.resize(pick<size_t>({1, 2, 2, 2, 2, 3}));
    for (Axis &axis : text.axes)
      axis = drawAxis();
    if (oneIn(2))
      fill(text.axes, text.axes.back());
  }

  void drawLayouts() {
    StringRef input = StringRef("ZYX").take_back(text.axes.size());
    StringRef result = StringRef("zyx").take_back(text.axes.size());
    StringRef kernel = StringRef("uvw").take_back(text.axes.size());
    // Channels of X, of W and of the result.
    std::string ofX = "c", inW = "c", outW = "o", ofResult = "o";
    if (kind == Grouped && oneIn(2)) {
      ofX = "gc";
      outW = ofResult = "go";
    } else if (kind == Grouped) {
      ofX = "C";
      outW = ofResult = "O";
    } else if (kind == Depthwise) {
      ofX = outW = ofResult = "g";
      inW = "";
    }
    bool isLast = oneIn(2);
    text.x = isLast ? "n" + input.str() + ofX : "n" + ofX + input.str();
    text.out = isLast != oneIn(5) ? "n" + result.str() + ofResult
                                  : "n" + ofResult + result.str();
    text.w = oneIn(3)   ? kernel.str() + inW + outW
             : oneIn(3) ? outW + kernel.str() + inW
                        : outW + inW + kernel.str();
  }

  /// Whether it is small and has a window that moves.
  bool isFit() const {
    for (const Axis &axis : text.axes)
      if (axis.out() < 1)
        return false;
    SmallVector<StringRef> all = {text.x, text.w, text.out};
    for (StringRef dims : all)
      if (text.elements(dims) > families::kMaxSampleElements)
        return false;
    int64_t padded = text.elements(text.x);
    for (const Axis &axis : text.axes)
      padded = padded / axis.in * axis.padded();
    return padded <= families::kMaxSampleElements &&
           text.terms() <= families::kMaxSampleTerms &&
           any_of(text.axes, [](const Axis &axis) {
             return axis.out() > 1 && axis.kernel > 1;
           });
  }

  /// One in `rarity` factors is computed; what of, as words. The letters are of
  /// channels that may scale it.
  std::string drawFactor(ConvolutionText::Prologue &prologue, StringRef dims,
                         StringRef channels, uint64_t rarity) {
    return drawPrologue(prologue, text.type, rarity, [&] {
      for (char each : channels)
        if (dims.contains(each))
          return std::string(1, each);
      return std::string("g");
    });
  }

  /// What becomes of a sum, as words.
  std::string drawTail() {
    StringRef out = text.out;
    std::string channels = out.contains("go")  ? "go"
                           : out.contains('O') ? "O"
                           : out.contains('o') ? "o"
                                               : "g";
    beginTail(text);
    std::string words;
    if (oneIn(4))
      words += addScale(oneIn(2) ? "n" : channels);
    words += drawBias(channels);
    words += drawActivation();
    words += drawResidual();
    endTail();
    return words;
  }

  std::string aboutSizes() const {
    std::string about = "n " + std::to_string(text.batch);
    if (text.groups > 1)
      about += ", g " + std::to_string(text.groups);
    if (kind != Depthwise)
      about += ", c " + std::to_string(text.inChannels) + ", o " +
               std::to_string(text.outChannels);
    StringRef names = StringRef("zyx").take_back(text.axes.size());
    for (auto [name, axis] : zip_equal(names, text.axes)) {
      about += std::string("; ") + name + " " + std::to_string(axis.in) +
               " by " + std::to_string(axis.kernel);
      auto add = [&](StringRef what, int64_t number, int64_t usual) {
        if (number != usual)
          about += (", " + what + " " + Twine(number)).str();
      };
      add("stride", axis.stride, 1);
      add("dilation", axis.dilation, 1);
      add("zeros before", axis.low, 0);
      add("zeros after", axis.high, 0);
      add("zeros between", axis.inputDilation - 1, 0);
    }
    return about;
  }

  ConvolutionText text;
  Kind kind = Ordinary;
};
} // namespace

ConvolutionSample families::sampleConvolution(uint64_t seed, uint64_t number) {
  return Sampler(seed, number).run(number);
}
