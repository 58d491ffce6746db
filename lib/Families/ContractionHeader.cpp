//===- ContractionHeader.cpp - A contraction as macros and functions ------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ContractionMacros.h"
#include "CudaText.h"
#include "fastk/Families/Contraction.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using families::Contraction;
using families::ContractionSide;

namespace {
/// Writes one header.
class HeaderWriter : families::ContractionMacros {
public:
  using ContractionMacros::ContractionMacros;

  std::optional<std::string> run(std::string &why) {
    writeMacros();
    Block &body = *contraction.op->getBlock();
    writeTypes(body, contraction.resultElem);
    writeOperands(body, contraction.resultElem);
    writeElement("elementA", contraction.a, contraction.m, "m");
    writeElement("elementB", contraction.b, contraction.n, "n");
    writeFinish();
    return takeText(why);
  }

private:
  void writeElement(StringRef name, const ContractionSide &side,
                    ArrayRef<unsigned> outer, StringRef index) {
    std::string type = families::cudaType(side.elem);
    os << "FASTK_DEVICE " << type << " " << name
       << "(OPERAND_PARAMETERS, i32 b, i32 " << index << ", i32 k) {\n";
    writeVars(contraction.batch, "b");
    writeVars(outer, index);
    writeVars(contraction.k, "k");
    std::string body;
    Scope scope(program, body, 1);
    CValue value = scope.bodyAt(contraction.op, side.factor, contraction.loops);
    os << body << "  return " << type << "(" << value.text << ");\n}\n";
  }

  void writeFinish() {
    os << "FASTK_DEVICE i64 outOffset(i32 b, i32 m, i32 n) {\n";
    writeResultVars();
    Lin linear = Scope::linear(contraction.result, contraction.index);
    os << "  return " << program.linText(linear) << ";\n}\n";
    constexpr StringRef ofRows[] = {"b", "m"}, ofColumns[] = {"b", "n"};
    HeaderText::writeFinish(contraction, {"b", "m", "n"}, {ofRows, ofColumns},
                            "n", [&] { writeResultVars(); });
  }
};
} // namespace

std::optional<std::string> families::writeHeader(const Contraction &contraction,
                                                 std::string &why) {
  return HeaderWriter(contraction).run(why);
}

/// Batches of fewer rows or columns leave most of a tile empty.
static constexpr int64_t kFewRows = 32;

std::optional<families::CoreInstance>
families::describeCore(const Contraction &contraction, std::string &why) {
  std::optional<std::string> header = writeHeader(contraction, why);
  if (!header)
    return std::nullopt;
  // In rows of 64, and in any order.
  auto isTooLarge = [&](StringRef name, int64_t outer) {
    const int64_t k = contraction.kSize;
    return isTooLargeToWriteOut(*header, name,
                                contraction.batchSize *
                                    std::max(outer * llvm::alignTo(k, 64),
                                             k * llvm::alignTo(outer, 64)));
  };
  if (isTooLarge("A", contraction.mSize) ||
      isTooLarge("B", contraction.nSize)) {
    why = "a factor that would be written out has more than 2^31 elements";
    return std::nullopt;
  }
  CoreInstance core;
  core.header = std::move(*header);
  core.hidesFastFunctions = hidesFastFunctions(contraction);
  core.inputs = contraction.program.buffers.size();
  core.isWithoutReuse = contraction.mSize == 1 || contraction.nSize == 1;
  core.isSplit = contraction.sizeOfSplit.has_value();
  core.isSplitFinely = contraction.sizeOfSplit.value_or(kFewRows) < kFewRows;
  core.buffers["A"] = "in" + std::to_string(contraction.a.input);
  core.buffers["B"] = "in" + std::to_string(contraction.b.input);
  core.buffers["OUT"] = "out0";
  return core;
}
