//===- WorkloadText.cpp - A workload in words -----------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WorkloadText.h"
#include "Facts.h"
#include "fastk/Analysis/WorkloadKind.h"
#include "fastk/Conversion/ProgramRules.h"
#include "fastk/System/AvailableMemory.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>

using namespace mlir;
using namespace fastk;

//===----------------------------------------------------------------------===//
// In a sentence
//===----------------------------------------------------------------------===//

static std::string joined(ArrayRef<int64_t> extents, StringRef separator) {
  return llvm::join(
      llvm::map_range(extents,
                      [](int64_t each) { return std::to_string(each); }),
      separator);
}

static std::string times(ArrayRef<int64_t> extents) {
  return joined(extents, " x ");
}

static std::string list(ArrayRef<int64_t> extents) {
  return "[" + joined(extents, ", ") + "]";
}

std::string llm::describeKind(const WorkloadFeatures &features) {
  std::string text =
      (features.name + ", kind " + stringify(features.kind) + ".").str();
  for (const ConvolutionFeatures &conv : features.convolutions) {
    text += llvm::formatv(
        " A {0}-D convolution: batch {1}, {2} input channels, {3} output "
        "channels, kernel {4}, stride {5}, padding {6}, dilation {7}, output "
        "{8}, operands {9}, sums {10}",
        conv.kernel.size(), conv.batch, conv.inputChannels, conv.outputChannels,
        times(conv.kernel), times(conv.stride), times(conv.padding),
        times(conv.dilation), times(conv.output), conv.elementType,
        conv.accumulator);
    int64_t pixels = conv.batch, taps = conv.inputChannels / conv.groups;
    for (int64_t each : conv.output)
      pixels *= each;
    for (int64_t each : conv.kernel)
      taps *= each;
    if (conv.groups > 1)
      text += llvm::formatv(", {0} groups", conv.groups);
    text += llvm::formatv("; as a matrix product (implicit GEMM): {0} pixels x "
                          "{1} channels{2}, sums of {3} terms.",
                          pixels, conv.outputChannels / conv.groups,
                          conv.groups > 1 ? " in each group" : "", taps);
  }
  for (const ContractionFeatures &product : features.contractions) {
    text += llvm::formatv(" A matrix product of {0} x {1} by {1} x {2}",
                          product.m, product.k, product.n);
    if (product.batch > 1)
      text += llvm::formatv(", {0} of them", product.batch);
    text += llvm::formatv(", operands {0} and {1}, sums {2}", product.typeA,
                          product.typeB, product.accumulator);
    if (product.transposedA)
      text += ", the left operand stored with k outside";
    if (product.transposedB)
      text += ", the right operand stored with k innermost";
    text += ".";
  }
  if (features.rows > 0)
    text += llvm::formatv(" {0} rows of {1} elements.", features.rows,
                          features.rowLength);
  if (!features.epilogue.empty())
    text += " Then: " + llvm::join(features.epilogue, ", ") + ".";
  return text;
}

static std::string showType(Type type) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (auto shaped = dyn_cast<ShapedType>(type)) {
    stream << shaped.getElementType();
    if (shaped.getRank() > 0)
      stream << list(shaped.getShape());
  } else {
    stream << type;
  }
  return text;
}

static double bytesOf(Type type) {
  auto shaped = cast<ShapedType>(type);
  Type element = shaped.getElementType();
  int64_t parts = 1;
  if (auto complex = dyn_cast<ComplexType>(element)) {
    element = complex.getElementType();
    parts = 2;
  }
  unsigned bits = element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
  return double(shaped.getNumElements()) * parts * ((bits + 7) / 8);
}

std::string llm::describeBuffers(LoweringOp workload,
                                 const WorkloadFeatures &features) {
  std::string text;
  FunctionType type = workload.getWorkloadType();
  for (auto [index, each] : llvm::enumerate(type.getInputs())) {
    text += llvm::formatv("- in{0}: {1}, {2}", index, showType(each),
                          showBytes(bytesOf(each)));
    if (index < features.inputs.size()) {
      const InputFeatures &input = features.inputs[index];
      text += ", " + stringify(input.role).str();
      if (input.positive)
        text += ", positive values";
      if (input.indexLow < 0)
        text += llvm::formatv(", indices from {0} to {1}", input.indexLow,
                              input.indexBound - 1);
      else if (input.indexBound > 0)
        text += llvm::formatv(", indices below {0}", input.indexBound);
    }
    text += "\n";
  }
  for (auto [index, each] : llvm::enumerate(type.getResults()))
    text += llvm::formatv("- out{0}: {1}, {2}\n", index, showType(each),
                          showBytes(bytesOf(each)));
  return text;
}

//===----------------------------------------------------------------------===//
// As loops
//===----------------------------------------------------------------------===//

namespace {

/// Names values and writes expressions. A value within a body that is used more
/// than once gets a line of its own.
class LoopWriter {
public:
  std::string write(LoweringOp workload) {
    Block *block = workload.getPatternBlock();
    for (auto [index, argument] : llvm::enumerate(block->getArguments()))
      names[argument] = "in" + std::to_string(index);
    Operation *end = block->getTerminator();
    for (auto [index, value] : llvm::enumerate(end->getOperands()))
      if (!names.count(value))
        names[value] = "out" + std::to_string(index);
      else
        tail += llvm::formatv("out{0} = {1}\n", index, names[value]);
    for (Operation &op : block->without_terminator())
      writeOp(op);
    return text + tail;
  }

private:
  static std::string showFloat(const llvm::APFloat &value) {
    if (value.isInfinity())
      return value.isNegative() ? "-inf" : "inf";
    llvm::SmallString<16> digits;
    value.toString(digits);
    return digits.str().str();
  }

  static std::optional<std::string> constant(Value value) {
    Attribute attribute;
    if (!matchPattern(value, m_Constant(&attribute)))
      return std::nullopt;
    if (auto elements = dyn_cast<DenseElementsAttr>(attribute)) {
      if (!elements.isSplat())
        return std::nullopt;
      attribute = elements.getSplatValue<Attribute>();
    }
    if (auto number = dyn_cast<FloatAttr>(attribute))
      return showFloat(number.getValue());
    if (auto number = dyn_cast<IntegerAttr>(attribute)) {
      llvm::SmallString<16> digits;
      number.getValue().toStringSigned(digits);
      return digits.str().str();
    }
    return std::nullopt;
  }

  std::string nameOf(Value value) {
    if (std::optional<std::string> text = constant(value))
      return *text;
    auto found = names.find(value);
    if (found != names.end())
      return found->second;
    std::string name = "t" + std::to_string(++temporaries);
    names[value] = name;
    return name;
  }

  static std::string show(AffineExpr expr) {
    std::string text;
    llvm::raw_string_ostream(text) << expr;
    return text;
  }

  static std::string access(const std::string &name, AffineMap map) {
    if (map.getNumResults() == 0)
      return name;
    std::vector<std::string> parts;
    for (AffineExpr each : map.getResults())
      parts.push_back(show(each));
    return name + "[" + llvm::join(parts, ", ") + "]";
  }

  /// A value inside of a body.
  std::string expression(Value value, int depth) {
    if (std::optional<std::string> text = constant(value))
      return *text;
    auto found = inner.find(value);
    if (found != inner.end())
      return found->second;
    Operation *op = value.getDefiningOp();
    if (!op)
      return nameOf(value);
    std::string text = operation(op, depth);
    bool isShared = !value.hasOneUse() || op->getNumResults() > 1 || depth > 6;
    if (!isShared)
      return text;
    std::string name = "v" + std::to_string(++locals);
    lines.push_back(name + " = " + text);
    inner[value] = name;
    return name;
  }

  std::string operation(Operation *op, int depth) {
    StringRef name = op->getName().getStringRef();
    auto operand = [&](unsigned i) {
      return expression(op->getOperand(i), depth + 1);
    };
    if (auto index = dyn_cast<linalg::IndexOp>(op))
      return "d" + std::to_string(index.getDim());
    if (isa<arith::IndexCastOp>(op))
      return operand(0);
    if (isa<arith::ExtFOp, arith::TruncFOp, arith::SIToFPOp, arith::FPToSIOp,
            arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp, arith::UIToFPOp>(
            op))
      return showType(op->getResult(0).getType()) + "(" + operand(0) + ")";
    static const std::map<StringRef, StringRef> infix = {
        {"arith.addf", "+"}, {"arith.subf", "-"},       {"arith.mulf", "*"},
        {"arith.divf", "/"}, {"arith.addi", "+"},       {"arith.subi", "-"},
        {"arith.muli", "*"}, {"arith.divsi", "/"},      {"arith.remsi", "%"},
        {"arith.andi", "&"}, {"arith.ori", "|"},        {"arith.xori", "^"},
        {"arith.remf", "%"}, {"arith.floordivsi", "//"}};
    if (auto sign = infix.find(name); sign != infix.end())
      return "(" + operand(0) + " " + sign->second.str() + " " + operand(1) +
             ")";
    if (isa<arith::NegFOp>(op))
      return "-" + operand(0);
    if (isa<arith::SelectOp>(op))
      return "(" + operand(0) + " ? " + operand(1) + " : " + operand(2) + ")";
    if (auto compare = dyn_cast<arith::CmpFOp>(op))
      return "(" + operand(0) + " " +
             arith::stringifyCmpFPredicate(compare.getPredicate()).str() + " " +
             operand(1) + ")";
    if (auto compare = dyn_cast<arith::CmpIOp>(op))
      return "(" + operand(0) + " " +
             arith::stringifyCmpIPredicate(compare.getPredicate()).str() + " " +
             operand(1) + ")";
    if (isa<arith::MaximumFOp>(op))
      return "max(" + operand(0) + ", " + operand(1) + ")";
    if (isa<arith::MinimumFOp>(op))
      return "min(" + operand(0) + ", " + operand(1) + ")";
    StringRef shown = name;
    shown.consume_front("math.");
    shown.consume_front("arith.");
    std::vector<std::string> operands;
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      operands.push_back(operand(i));
    return shown.str() + "(" + llvm::join(operands, ", ") + ")";
  }

  void writeOp(Operation &op) {
    if (isa<tensor::EmptyOp>(op) || op.hasTrait<OpTrait::ConstantLike>())
      return;
    if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
      return writeLoops(linalgOp);
    std::vector<std::string> operands;
    for (Value operand : op.getOperands())
      operands.push_back(nameOf(operand));
    for (Value result : op.getResults())
      text += nameOf(result) + ": " + showType(result.getType()) + "\n";
    std::string line = "  " + nameOf(op.getResult(0)) + " = " +
                       op.getName().getStringRef().str() + "(" +
                       llvm::join(operands, ", ") + ")";
    if (auto pad = dyn_cast<tensor::PadOp>(op)) {
      line = "  " + nameOf(pad.getResult()) + " = " + nameOf(pad.getSource()) +
             " padded by low " + list(pad.getStaticLow()) + " and high " +
             list(pad.getStaticHigh());
      if (Value value = pad.getConstantPaddingValue())
        line += " with " + nameOf(value);
    } else if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
      line = "  " + nameOf(slice.getResult()) + " = slice of " +
             nameOf(slice.getSource()) + " at " +
             list(slice.getStaticOffsets()) + ", sizes " +
             list(slice.getStaticSizes()) + ", steps " +
             list(slice.getStaticStrides());
    } else if (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op)) {
      line = "  the elements of " + nameOf(op.getOperand(0)) +
             " in row-major order, another shape";
    }
    text += line + "\n";
  }

  void writeLoops(linalg::LinalgOp op) {
    // A fill is where a reduction starts, or a constant tensor.
    SmallVector<int64_t> ranges = op.getStaticLoopRanges();
    SmallVector<utils::IteratorType> kinds = op.getIteratorTypesArray();
    std::vector<std::string> outer, reduced;
    for (auto [index, extent] : llvm::enumerate(ranges)) {
      std::string loop = llvm::formatv("d{0} < {1}", index,
                                       extent == ShapedType::kDynamic
                                           ? std::string("?")
                                           : std::to_string(extent));
      (kinds[index] == utils::IteratorType::reduction ? reduced : outer)
          .push_back(loop);
    }
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    Block *body = op.getBlock();
    inner.clear();
    lines.clear();
    locals = 0;
    SmallVector<std::string> results;
    for (OpResult result : op->getResults())
      results.push_back(nameOf(result));
    std::string header;
    for (OpOperand &operand : op->getOpOperands()) {
      unsigned index = operand.getOperandNumber();
      BlockArgument argument = body->getArgument(index);
      if (op.isDpsInit(&operand)) {
        unsigned number = index - op.getNumDpsInputs();
        inner[argument] = access(results[number], maps[index]);
        header +=
            results[number] + ": " + showType(op->getResult(number).getType());
        if (op.payloadUsesValueFromOperand(&operand))
          header += ", begins as " + nameOf(operand.get());
        header += "\n";
      } else {
        inner[argument] = isa<ShapedType>(operand.get().getType())
                              ? access(nameOf(operand.get()), maps[index])
                              : nameOf(operand.get());
      }
    }
    SmallVector<std::string> values;
    for (Value value : body->getTerminator()->getOperands())
      values.push_back(expression(value, 0));
    text +=
        header + "  for " +
        (outer.empty() ? std::string("one element") : llvm::join(outer, ", "));
    if (!reduced.empty())
      text += ", reduced over " + llvm::join(reduced, ", ");
    text += ":\n";
    for (const std::string &line : lines)
      text += "    " + line + "\n";
    for (auto [index, value] : llvm::enumerate(values)) {
      AffineMap map = maps[op.getNumDpsInputs() + index];
      text += "    " + access(results[index], map) + " = " + value + "\n";
    }
  }

  llvm::DenseMap<Value, std::string> names, inner;
  std::vector<std::string> lines;
  int temporaries = 0, locals = 0;
  std::string text, tail;
};

} // namespace

std::string llm::describeLoops(LoweringOp workload) {
  return LoopWriter().write(workload);
}

/// Whole lines of at most `most` bytes.
static std::string cutAt(std::string text, size_t most) {
  if (text.size() <= most)
    return text;
  return StringRef(text).take_front(most).rsplit('\n').first.str() +
         "\n... (cut)\n";
}

std::string llm::printPattern(LoweringOp workload, size_t most) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  OpPrintingFlags flags;
  flags.elideLargeElementsAttrs(16);
  AsmState state(workload, flags);
  Block *block = workload.getPatternBlock();
  stream << "^bb0(";
  llvm::interleaveComma(block->getArguments(), stream, [&](BlockArgument each) {
    each.printAsOperand(stream, state);
    stream << ": " << each.getType();
  });
  stream << "):\n";
  for (Operation &op : *block) {
    op.print(stream, state);
    stream << "\n";
  }
  return cutAt(std::move(text), most);
}

std::string llm::printFunction(LoweringOp workload, size_t most) {
  FailureOr<OwningOpRef<ModuleOp>> module = createScheduledFunction(workload);
  if (failed(module))
    return "(it cannot be shown)\n";
  std::string text;
  llvm::raw_string_ostream stream(text);
  (*module)->print(stream, OpPrintingFlags().elideLargeElementsAttrs(16));
  return cutAt(std::move(text), most);
}
