//===- HeaderText.cpp - What all headers of cores have --------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HeaderText.h"
#include "CudaText.h"
#include "KeptText.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using families::HeaderText;

bool families::allowsFastFunctions(Block &body) {
  auto isAddedToOne = [](Operation *user) {
    return isa<arith::AddFOp>(user) &&
           llvm::any_of(user->getOperands(), [](Value operand) {
             return matchPattern(operand, m_OneFloat());
           });
  };
  auto visit = [&](math::ErfOp erf) {
    return llvm::all_of(erf->getUsers(), isAddedToOne)
               ? WalkResult::advance()
               : WalkResult::interrupt();
  };
  return !body.walk(visit).wasInterrupted();
}

bool families::hidesFastFunctions(const SummedProducts &products) {
  return products.lhsElem == Elem::F32 && products.rhsElem == Elem::F32 &&
         products.resultElem == Elem::F32 &&
         allowsFastFunctions(*products.op->getBlock());
}

void HeaderText::writeTypes(Block &body, Elem result) {
  isFast = (result == Elem::F16 || result == Elem::BF16) &&
           allowsFastFunctions(body);
  os << cudaTypes(isFast);
}

void HeaderText::writeOperands(Block &body, Elem result) {
  std::string parameters, names;
  for (BlockArgument input : body.getArguments()) {
    const Buffer &buffer = program.buffers.at(input.getAsOpaquePointer());
    parameters +=
        ", const " + cudaType(buffer.elem) + " *__restrict__ " + buffer.pointer;
    names += ", " + buffer.pointer;
  }
  os << "#define OUT_TYPE " << cudaType(result)
     << "\n#define OPERAND_PARAMETERS " << StringRef(parameters).drop_front(2)
     << "\n#define OPERANDS " << StringRef(names).drop_front(2) << "\n";
}

void HeaderText::writeVars(ArrayRef<unsigned> group, StringRef index,
                           StringRef type) {
  int64_t inner = 1;
  for (auto [place, var] : llvm::enumerate(llvm::reverse(group))) {
    int64_t extent = program.vars[var].extent;
    os << "  const " << type << " " << program.vars[var].name << " = ";
    if (extent == 1)
      os << "0";
    else {
      os << index;
      if (inner != 1)
        os << " / " << inner;
      if (place + 1 != group.size())
        os << " % " << extent;
    }
    os << ";\n";
    inner *= extent;
  }
}

void HeaderText::defineElem(const Twine &name, Elem elem) {
  define(name + "_BITS", bytesOf(elem) * 8);
  define(name + "_IS_F16", elem == Elem::F16);
  define(name + "_IS_BF16", elem == Elem::BF16);
  define(name + "_IS_F32", elem == Elem::F32);
}

std::optional<std::string> HeaderText::takeText(std::string &why) {
  if (!program.failure.empty()) {
    why = program.failure;
    return std::nullopt;
  }
  return (isFast ? fastLog1pFor(text) : "") + std::move(text);
}

/// ", i32 m, i32 n", or ", m, n".
static std::string listOf(ArrayRef<StringRef> names, StringRef type = "",
                          StringRef next = "") {
  std::string list;
  for (StringRef each : names)
    list += (", " + type + each + (each == next ? " + 1" : "")).str();
  return list;
}

namespace {
/// What functions that round a sum's result are written of.
struct Rounding {
  Rounding(Elem result, ArrayRef<StringRef> coordinates, StringRef column,
           bool hasKept)
      : result(result), coordinates(coordinates), column(column),
        hasKept(hasKept), type(families::cudaType(result)),
        parameters("(OPERAND_PARAMETERS" + listOf(coordinates, "i32 ")),
        arguments("(OPERANDS" + listOf(coordinates)) {}

  bool hasPairs() const { return bytesOf(result) == 2 && !column.empty(); }
  void writeOne(llvm::raw_ostream &os) const {
    os << "FASTK_DEVICE " << type << " finish" << parameters << ", float acc"
       << (hasKept ? ", const Kept &kept" : "") << ") {\n  return " << type
       << "(finishValue" << arguments << ", acc" << (hasKept ? ", kept" : "")
       << "));\n}\n";
  }
  void writePair(llvm::raw_ostream &os) const {
    os << "// Of columns " << column << " (even) and " << column
       << " + 1, the first in the low half.\n"
       << "FASTK_DEVICE u32 finish2" << parameters << ", float acc0, float acc1"
       << (hasKept ? ", const Kept &kept0, const Kept &kept1" : "")
       << ") {\n  return " << (result == Elem::F16 ? "packF16" : "packBF16")
       << "(finishValue" << arguments << ", acc0" << (hasKept ? ", kept0" : "")
       << "), finishValue(OPERANDS" << listOf(coordinates, "", column)
       << ", acc1" << (hasKept ? ", kept1" : "") << "));\n}\n";
  }

  Elem result;
  ArrayRef<StringRef> coordinates;
  StringRef column;
  bool hasKept;
  std::string type, parameters, arguments;
};
} // namespace

void HeaderText::writeRounded(Elem result, ArrayRef<StringRef> coordinates,
                              StringRef column) {
  Rounding rounding(result, coordinates, column, /*hasKept=*/false);
  rounding.writeOne(os);
  if (rounding.hasPairs())
    rounding.writePair(os);
}

/// keep(), which takes \p parameters and depends on coordinates \p fixed, and
/// what is passed from lane to lane.
static void writeKeep(llvm::raw_ostream &os, const families::KeptText &kept,
                      ArrayRef<StringRef> fixed,
                      ArrayRef<StringRef> parameters) {
  const size_t count = kept.names.size();
  os << "// What sums of the same " << llvm::join(fixed, " and ")
     << " need is computed once, and kept.\n"
     << "#define KEPT " << count << "\nstruct Kept {\n  float v["
     << std::max<size_t>(count, 1) << "];\n};\n"
     << "FASTK_DEVICE Kept keep(OPERAND_PARAMETERS"
     << listOf(parameters, "i32 ") << ") {\n"
     << kept.keep << "  Kept kept = {};\n";
  for (auto [number, name] : llvm::enumerate(kept.names))
    os << "  kept.v[" << number << "] = " << name << ";\n";
  os << "  return kept;\n}\n"
     << "// What another lane of the warp keeps.\n"
     << "FASTK_DEVICE Kept keptOf(const Kept &mine, u32 lane) {\n"
     << "  Kept kept = {};\n#pragma unroll\n  for (int i = 0; i < KEPT; ++i)\n"
     << "    kept.v[i] = __shfl_sync(0xffffffffu, mine.v[i], lane);\n"
     << "  return kept;\n}\n";
}

void HeaderText::writeFinish(const SummedProducts &products,
                             ArrayRef<StringRef> coordinates,
                             ArrayRef<ArrayRef<StringRef>> fixedSets,
                             StringRef column,
                             llvm::function_ref<void()> writeResultVars) {
  // The variables' lines are taken apart with the others.
  const size_t begin = text.size();
  writeResultVars();
  std::string body = text.substr(begin);
  text.resize(begin);
  Scope scope(program, body, 1);
  scope.onOpaque = [&](Scope &inner, Value value, ArrayRef<Lin>) -> CValue {
    if (value == products.op->getResult(0))
      return sumWithStart(products, inner);
    program.fail("what surrounds the sums is not elementwise");
    return {};
  };
  CValue value = scope.at(products.result, products.index);
  auto keepOf = [&](ArrayRef<StringRef> fixed) {
    SmallVector<StringRef> changing{"acc"};
    for (StringRef each : coordinates)
      if (!llvm::is_contained(fixed, each))
        changing.push_back(each);
    return keepLines(body, fixed, changing);
  };
  // The first set of which anything is kept that depends on its last
  // coordinate, else the first.
  ArrayRef<StringRef> fixed = fixedSets.front();
  KeptText kept = keepOf(fixed);
  for (ArrayRef<StringRef> other : fixedSets.drop_front())
    if (!kept.isOfLast)
      if (KeptText ofOther = keepOf(other); ofOther.isOfLast) {
        kept = std::move(ofOther);
        fixed = other;
      }
  const bool isChosen = fixedSets.size() > 1;
  ArrayRef<StringRef> parameters = isChosen ? coordinates : fixed;
  os << "// Whether each sum has an element of an operand of its own.\n";
  define("FINISH_LOADS", kept.loadsEach);
  if (isChosen)
    define("KEPT_OF_COLUMNS", fixed != fixedSets.front());
  writeKeep(os, kept, fixed, parameters);
  Rounding rounding(products.resultElem, coordinates, column, /*hasKept=*/true);
  const std::string ofKept = "keep(OPERANDS" + listOf(parameters) + ")";
  // As a number in registers, so that two are converted at once.
  os << "FASTK_DEVICE float finishValue" << rounding.parameters
     << ", float acc, const Kept &kept) {\n"
     << kept.finish << "  return " << value.text << ";\n}\n";
  rounding.writeOne(os);
  os << "FASTK_DEVICE " << rounding.type << " finish" << rounding.parameters
     << ", float acc) {\n  return finish" << rounding.arguments << ", acc, "
     << ofKept << ");\n}\n";
  if (!rounding.hasPairs())
    return;
  rounding.writePair(os);
  os << "FASTK_DEVICE u32 finish2" << rounding.parameters
     << ", float acc0, float acc1) {\n  return finish2" << rounding.arguments
     << ", acc0, acc1, " << ofKept << ", keep(OPERANDS"
     << listOf(parameters, "", column) << "));\n}\n";
}

bool families::isTooLargeToWriteOut(StringRef header, StringRef name,
                                    int64_t elements) {
  return elements > std::numeric_limits<int32_t>::max() &&
         header.contains(("#define " + name + "_ALIGNED 0\n").str());
}
