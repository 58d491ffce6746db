//===- HeaderText.cpp - What all headers of cores have --------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HeaderText.h"
#include "CudaText.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;
using families::HeaderText;

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
  return std::move(text);
}

void HeaderText::writeRounded(Elem result, ArrayRef<StringRef> coordinates,
                              StringRef column) {
  std::string type = cudaType(result), parameters = "(OPERAND_PARAMETERS";
  std::string arguments = "(OPERANDS", next = "(OPERANDS";
  for (StringRef each : coordinates) {
    parameters += (", i32 " + each).str();
    arguments += (", " + each).str();
    next += (", " + each + (each == column ? " + 1" : "")).str();
  }
  os << "FASTK_DEVICE " << type << " finish" << parameters << ", float acc) {\n"
     << "  return " << type << "(finishValue" << arguments << ", acc));\n}\n";
  if (bytesOf(result) != 2 || column.empty())
    return;
  os << "// Of columns " << column << " (even) and " << column
     << " + 1, the first in the low half.\n"
     << "FASTK_DEVICE u32 finish2" << parameters
     << ", float acc0, float acc1) {\n  return "
     << (result == Elem::F16 ? "packF16" : "packBF16") << "(finishValue"
     << arguments << ", acc0), finishValue" << next << ", acc1));\n}\n";
}
