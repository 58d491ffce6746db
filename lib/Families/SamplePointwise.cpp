//===- SamplePointwise.cpp - Random pointwise workloads -------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Draw.h"
#include "fastk/Families/PointwiseText.h"
#include "fastk/Families/Samples.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

using namespace llvm;
using namespace fastk;
using families::PointwiseSample;
using families::PointwiseText;

namespace {
/// Draws one sample.
class Sampler : families::Draw {
public:
  Sampler(uint64_t seed, uint64_t number)
      : Draw(seed, number), gathers(seed ^ kGatherStream, number) {}

  PointwiseSample run(uint64_t number) {
    do {
      text = PointwiseText();
      words.clear();
      steps = 0;
      draw();
    } while (any_of(text.operands, [&](const PointwiseText::Operand &each) {
      return text.elements(each) > families::kMaxSampleElements;
    }));
    if (gathers.oneIn(4))
      drawGather();
    text.name = "sample_" + std::to_string(number);
    std::string about;
    for (char dim : text.dims)
      about += std::string(about.empty() ? "" : ", ") + dim + " " +
               std::to_string(text.extents[dim]);
    about += words + "; result " + text.result;
    return {std::move(text), std::move(about)};
  }

private:
  /// Gathers have random numbers of their own, so that samples without one are
  /// what they were before there were any.
  static constexpr uint64_t kGatherStream = 0x9a74e2;

  void draw() {
    text.dims = pick({"c", "rc", "rc", "rc", "brc", "brc", "abrc"});
    text.operands.clear();
    do {
      text.extents = {{'a', drawShort()},
                      {'b', oneIn(2) ? drawShort() : drawSize()},
                      {'r', drawSize()},
                      {'c', drawSize()}};
      if (text.dims == "c")
        text.extents['c'] *= drawSize();
    } while (text.elements(text.dims) > families::kMaxSampleElements);
    std::string type = pick({"f32", "f32", "f16", "bf16"});
    text.result = oneIn(3) ? pick({"f32", "f16", "bf16"}) : type.c_str();
    drawFirst(type);
    drawFunction();
    if (oneIn(2))
      drawSecond(type);
    if (oneIn(3))
      drawFunction();
    if (oneIn(3))
      drawChoice();
    text.value = last;
  }

  int64_t drawShort() {
    return pick<int64_t>({1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 32});
  }
  int64_t drawSize() {
    switch (below(4)) {
    case 0:
      return drawShort();
    case 1:
      return pick<int64_t>(
          {31, 33, 63, 65, 100, 127, 129, 255, 257, 500, 1000, 1023, 2049});
    case 2:
      return pick<int64_t>({32, 64, 96, 128, 256, 512, 768, 1024, 4096});
    default:
      return 1 + static_cast<int64_t>(below(700));
    }
  }

  /// The result's dimensions in another order.
  std::string drawOrder() {
    std::string dims = text.dims;
    for (size_t i = dims.size(); i > 1; --i)
      std::swap(dims[i - 1], dims[below(i)]);
    return dims;
  }

  void addOperand(StringRef name, std::string dims, std::string type) {
    words += "; " + name.str() + " " + (dims.empty() ? "-" : dims) + " " + type;
    text.operands.push_back({name.str(), std::move(dims), std::move(type)});
  }

  /// The operand that has all dimensions.
  void drawFirst(const std::string &type) {
    addOperand("x", oneIn(2) ? drawOrder() : text.dims, type);
    last = "%x";
    if (oneIn(2))
      drawMade(text.operands.back());
  }

  void drawMade(PointwiseText::Operand &operand) {
    operand.along = operand.dims[below(operand.dims.size())];
    int64_t extent = text.extents[operand.along];
    switch (below(4)) {
    case 0:
      operand.made = operand.Sliced;
      operand.before = pick<int64_t>({0, 1, 3, 8, 64});
      operand.behind = pick<int64_t>({0, 1, 4, 8});
      words += ", slice";
      break;
    case 1:
      if (extent < 3)
        return operand = {operand.name, operand.dims, operand.type}, void();
      operand.made = operand.Padded;
      operand.before = pick<int64_t>({0, 1, extent / 3});
      operand.behind = 1 + static_cast<int64_t>(below(extent / 3));
      words += ", pad";
      break;
    case 2:
      if (extent < 2)
        return operand = {operand.name, operand.dims, operand.type}, void();
      operand.made = operand.Joined;
      operand.before = oneIn(2) ? (extent + 1) / 2
                                : 1 + static_cast<int64_t>(below(extent - 1));
      words += ", concatenation";
      break;
    default:
      operand.made = operand.Reversed;
      words += ", reverse";
      break;
    }
    words += std::string(" of ") + operand.along;
  }

  /// Another operand: all dimensions, some, or none.
  void drawSecond(const std::string &type) {
    std::string dims, kind = oneIn(4) ? "i32" : type;
    switch (below(5)) {
    case 0:
      dims = drawOrder();
      break;
    case 1:
      dims = text.dims.substr(text.dims.size() - 1);
      break;
    case 2:
      dims = text.dims.substr(0, 1);
      break;
    case 3:
      copy_if(text.dims, std::back_inserter(dims),
              [&](char) { return oneIn(2); });
      break;
    default:
      dims = text.dims;
      break;
    }
    addOperand("y", std::move(dims), kind);
    step("arith." + Twine(pick({"addf ", "mulf ", "subf "})) + last + ", %y");
  }

  /// What is gathered in place of the first operand, or is added to the rest.
  void drawGather() {
    // What is transposed stays so.
    bool isFirst = text.operands[0].made == PointwiseText::Operand::Plain &&
                   text.operands[0].dims == text.dims && gathers.oneIn(2);
    if (!isFirst) {
      std::string dims = text.dims;
      if (gathers.oneIn(4))
        std::reverse(dims.begin(), dims.end());
      addOperand("z", std::move(dims), text.operands[0].type);
      step("arith.addf " + last + ", %z");
      text.value = last;
    }
    PointwiseText::Operand &operand =
        isFirst ? text.operands[0] : text.operands.back();
    operand.made = operand.Gathered;
    drawTable(operand);
    operand.indexType = gathers.oneIn(2) ? "i64" : "i32";
    operand.wraps = gathers.oneIn(2);
    for (char dim : {'V', 'W'})
      text.extents[dim] =
          gathers.pick<int64_t>({1, 2, 3, 7, 32, 100, 129, 1000, 4096, 30000});
    while (text.elements(operand.table) > families::kMaxSampleElements)
      for (char dim : {'V', 'W'})
        text.extents[dim] = (text.extents[dim] + 1) / 2;
    words += "; " + operand.name + " gathered from " + operand.table;
    for (char dim : {'V', 'W'})
      if (StringRef(operand.table).contains(dim))
        words +=
            std::string(" ") + dim + " " + std::to_string(text.extents[dim]);
    words += " by " + operand.indexDims + " " + operand.indexType +
             (operand.wraps ? ", from the end where negative" : "");
  }

  /// What a table and its indices have of an operand's dimensions.
  void drawTable(PointwiseText::Operand &operand) {
    const std::string &dims = operand.dims;
    char last = text.dims.back(), any = dims[gathers.below(dims.size())];
    auto others = [&](char left) {
      std::string rest;
      copy_if(dims, std::back_inserter(rest),
              [&](char dim) { return dim != left; });
      return rest;
    };
    auto replaced = [&](char dim) {
      std::string table = dims;
      table[table.find(dim)] = 'V';
      return table;
    };
    uint64_t kind = dims.size() == 1 ? 4 : gathers.below(6);
    switch (kind) {
    case 0: // An embedding's rows; those of a transposed table.
    case 1:
      operand.table =
          gathers.oneIn(4) ? std::string{last, 'V'} : std::string{'V', last};
      operand.indexDims = others(last);
      return;
    case 2: // Slices along one dimension.
      operand.table = replaced(any);
      operand.indexDims = any;
      return;
    case 3: // Elements along one dimension.
      operand.table = replaced(any);
      operand.indexDims = dims;
      return;
    case 4: // Elements of all of a table.
      operand.table = gathers.oneIn(2) ? "V" : "VW";
      operand.indexDims = dims;
      return;
    default: // Rows by two indices.
      operand.table = std::string{'V', 'W', last};
      operand.indexDims = others(last);
    }
  }

  void line(StringRef name, const Twine &operation, StringRef type) {
    text.lines +=
        ("    %" + name + " = " + operation + " : " + type + "\n").str();
  }
  void step(const Twine &operation) {
    std::string name = "s" + std::to_string(steps++);
    line(name, operation, "f32");
    last = "%" + name;
  }
  /// A constant's name.
  std::string number(StringRef value) {
    std::string name = "k" + std::to_string(steps++);
    line(name, "arith.constant " + value, "f32");
    return "%" + name;
  }

  void drawFunction() {
    std::string from = last;
    switch (below(6)) {
    case 0: {
      std::string zero = number("0.0");
      step("arith.maximumf " + from + ", " + zero);
      words += ", relu";
      return;
    }
    case 1: {
      std::string root = number("0.70710678"), half = number("0.5"),
                  one = number("1.0");
      step("arith.mulf " + from + ", " + root);
      step("math.erf " + last);
      step("arith.addf " + last + ", " + one);
      step("arith.mulf " + last + ", " + half);
      step("arith.mulf " + last + ", " + from);
      words += ", gelu";
      return;
    }
    case 2:
      step("math.tanh " + from);
      words += ", tanh";
      return;
    case 3: {
      std::string one = number("1.0");
      step("arith.negf " + from);
      step("math.exp " + last);
      step("arith.addf " + last + ", " + one);
      step("arith.divf " + from + ", " + last);
      words += ", silu";
      return;
    }
    case 4:
      step("math.absf " + from);
      step("math.sqrt " + last);
      words += ", root";
      return;
    default: {
      std::string scale = number("0.375");
      step("arith.mulf " + from + ", " + scale);
      words += ", scaled";
    }
    }
  }

  /// Another value where a mask, or the order of two indices, says so.
  void drawChoice() {
    std::string other = number("-2.0"), from = last;
    if (oneIn(2) || text.dims.size() < 2) {
      addOperand("mask",
                 oneIn(2) ? text.dims : text.dims.substr(text.dims.size() - 1),
                 "i1");
      step("arith.select %mask, " + from + ", " + other);
      return;
    }
    size_t count = text.dims.size();
    line("row", "linalg.index " + Twine(count - 2), "index");
    line("column", "linalg.index " + Twine(count - 1), "index");
    line("below", "arith.cmpi sge, %row, %column", "index");
    step("arith.select %below, " + from + ", " + other);
    words += ", lower triangle";
  }

  PointwiseText text;
  families::Draw gathers;
  std::string words, last;
  unsigned steps = 0;
};
} // namespace

PointwiseSample families::samplePointwise(uint64_t seed, uint64_t number) {
  return Sampler(seed, number).run(number);
}
