//===- SampleWindow.cpp - Random windows ----------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Draw.h"
#include "fastk/Families/Samples.h"
#include "fastk/Families/WindowText.h"
#include "llvm/ADT/Twine.h"

using namespace llvm;
using namespace fastk;
using families::WindowSample;
using families::WindowText;

namespace {
/// Draws one sample.
class Sampler : families::Draw {
public:
  using Draw::Draw;

  WindowSample run(uint64_t number) {
    text.name = "sample_" + std::to_string(number);
    std::string combiner = drawCombiner();
    do
      drawSizes();
    while (!isGood());
    std::string type = pick({"f32", "f32", "f16", "bf16"});
    text.result = oneIn(4) ? pick({"f32", "f16", "bf16"}) : type.c_str();
    text.operands = {{"e", text.dims, type}};
    std::string words = combiner + " of " + drawElement(type);
    // Sums of few terms lose little in 16 bits.
    text.isNarrow =
        type != "f32" && text.lines.empty() && (!isSum() || windowSize() <= 32);
    words += drawFinish(type);
    std::string about;
    for (char dim : text.dims)
      about += (about.empty() ? "" : ", ") + describe(dim);
    about += "; " + words + "; result " + text.out + " " + text.result;
    return {std::move(text), std::move(about)};
  }

private:
  bool isSum() const { return text.combiner == "arith.addf"; }
  bool isProduct() const { return text.combiner == "arith.mulf"; }
  int64_t windowSize() const {
    int64_t size = 1;
    for (auto &[dim, axis] : text.axes)
      size *= axis.window;
    return size;
  }

  std::string describe(char dim) const {
    auto found = text.axes.find(dim);
    std::string words(1, dim);
    if (found == text.axes.end())
      return words + " " + std::to_string(text.extents.at(dim));
    const WindowText::Axis &axis = found->second;
    words += " " + std::to_string(axis.in) + " by " +
             std::to_string(axis.window) + " each " +
             std::to_string(axis.stride);
    if (axis.dilation > 1)
      words += " apart " + std::to_string(axis.dilation);
    if (axis.low + axis.high)
      words +=
          " pad " + std::to_string(axis.low) + "+" + std::to_string(axis.high);
    return words;
  }

  std::string drawCombiner() {
    switch (below(8)) {
    case 0:
    case 1:
    case 2:
      text.padding = "0xFF800000";
      return "maximum";
    case 3:
      text.combiner = "arith.minimumf";
      text.neutral = text.padding = "0x7F800000";
      return "minimum";
    case 4:
      text.combiner = "arith.mulf";
      text.neutral = text.padding = "1.0";
      return "product";
    default:
      text.combiner = "arith.addf";
      text.neutral = text.padding = "0.0";
      return "sum";
    }
  }

  void drawSizes() {
    text.dims = pick({"ncyx", "ncyx", "ncyx", "nyxc", "nyxc", "ncx", "nxc",
                      "nczyx", "nzyxc"});
    text.out = text.dims;
    if (oneIn(8))
      text.out = text.dims == "ncyx"   ? "nyxc"
                 : text.dims == "nyxc" ? "ncyx"
                                       : text.dims;
    text.axes.clear();
    unsigned count = 0;
    for (char dim : text.dims)
      count += dim >= 'x';
    text.extents = {
        {'n', pick<int64_t>({1, 2, 3, 8})},
        {'c', pick<int64_t>({1, 3, 5, 8, 16, 24, 32, 64, 96, 100})}};
    for (char dim : text.dims)
      if (dim >= 'x')
        text.axes[dim] = drawAxis(count);
  }

  WindowText::Axis drawAxis(unsigned count) {
    WindowText::Axis axis;
    axis.in =
        count == 1 ? pick<int64_t>({31, 64, 257, 1000, 4096, 10000})
        : count == 2
            ? pick<int64_t>({7, 8, 13, 16, 27, 32, 55, 56, 64, 112, 128, 224})
            : pick<int64_t>({4, 7, 8, 12, 16, 21, 32});
    axis.window = oneIn(6) ? pick<int64_t>({1, 4, 5, 7, 8, 11, 16})
                           : pick<int64_t>({2, 2, 3, 3, 3});
    axis.stride = oneIn(3) ? axis.window : pick<int64_t>({1, 1, 2, 2, 2, 3, 4});
    axis.dilation = oneIn(8) ? pick<int64_t>({2, 3}) : 1;
    if (!oneIn(3))
      axis.low = below(axis.window / 2 + 1);
    axis.high = axis.low;
    if (oneIn(4)) // As for windows that are counted to the last begun one.
      axis.high += below(std::min(axis.stride, axis.window - axis.low));
    return axis;
  }

  /// Windows fit, and one moves, and has an element that is not padded.
  bool isGood() const {
    bool moves = false;
    for (auto &[dim, axis] : text.axes) {
      if (axis.in + axis.low + axis.high < axis.reach() ||
          axis.in < axis.reach() - axis.low)
        return false;
      moves |= axis.out() > 1 && axis.window > 1;
    }
    return moves &&
           text.elements(text.dims, false) <= families::kMaxSampleElements &&
           text.elements(text.dims, true) <= families::kMaxSampleElements &&
           (!isProduct() || windowSize() <= 64);
  }

  void line(std::string &lines, StringRef name, const Twine &operation) {
    lines += ("    %" + name + " = " + operation + " : f32\n").str();
  }

  /// What is combined. Factors are near 1, so that products neither vanish nor
  /// overflow.
  std::string drawElement(const std::string &type) {
    std::string words = type + " " + text.dims;
    text.value = "%v";
    if (isProduct()) {
      line(text.lines, "h", "math.tanh %e");
      line(text.lines, "small", "arith.constant 1.0e-01");
      line(text.lines, "one", "arith.constant 1.0");
      line(text.lines, "less", "arith.mulf %h, %small");
      line(text.lines, "v", "arith.addf %one, %less");
      return words + ", near 1";
    }
    switch (below(6)) {
    case 0:
      line(text.lines, "zero", "arith.constant 0.0");
      line(text.lines, "v", "arith.maximumf %e, %zero");
      return words + ", relu";
    case 1:
      line(text.lines, "v", "arith.mulf %e, %e");
      return words + ", squared";
    case 2:
      text.operands.push_back(
          {"scale", oneIn(2) ? "c" : text.dims.c_str(), type});
      line(text.lines, "v", "arith.mulf %e, %scale");
      return words + ", scaled by " + text.operands.back().dims;
    default:
      return words;
    }
  }

  std::string drawFinish(const std::string &type) {
    std::string words, last = "%r";
    bool isDilated = false;
    for (auto &[dim, axis] : text.axes)
      isDilated |= axis.dilation > 1;
    if (isSum() && !isDilated && oneIn(2)) {
      text.dividesByCount = true;
      words += ", by their number";
    } else if (isSum() && !oneIn(3)) {
      line(text.finishLines, "size",
           "arith.constant " + Twine(windowSize()) + ".0");
      line(text.finishLines, "mean", "arith.divf %r, %size");
      words += ", mean";
      last = "%mean";
    }
    switch (below(5)) {
    case 0:
      text.finishOperands.push_back(
          {"bias", oneIn(2) ? text.out.c_str() : "c", type});
      line(text.finishLines, "z", "arith.addf " + last + ", %bias");
      words += ", plus " + text.finishOperands.back().dims;
      last = "%z";
      break;
    case 1:
      line(text.finishLines, "low", "arith.constant 0.1");
      line(text.finishLines, "z", "arith.maximumf " + last + ", %low");
      words += ", at least 0.1";
      last = "%z";
      break;
    default:
      break;
    }
    text.finishValue = last;
    return words;
  }

  WindowText text;
};
} // namespace

WindowSample families::sampleWindow(uint64_t seed, uint64_t number) {
  return Sampler(seed, number).run(number);
}
