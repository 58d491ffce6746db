//===- ScanText.cpp - Scans as MLIR's text --------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/ScanText.h"
#include "GenericText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace fastk;
using families::GenericInputs;
using families::ResultText;
using families::ScanText;

int64_t ScanText::elements(StringRef dims) const {
  int64_t count = 1;
  for (char dim : dims)
    count *= extents.at(dim);
  return count;
}

std::string ScanText::tensor(StringRef dims, StringRef type) const {
  std::string text = "tensor<";
  for (char dim : dims)
    text += std::to_string(extents.at(dim)) + "x";
  return text + type.str() + ">";
}

void ScanText::writeReversed(raw_ostream &os, StringRef made,
                             StringRef from) const {
  std::string type = tensor(dims, "f32"), indices;
  os << "  " << made << " = " << genericText(dims, {StringRef(dims)})
     << " outs(%empty : " << type << ") {\n  ^bb0(%o: f32):\n";
  for (auto [number, dim] : enumerate(dims)) {
    std::string index = "%i_" + std::string(1, dim);
    os << "    " << index << " = linalg.index " << number << " : index\n";
    if (dim == along) {
      os << "    %last = arith.constant " << extents.at(dim) - 1
         << " : index\n    %back = arith.subi %last, " << index << " : index\n";
      index = "%back";
    }
    indices += (indices.empty() ? "" : ", ") + index;
  }
  os << "    %e = tensor.extract " << from << "[" << indices << "] : " << type
     << "\n    linalg.yield %e : f32\n  } -> " << type << "\n";
}

std::string ScanText::writeScanned(raw_ostream &os) const {
  std::string type = tensor(dims, "f32"), scanned = "%elements";
  if (isReversed) {
    writeReversed(os, "%turned", scanned);
    scanned = "%turned";
  }
  if (!isExclusive)
    return scanned;
  ScanText shorter = *this;
  --shorter.extents[along];
  std::string zeros, ones, sizes, low, indices;
  for (char dim : dims) {
    std::string comma = zeros.empty() ? "" : ", ";
    zeros += comma + "0";
    ones += comma + "1";
    sizes += comma + std::to_string(shorter.extents[dim]);
    low += comma + (dim == along ? "1" : "0");
    indices += comma + "%i_" + dim + ": index";
  }
  std::string part = shorter.tensor(dims, "f32");
  os << "  %short = tensor.extract_slice " << scanned << "[" << zeros << "] ["
     << sizes << "] [" << ones << "] : " << type << " to " << part
     << "\n  %shifted = tensor.pad %short low[" << low << "] high[" << zeros
     << "] {\n  ^bb0(" << indices
     << "):\n    tensor.yield %neutral : f32\n  } : " << part << " to " << type
     << "\n";
  return "%shifted";
}

std::string ScanText::str() const {
  std::string text, made = tensor(dims, result), type = tensor(dims, "f32"),
                    rest;
  copy_if(dims, std::back_inserter(rest),
          [&](char dim) { return dim != along; });
  std::string lasts = tensor(rest, "f32");
  raw_string_ostream os(text);
  os << "func.func @" << name << "(";
  GenericInputs inputs, finishInputs;
  ListSeparator comma;
  for (auto [each, list] : {std::pair(&operands, &inputs),
                            std::pair(&finishOperands, &finishInputs)})
    for (const Operand &operand : *each) {
      std::string operandType = tensor(operand.dims, operand.type);
      os << comma << "%t_" << operand.name << ": " << operandType;
      list->add(operand.name, operand.dims, operandType, operand.type);
    }
  finishInputs.add("y", dims, type, "f32");
  inputs.maps.push_back(dims);
  os << ") -> " << made << " {\n  %neutral = arith.constant " << neutral
     << " : f32\n  %empty = tensor.empty() : " << type
     << "\n  %elements = " << genericText(dims, inputs.maps) << " ins("
     << inputs.values << " : " << inputs.types << ") outs(%empty : " << type
     << ") {\n  ^bb0(" << inputs.arguments << "%o: f32):\n"
     << inputs.wide << lines << "    linalg.yield " << value
     << " : f32\n  } -> " << type << "\n";
  std::string scanned = writeScanned(os), prefix = isReversed ? "%p" : "%t_y";
  os << "  %first = linalg.fill ins(%neutral : f32) outs(%empty : " << type
     << ") -> " << type << "\n  %none = tensor.empty() : " << lasts
     << "\n  %before = linalg.fill ins(%neutral : f32) outs(%none : " << lasts
     << ") -> " << lasts << "\n  " << prefix
     << ", %all = tm_tensor.scan dimension(" << dims.find(along)
     << ") inclusive(true) ins(" << scanned << " : " << type
     << ") outs(%first, %before : " << type << ", " << lasts
     << ") {\n  ^bb0(%sum: f32, %in: f32):\n    %next = " << combiner
     << " %sum, %in : f32\n    tm_tensor.yield %next : f32\n  } -> " << type
     << ", " << lasts << "\n";
  if (isReversed)
    writeReversed(os, "%t_y", prefix);
  os << ResultText{dims, finishLines, finishValue, result, made, "%open"}.str(
      finishInputs);
  return text;
}
