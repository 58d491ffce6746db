//===- Convolution.cpp - Workloads that move a window ---------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/Convolution.h"
#include "Window.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using families::Convolution;
using families::ConvolutionAxis;
using families::ConvolutionPlace;
using families::OperandPlace;
using families::placeOf;
using families::strideOf;
using families::WindowAxis;
using families::WindowSource;

namespace {
/// Finds the parts of a convolution.
class Matcher {
public:
  Matcher(Block &body, std::string &why) : body(body), why(why) {}

  std::optional<Convolution> run() {
    if (!matchSummedProducts(body, found, why) || !findWindow())
      return std::nullopt;
    groupVars();
    if (usesIndices())
      return std::nullopt;
    placeInput();
    placeBuffers();
    return std::move(found);
  }

private:
  bool fail(const Twine &reason) {
    why = reason.str();
    return false;
  }

  /// A factor as what windows move over.
  struct Candidate {
    Value factor;
    /// Variables that it moves with.
    llvm::SmallBitVector vars;
    /// Nothing: it is computed where it is summed.
    std::optional<WindowSource> source;
    SmallVector<WindowAxis> axes;

    bool moves() const {
      // Where the window is the whole of X, or one element without a stride,
      // it is a contraction.
      return llvm::any_of(axes, [](const WindowAxis &each) {
        const ConvolutionAxis &axis = each.axis;
        return (axis.out > 1 && (axis.kernel > 1 || axis.stride > 1)) ||
               axis.inputDilation > 1 || reachesZeros(axis);
      });
    }
    /// Whether it is written as what windows move over, of one element each.
    bool hasPixels() const {
      return llvm::any_of(
          axes, [](const WindowAxis &each) { return each.axis.out > 1; });
    }
  };

  /// Which factor windows move over, and its axes.
  bool findWindow() {
    auto inLhs = varsOf(found, found.lhs, why);
    auto inRhs = varsOf(found, found.rhs, why);
    if (!inLhs || !inRhs)
      return false;
    Candidate left{found.lhs, *inLhs, {}, {}}, right{found.rhs, *inRhs, {}, {}};
    std::string whyNot;
    look(left, right, whyNot);
    look(right, left, whyNot);
    if (left.moves() && right.moves())
      return fail("both factors have windows");
    found.hasWindow = left.moves() || right.moves();
    if (!found.hasWindow) {
      why = whyNot.empty() ? "it has no window that moves" : whyNot;
      return whyNot.empty() && takeProduct(std::move(left), std::move(right));
    }
    return left.moves() ? take(std::move(left), std::move(right))
                        : take(std::move(right), std::move(left));
  }

  void look(Candidate &factor, const Candidate &other, std::string &whyNot) {
    factor.source = sourceOf(found, factor.factor);
    if (!factor.source)
      return;
    if (auto axes =
            findAxes(found, *factor.source, factor.vars, other.vars, whyNot))
      factor.axes = std::move(*axes);
  }

  /// A product as a convolution whose kernel is one element. What windows of
  /// one element are written over is X, else the factor with more coordinates
  /// of the result that the other does not have.
  bool takeProduct(Candidate left, Candidate right) {
    // Families for products are for all other types: of f32 alone classes tell
    // apart what is a convolution.
    if (found.lhsElem != Elem::F32 || found.rhsElem != Elem::F32)
      return false;
    bool isLeft = left.hasPixels() != right.hasPixels()
                      ? left.hasPixels()
                      : ownSize(left, right) >= ownSize(right, left);
    if (!isLeft)
      std::swap(left, right);
    // With one output channel no element of X is used again.
    if (!left.source || ownSize(right, left) == 1)
      return false;
    if (!left.hasPixels()) {
      auto row = findRow(found, *left.source, left.vars, right.vars);
      if (!row)
        return false;
      left.axes = {*row};
    }
    return take(std::move(left), std::move(right));
  }

  /// Elements of the result that `factor` has of its own.
  int64_t ownSize(const Candidate &factor, const Candidate &other) const {
    int64_t size = 1;
    for (unsigned var = 0; var < found.resultVars; ++var)
      if (factor.vars[var] && !other.vars[var])
        size *= found.program.vars[var].extent;
    return size;
  }

  bool take(Candidate ofX, Candidate ofW) {
    found.xFactor = ofX.factor;
    found.wFactor = ofW.factor;
    x = std::move(ofX);
    inX = x.vars;
    inW = ofW.vars;
    if (x.axes.size() > found.axes.size())
      return fail("windows move over more than three dimensions");
    unsigned missing = found.axes.size() - x.axes.size();
    for (auto [axis, each] : llvm::enumerate(x.axes))
      found.axes[missing + axis] = each.axis;
    return true;
  }

  static bool reachesZeros(const ConvolutionAxis &axis) {
    int64_t last = (axis.out - 1) * axis.stride +
                   (axis.kernel - 1) * axis.dilation - axis.padding;
    return axis.padding > 0 || last > (axis.in - 1) * axis.inputDilation;
  }

  void groupVars() {
    llvm::SmallBitVector isAxis(found.program.vars.size());
    for (const ConvolutionAxis &axis : found.axes)
      for (std::optional<unsigned> var : {axis.var, axis.kernelVar})
        if (var)
          isAxis.set(*var);
    for (unsigned var = 0; var < found.resultVars; ++var)
      if (!isAxis[var])
        (inX[var] && inW[var] ? found.groups
         : inW[var]           ? found.outChannels
                              : found.batch)
            .push_back(var);
    for (unsigned var : found.summed)
      if (!isAxis[var])
        found.inChannels.push_back(var);
    found.batchSize = found.sizeOf(found.batch);
    found.groupCount = found.sizeOf(found.groups);
    found.outChannelCount = found.sizeOf(found.outChannels);
    found.inChannelCount = found.sizeOf(found.inChannels);
  }

  /// An element of W may not know which element of the result it is for.
  bool usesIndices() {
    bool isUsed = !found.op.getBody()->getOps<linalg::IndexOp>().empty();
    if (isUsed)
      fail("what it sums is computed of indices");
    return isUsed;
  }

  /// The element of X at coordinates that are there.
  void placeInput() {
    found.input = x.source->tensor;
    found.inputIndex = x.source->index;
    unsigned missing = found.axes.size() - x.axes.size();
    static constexpr const char *names[] = {"z", "y", "x"};
    for (auto [place, each] : llvm::enumerate(x.axes)) {
      ConvolutionAxis &axis = found.axes[missing + place];
      axis.inputVar = found.program.newVar(names[missing + place], axis.in);
      found.inputIndex[each.dim] = Lin::ofVar(*axis.inputVar);
    }
  }

  void placeBuffers() {
    const auto &[z, y, x] = found.axes;
    auto one = [](std::optional<unsigned> var) {
      return var ? SmallVector<unsigned>{*var} : SmallVector<unsigned>();
    };
    found.xElem = found.elemOf(found.xFactor);
    found.wElem = found.elemOf(found.wFactor);
    found.x = place(
        placeOf(
            found.program, found.input,
            [&](Scope &scope) { scope.at(found.input, found.inputIndex); },
            found.isWidened),
        {found.batch, found.groups, found.inChannels, one(z.inputVar),
         one(y.inputVar), one(x.inputVar)});
    found.w = place(placeOf(found, found.wFactor),
                    {found.groups, found.outChannels, found.inChannels,
                     one(z.kernelVar), one(y.kernelVar), one(x.kernelVar)});
    OperandPlace result{0, Scope::linear(found.result, found.index)};
    found.out = place(result, {found.batch, found.groups, found.outChannels,
                               one(z.var), one(y.var), one(x.var)});
  }

  ConvolutionPlace place(std::optional<OperandPlace> at,
                         std::array<SmallVector<unsigned>, 6> coordinates) {
    ConvolutionPlace made;
    made.isPlain = at.has_value();
    int64_t span = 1;
    for (auto [coordinate, group] : llvm::enumerate(coordinates)) {
      made.extents[coordinate] = found.sizeOf(group);
      if (!at || made.extents[coordinate] == 1)
        continue;
      auto stride = strideOf(found.program, group, at->linear);
      made.isPlain &= stride && *stride >= 0;
      made.strides[coordinate] = stride.value_or(0);
      span += (made.extents[coordinate] - 1) * made.strides[coordinate];
    }
    if (!made.isPlain) {
      made.strides = {};
      return made;
    }
    made.input = at->input;
    made.offset = at->linear.constant;
    // Where there is one, the distance to the next is anybody's choice: one
    // that a tensor map can have.
    for (auto [extent, stride] : llvm::zip_equal(made.extents, made.strides))
      if (extent == 1)
        stride = llvm::alignTo(span, 16);
    return made;
  }

  Block &body;
  std::string &why;
  llvm::SmallBitVector inX, inW;
  Candidate x;
  Convolution found;
};
} // namespace

std::optional<Convolution> families::matchConvolution(Block &body,
                                                      std::string &why) {
  return Matcher(body, why).run();
}
