//===- SampleReduction.cpp - Random reductions of rows --------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Draw.h"
#include "fastk/Families/ReductionText.h"
#include "fastk/Families/Samples.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace fastk;
using families::ReductionSample;
using families::ReductionText;

namespace {
/// Draws one sample.
class Sampler : families::Draw {
public:
  using Draw::Draw;

  ReductionSample run(uint64_t number) {
    text.name = "sample_" + std::to_string(number);
    text.operands.clear();
    do {
      drawLayout();
      drawSizes();
    } while (text.elements(text.dims) > families::kMaxSampleElements ||
             text.elements(text.reduced) == 1);
    std::string type = pick({"f32", "f32", "f16", "bf16"});
    text.result = oneIn(3) ? pick({"f32", "f16", "bf16"}) : type.c_str();
    text.operands.push_back({"x", text.dims, type});
    std::string words = drawPrologue(type);
    words = drawKind() + " of " + words;
    words += text.isPerRow ? drawRowTail(type) : drawTail(type);
    text.value = last;
    std::string about;
    for (char dim : text.dims)
      about += std::string(about.empty() ? "" : ", ") + dim + " " +
               std::to_string(text.extents[dim]);
    about += "; " + words + "; result " + text.result;
    return {std::move(text), std::move(about)};
  }

private:
  /// Rows are b and r, columns c and d.
  void drawLayout() {
    switch (below(8)) {
    case 0:
      return setLayout("cr", "c");
    case 1:
      return setLayout("bcr", "c");
    case 2:
      return setLayout("brc", "c");
    case 3:
      return setLayout("crd", "cd");
    case 4:
      return setLayout("rcd", "cd");
    default:
      return setLayout("rc", "c");
    }
  }
  void setLayout(StringRef dims, StringRef reduced) {
    text.dims = dims.str();
    text.reduced = reduced.str();
  }

  int64_t drawShort() {
    return pick<int64_t>({1, 2, 3, 4, 5, 7, 8, 12, 15, 17, 31, 32, 33, 48});
  }
  int64_t drawNear() {
    return pick<int64_t>({63, 65, 96, 100, 127, 129, 200, 255, 257, 500, 511,
                          513, 1000, 1023, 1025, 2047, 2050, 4097});
  }
  int64_t drawExact() {
    return pick<int64_t>({64, 128, 256, 512, 768, 1024, 2048, 4096, 8192});
  }
  int64_t drawLong() {
    return pick<int64_t>({5000, 8200, 12345, 16384, 20000, 32768, 50001, 65536,
                          100000, 262144, 1000003});
  }
  int64_t drawSize(bool canBeLong) {
    switch (below(canBeLong ? 5 : 4)) {
    case 0:
      return drawShort();
    case 1:
      return drawNear();
    case 2:
      return drawExact();
    case 3:
      return 1 + static_cast<int64_t>(below(700));
    default:
      return drawLong();
    }
  }
  void drawSizes() {
    bool isSplit = text.dims.size() == 3;
    text.extents = {{'b', drawShort()},
                    {'r', drawSize(false)},
                    {'c', isSplit ? drawSize(false) : drawSize(true)},
                    {'d', drawSize(false)}};
    // Many rows, or few of many columns.
    if (oneIn(4))
      text.extents['r'] = isSplit ? drawShort() : pick<int64_t>({1, 2, 3, 7});
  }

  static std::string constant(StringRef name, StringRef value) {
    return ("    %" + name + " = arith.constant " + value + " : f32\n").str();
  }
  static std::string op(StringRef name, const Twine &operation) {
    return ("    %" + name + " = " + operation + " : f32\n").str();
  }

  /// Lines that make `%v`, what is reduced, of the operands; as words.
  std::string drawPrologue(const std::string &type) {
    std::string words = type + " " + text.dims;
    switch (below(6)) {
    case 0:
      prologue = constant("none", "0.0") +
                 "    %isMore = arith.cmpf ugt, %x, %none : f32\n" +
                 op("v", "arith.select %isMore, %x, %none");
      return words + ", relu";
    case 1:
      text.operands.push_back({"y", text.dims, type});
      prologue = op("v", "arith.addf %x, %y");
      return words + ", plus another";
    case 2:
      text.operands.push_back({"scale", text.reduced.substr(0, 1), type});
      prologue = op("v", "arith.mulf %x, %scale");
      return words + ", scaled by " + text.reduced.substr(0, 1);
    default:
      prologue = constant("half", "0.5") + op("v", "arith.mulf %x, %half");
      return words;
    }
  }

  void addStatistic(StringRef name, StringRef lines, StringRef value,
                    StringRef combiner = "arith.addf",
                    StringRef start = "0.0") {
    text.statistics.push_back({name.str(), prologue + lines.str(), value.str(),
                               combiner.str(), start.str()});
  }
  void addMaximum() {
    addStatistic("most", "", "%v", "arith.maximumf", "0xFF800000");
  }
  void addExponentials() {
    addMaximum();
    addStatistic("sum",
                 op("less", "arith.subf %v, %most") + op("e", "math.exp %less"),
                 "%e");
  }
  std::string inverseOfColumns() {
    std::string number;
    raw_string_ostream(number) << format(
        "%.9e", 1.0 / static_cast<double>(text.elements(text.reduced)));
    return constant("inverse", number);
  }
  void addDeviations() {
    addStatistic("sum", "", "%v");
    addStatistic("square",
                 inverseOfColumns() + op("mean", "arith.mulf %sum, %inverse") +
                     op("off", "arith.subf %v, %mean") +
                     op("off2", "arith.mulf %off, %off"),
                 "%off2");
  }
  std::string rootOf(StringRef square) {
    return inverseOfColumns() +
           op("var", "arith.mulf " + square + ", %inverse") +
           constant("least", "1.0e-05") +
           op("sure", "arith.addf %var, %least") +
           op("root", "math.sqrt %sure");
  }

  void setTail(const std::string &lines, StringRef value, bool isPerRow) {
    text.tail = (isPerRow ? "" : prologue) + lines;
    last = value.str();
    text.isPerRow = isPerRow;
  }

  /// Statistics, and what is made of them; as words.
  std::string drawKind() {
    switch (below(11)) {
    case 0:
      addStatistic("sum", "", "%v");
      setTail("", "%sum", true);
      return "sums";
    case 1:
      addStatistic("sum", "", "%v");
      setTail(inverseOfColumns() + op("mean", "arith.mulf %sum, %inverse"),
              "%mean", true);
      return "means";
    case 2:
      addMaximum();
      setTail("", "%most", true);
      return "maxima";
    case 3:
      addStatistic("square", op("v2", "arith.mulf %v, %v"), "%v2");
      setTail(op("norm", "math.sqrt %square"), "%norm", true);
      return "norms";
    case 4:
      addDeviations();
      setTail(rootOf("%square"), "%root", true);
      return "deviations";
    case 5:
      addExponentials();
      setTail(op("log", "math.log %sum") + op("all", "arith.addf %log, %most"),
              "%all", true);
      return "logarithms of sums of exponentials";
    case 6:
      addExponentials();
      setTail(op("log", "math.log %sum") + op("less", "arith.subf %v, %most") +
                  op("y1", "arith.subf %less, %log"),
              "%y1", false);
      return "log-softmax";
    case 7:
      addStatistic("square", op("v2", "arith.mulf %v, %v"), "%v2");
      setTail(rootOf("%square") + op("y1", "arith.divf %v, %root"), "%y1",
              false);
      return "RMS norm";
    case 8:
      addMaximum();
      addStatistic("fewest", "", "%v", "arith.minimumf", "0x7F800000");
      setTail(constant("one", "1.0") + op("span", "arith.subf %most, %fewest") +
                  op("over", "arith.addf %span, %one") +
                  op("from", "arith.subf %v, %fewest") +
                  op("y1", "arith.divf %from, %over"),
              "%y1", false);
      return "range";
    case 9:
      addDeviations();
      setTail(rootOf("%square") + op("mean", "arith.mulf %sum, %inverse") +
                  op("off", "arith.subf %v, %mean") +
                  op("y1", "arith.divf %off, %root"),
              "%y1", false);
      return "layer norm";
    default:
      addExponentials();
      setTail(op("less", "arith.subf %v, %most") + op("e", "math.exp %less") +
                  op("y1", "arith.divf %e, %sum"),
              "%y1", false);
      return "softmax";
    }
  }

  void addStep(StringRef name, const Twine &operation) {
    text.tail += op(name, operation);
    last = "%" + name.str();
  }

  /// What becomes of an element; as words.
  std::string drawTail(const std::string &type) {
    std::string words;
    // One for each column, or for each of the outer columns, as channels have.
    std::string column = text.reduced;
    if (oneIn(2))
      column = column.substr(0, 1);
    if (oneIn(2)) {
      text.operands.push_back({"gamma", column, type});
      addStep("y2", "arith.mulf " + last + ", %gamma");
      words += ", times " + column;
      if (oneIn(2)) {
        text.operands.push_back({"beta", column, type});
        addStep("y3", "arith.addf " + last + ", %beta");
        words += ", plus " + column;
      }
    }
    if (oneIn(4)) {
      text.operands.push_back({"residual", text.dims, type});
      addStep("y4", "arith.addf " + last + ", %residual");
      words += ", residual";
    }
    if (oneIn(4)) {
      addStep("y5", "math.tanh " + last);
      words += ", tanh";
    }
    return words;
  }

  std::string drawRowTail(const std::string &type) {
    if (!oneIn(3))
      return "";
    std::string dims = text.rows();
    text.operands.push_back({"weight", dims, type});
    addStep("z", "arith.mulf " + last + ", %weight");
    return ", times " + dims;
  }

  ReductionText text;
  std::string prologue, last;
};
} // namespace

ReductionSample families::sampleReduction(uint64_t seed, uint64_t number) {
  return Sampler(seed, number).run(number);
}
