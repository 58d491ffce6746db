//===- PlainProgram.cpp - A program for a workload, op by op --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlainElements.h"
#include "fastk/Dialect/TMTensor/TMTensorDialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::scaffold;
using llvm::formatv;

/// Alignment of what lies in a workspace on the host.
static constexpr int64_t kAlignment = 64;
/// Beyond so many elements indices have 64 bits.
static constexpr int64_t kLargestOfInt = int64_t(1) << 30;

static int64_t bytesOf(Type type) {
  return cast<RankedTensorType>(type).getNumElements() *
         catalog::bytesOf(*elemOf(type));
}

namespace {
/// Writes all steps.
class ProgramWriter {
public:
  ProgramWriter(LoweringOp workload, Spelling spelling)
      : workload(workload), pattern(*workload.getPatternBlock()),
        language(spelling), choice(pattern),
        elements(language, choice, indexType()) {}

  llvm::Expected<PlainProgram> write();

private:
  std::string indexType();
  bool placeBuffers();
  bool writeStep(const StepChoice::Step &step);
  bool writeGeneric(Lines &lines, linalg::GenericOp op);
  bool writeCopy(Lines &lines, Value value, const Buffer &to, bool computes);
  bool writeScan(Lines &lines, tm_tensor::ScanOp op);
  /// A thread for each point of \p extents, of which an index is made each.
  SmallVector<Text> beginThreads(Lines &lines, ArrayRef<int64_t> extents,
                                 ArrayRef<std::string> names);
  void store(Lines &lines, Value value, const Text &index, const Text &text);
  std::string wrapStep(const PlainStep &step, StringRef body) const;
  std::string parameterOf(const std::string &buffer, bool isRead) const;
  std::string entry();

  LoweringOp workload;
  Block &pattern;
  PlainLanguage language;
  StepChoice choice;
  Elements elements;
  PlainProgram result;
  std::string functions;
  /// By name, with the element type.
  std::map<std::string, Elem> types;
  int64_t points = 1;
  std::string what;
};
} // namespace

std::string ProgramWriter::indexType() {
  int64_t most = 0;
  auto look = [&](Value value) {
    if (auto type = dyn_cast<RankedTensorType>(value.getType()))
      most = std::max(most, type.getNumElements());
  };
  llvm::for_each(pattern.getArguments(), look);
  for (Operation &op : pattern)
    llvm::for_each(op.getResults(), look);
  if (most <= kLargestOfInt)
    return "int";
  return language.registerType(Elem::I64);
}

bool ProgramWriter::placeBuffers() {
  auto place = [&](Value value, std::string name) {
    std::optional<Elem> elem = elemOf(value.getType());
    if (!elem)
      return elements.fail("a tensor of " + typeText(value.getType()));
    types[name] = *elem;
    elements.place(value, {name, *elem});
    return true;
  };
  for (auto [index, argument] : llvm::enumerate(pattern.getArguments()))
    if (!place(argument, "in" + std::to_string(index)))
      return false;
  for (const StepChoice::Step &step : choice.steps())
    for (Value value : step.values) {
      if (step.copiedTo >= 0)
        continue;
      int to = choice.resultOf(value);
      if (to >= 0) {
        if (!place(value, "out" + std::to_string(to)))
          return false;
        continue;
      }
      if (!place(value, "ws" + std::to_string(result.workspaces.size())))
        return false;
      int64_t bytes = bytesOf(value.getType());
      result.workspaces.push_back(bytes);
      result.workspaceBytes += llvm::alignTo(bytes, kAlignment);
    }
  for (auto [index, value] :
       llvm::enumerate(pattern.getTerminator()->getOperands()))
    if (std::optional<Elem> elem = elemOf(value.getType()))
      types["out" + std::to_string(index)] = *elem;
    else
      return elements.fail("a tensor of " + typeText(value.getType()));
  return true;
}

SmallVector<Text> ProgramWriter::beginThreads(Lines &lines,
                                              ArrayRef<int64_t> extents,
                                              ArrayRef<std::string> names) {
  points = 1;
  unsigned numLoops = 0;
  for (int64_t extent : extents) {
    points *= extent;
    numLoops += extent != 1;
  }
  std::string type = elements.getIndexType(), all = "i";
  if (numLoops == 1)
    for (auto [extent, name] : llvm::zip_equal(extents, names))
      if (extent != 1)
        all = name;
  if (language.isCuda()) {
    std::string block =
        type == "int" ? "blockIdx.x" : "(" + type + ")blockIdx.x";
    lines.add("const " + type + " " + all + " = " + block + " * " +
              std::to_string(kBlockThreads) + " + threadIdx.x;");
    lines.add("if (" + all + " >= " + std::to_string(points) + ")");
    lines.add("  return;");
  } else {
    lines.add("#pragma omp parallel for");
    lines.open("for (" + type + " " + all + " = 0; " + all + " < " +
               std::to_string(points) + "; ++" + all + ")");
  }
  SmallVector<Text> indices;
  int64_t inner = points;
  bool isFirst = true;
  for (auto [extent, name] : llvm::zip_equal(extents, names)) {
    inner /= extent;
    if (extent == 1) {
      indices.push_back(indexOf(0));
      continue;
    }
    indices.push_back({name});
    if (numLoops > 1) {
      Text index = divideIndex({all}, inner);
      if (!isFirst)
        index = remainderOfIndex(index, extent);
      lines.add("const " + type + " " + name + " = " + index.str + ";");
    }
    isFirst = false;
  }
  elements.setThread({all}, extents, indices);
  return indices;
}

void ProgramWriter::store(Lines &lines, Value value, const Text &index,
                          const Text &text) {
  const Buffer &to = elements.bufferOf(value);
  elements.noteUse(to.name, /*isWritten=*/true);
  lines.add(to.name + "[" + index.str +
            "] = " + language.stored(text, to.elem) + ";");
}

/// The loops of a result's dimensions; nothing where they are no loops.
static std::optional<SmallVector<int64_t>> loopsOf(AffineMap map) {
  SmallVector<int64_t> loops;
  for (AffineExpr expr : map.getResults()) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim && !isa<AffineConstantExpr>(expr))
      return std::nullopt;
    loops.push_back(dim ? static_cast<int64_t>(dim.getPosition()) : -1);
  }
  return loops;
}

bool ProgramWriter::writeGeneric(Lines &lines, linalg::GenericOp op) {
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  auto first = loopsOf(op.getMatchingIndexingMap(op.getDpsInitOperand(0)));
  if (!first)
    return elements.fail("a result whose indices are no loops");
  // Neighbouring threads write neighbouring elements.
  SmallVector<int64_t> order, extents;
  for (int64_t loop : *first)
    if (loop >= 0 && !llvm::is_contained(order, loop))
      order.push_back(loop);
  SmallVector<utils::IteratorType> kinds = op.getIteratorTypesArray();
  for (auto [loop, kind] : llvm::enumerate(kinds))
    if (kind == utils::IteratorType::parallel &&
        !llvm::is_contained(order, static_cast<int64_t>(loop)))
      order.push_back(loop);
  SmallVector<std::string> names;
  for (int64_t loop : order) {
    extents.push_back(ranges[loop]);
    names.push_back(elements.newName("d" + std::to_string(loop)));
  }
  SmallVector<Text> threads = beginThreads(lines, extents, names);
  SmallVector<Text> loops(ranges.size(), indexOf(0));
  for (auto [loop, index] : llvm::zip_equal(order, threads))
    loops[loop] = index;
  SmallVector<Text> values = elements.evaluate(lines, op, loops);
  if (elements.hasFailed())
    return false;
  for (auto [number, value] : llvm::enumerate(values)) {
    AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(number));
    SmallVector<Text> index = elements.apply(map, loops);
    OpResult to = op->getResult(number);
    store(lines, to, elements.flatten(to, index), value);
  }
  what = elements.describeStep();
  return !elements.hasFailed();
}

bool ProgramWriter::writeCopy(Lines &lines, Value value, const Buffer &to,
                              bool computes) {
  auto shape = cast<RankedTensorType>(value.getType()).getShape();
  SmallVector<std::string> names;
  for (size_t dim = 0; dim < shape.size(); ++dim)
    names.push_back(elements.newName("d" + std::to_string(dim)));
  SmallVector<Text> index = beginThreads(lines, shape, names);
  Text text = elements.at(lines, value, index, computes);
  elements.noteUse(to.name, /*isWritten=*/true);
  lines.add(to.name + "[" + elements.flatten(value, index).str +
            "] = " + language.stored(text, to.elem) + ";");
  Operation *op = value.getDefiningOp();
  what = op ? op->getName().getStringRef().str() : "a copy";
  return !elements.hasFailed();
}

bool ProgramWriter::writeScan(Lines &lines, tm_tensor::ScanOp op) {
  Value input = op.getInputs().front(), initial = op.getOutputs()[1];
  auto shape = cast<RankedTensorType>(input.getType()).getShape();
  int64_t along = op.getDimension();
  SmallVector<int64_t> extents;
  SmallVector<std::string> names;
  for (auto [dim, extent] : llvm::enumerate(shape))
    if (static_cast<int64_t>(dim) != along) {
      extents.push_back(extent);
      names.push_back(elements.newName("d" + std::to_string(dim)));
    }
  SmallVector<Text> rest = beginThreads(lines, extents, names);
  std::string type = elements.getIndexType(),
              loop = elements.newName("d" + std::to_string(along));
  auto indexAt = [&](const Text &place) {
    SmallVector<Text> index(rest);
    index.insert(index.begin() + along, place);
    return index;
  };
  Elem elem = *elemOf(op.getResult(1).getType());
  bool isInclusive = op.getInclusive();
  Text begin = isInclusive ? elements.at(lines, input, indexAt(indexOf(0)))
                           : elements.at(lines, initial, rest);
  std::string total = elements.newName("total");
  lines.add(language.registerType(elem) + " " + total + " = " + begin.str +
            ";");
  lines.open("for (" + type + " " + loop + " = 0; " + loop + " < " +
             std::to_string(shape[along]) + "; ++" + loop + ")");
  lines.open("if (" + loop + " > 0)");
  Text read = isInclusive ? Text{loop} : addIndices({loop}, indexOf(-1));
  Text next = elements.at(lines, input, indexAt(read));
  Text combined =
      elements.combine(lines, op.getRegion().front(), {{total}, next});
  lines.add(total + " = " + combined.str + ";");
  lines.close();
  store(lines, op.getResult(0),
        elements.flatten(op.getResult(0), indexAt({loop})), {total});
  lines.close();
  store(lines, op.getResult(1), elements.flatten(op.getResult(1), rest),
        {total});
  what = "all prefixes along dimension " + std::to_string(along);
  return !elements.hasFailed();
}

static bool isWordCharacter(char c) { return llvm::isAlnum(c) || c == '_'; }

/// How often a name stands in a text.
static unsigned countWord(StringRef text, StringRef word) {
  unsigned count = 0;
  for (size_t at = 0; (at = text.find(word, at)) != StringRef::npos;
       at += word.size()) {
    StringRef before = text.take_front(at),
              behind = text.drop_front(at + word.size());
    count += (before.empty() || !isWordCharacter(before.back())) &&
             (behind.empty() || !isWordCharacter(behind.front()));
  }
  return count;
}

/// Takes out the indices that nothing in a function uses.
static void dropUnused(std::string &body, ArrayRef<std::string> names) {
  for (const std::string &name : names) {
    size_t at = body.find(" " + name + " = ");
    size_t begin = body.rfind('\n', at), end = body.find('\n', at);
    if (at == std::string::npos || begin == std::string::npos ||
        countWord(body, name) != 1)
      continue;
    body.erase(begin, end - begin);
  }
}

bool ProgramWriter::writeStep(const StepChoice::Step &chosen) {
  elements.beginStep();
  std::string body;
  Lines lines(body, 1);
  Value value = chosen.values.front();
  Operation *op = value.getDefiningOp();
  bool isWritten;
  PlainStep step;
  if (chosen.copiedTo >= 0) {
    std::string name = "out" + std::to_string(chosen.copiedTo);
    isWritten = writeCopy(lines, value, {name, types.at(name)},
                          /*computes=*/false);
    step.name = "copy";
  } else if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
    isWritten = writeGeneric(lines, generic);
    step.name = elements.nameOfStep();
  } else if (auto scan = dyn_cast<tm_tensor::ScanOp>(op)) {
    isWritten = writeScan(lines, scan);
    step.name = "scan";
  } else {
    isWritten =
        writeCopy(lines, value, elements.bufferOf(value), /*computes=*/true);
    step.name = isa<tensor::ConcatOp>(op) ? "concat" : "insert";
  }
  if (!isWritten)
    return false;
  if (!language.isCuda())
    lines.close();
  step.name =
      "step" + std::to_string(result.steps.size() + 1) + "_" + step.name;
  step.what = what;
  step.points = points;
  step.buffers = elements.usedBuffers();
  dropUnused(body, elements.getThreadNames());
  functions += wrapStep(step, body);
  result.steps.push_back(std::move(step));
  return true;
}

std::string ProgramWriter::parameterOf(const std::string &buffer,
                                       bool isRead) const {
  return (isRead ? "const " : "") + language.memoryType(types.at(buffer)) +
         (language.isCuda() ? " *__restrict__ " : " *restrict ") + buffer;
}

std::string ProgramWriter::wrapStep(const PlainStep &step,
                                    StringRef body) const {
  std::vector<std::string> parameters;
  for (const std::string &buffer : step.buffers)
    parameters.push_back(parameterOf(buffer, !elements.isWritten(buffer)));
  std::string list = llvm::join(parameters, ", ");
  std::string head =
      language.isCuda()
          ? formatv("extern \"C\" __global__ void __launch_bounds__({0})\n{1}",
                    kBlockThreads, step.name)
          : formatv("static void {0}", step.name).str();
  return formatv("// {0}. {1} {2}.\n{3}({4}) {{\n{5}}\n\n", step.what,
                 step.points,
                 language.isCuda()  ? step.points == 1 ? "thread" : "threads"
                 : step.points == 1 ? "element"
                                    : "elements",
                 head, list, body);
}

/// What calls the steps, on the host.
std::string ProgramWriter::entry() {
  std::vector<std::string> parameters;
  FunctionType type = workload.getWorkloadType();
  for (size_t i = 0; i < type.getNumInputs(); ++i)
    parameters.push_back(parameterOf("in" + std::to_string(i), true));
  for (size_t i = 0; i < type.getNumResults(); ++i)
    parameters.push_back(parameterOf("out" + std::to_string(i), false));
  parameters.push_back("void *workspace");
  std::string text =
      "void fastk_kernel(" + llvm::join(parameters, ", ") + ") {\n";
  int64_t at = 0;
  for (auto [number, bytes] : llvm::enumerate(result.workspaces)) {
    std::string name = "ws" + std::to_string(number);
    std::string pointer = language.memoryType(types.at(name)) + " *";
    text += formatv("  {0}{1} = ({0})((char *)workspace + {2});\n", pointer,
                    name, at);
    at += llvm::alignTo(bytes, kAlignment);
  }
  for (const PlainStep &step : result.steps)
    text += formatv("  {0}({1});\n", step.name, llvm::join(step.buffers, ", "));
  return text + "}\n";
}

llvm::Expected<PlainProgram> ProgramWriter::write() {
  bool isWritten = placeBuffers();
  for (const StepChoice::Step &step : choice.steps())
    isWritten = isWritten && writeStep(step);
  if (!isWritten || elements.hasFailed())
    return llvm::createStringError("no plain program is written for " +
                                   elements.failure());
  if (!language.isCuda())
    functions += entry();
  for (const auto &[name, elem] : types)
    language.noteType(elem);
  result.program =
      language.preamble() + StringRef(functions).rtrim().str() + "\n";
  return std::move(result);
}

llvm::Expected<PlainProgram> scaffold::writePlainProgram(LoweringOp workload,
                                                         Spelling spelling) {
  return ProgramWriter(workload, spelling).write();
}
