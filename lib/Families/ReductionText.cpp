//===- ReductionText.cpp - Reductions of rows as MLIR's text --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/ReductionText.h"
#include "GenericText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace fastk;
using families::GenericInputs;
using families::ReductionText;
using families::ResultText;

int64_t ReductionText::elements(StringRef dims) const {
  int64_t count = 1;
  for (char dim : dims)
    count *= extents.at(dim);
  return count;
}

std::string ReductionText::rows() const {
  std::string left;
  copy_if(dims, std::back_inserter(left),
          [&](char dim) { return !StringRef(reduced).contains(dim); });
  return left;
}

std::string ReductionText::tensor(StringRef dims, StringRef type) const {
  std::string text = "tensor<";
  for (char dim : dims)
    text += std::to_string(extents.at(dim)) + "x";
  return text + type.str() + ">";
}

std::string ReductionText::str() const {
  std::string text, rowDims = rows();
  raw_string_ostream os(text);
  os << "func.func @" << name << "(";
  interleave(
      operands, os,
      [&](const Operand &each) {
        os << "%t_" << each.name << ": " << tensor(each.dims, each.type);
      },
      ", ");
  StringRef outDims = isPerRow ? StringRef(rowDims) : StringRef(dims);
  std::string made = tensor(outDims, result), sums = tensor(rowDims, "f32");
  os << ") -> " << made << " {\n";
  auto inputsOf = [&](StringRef lines, size_t statisticsBefore) {
    GenericInputs inputs;
    for (const Operand &each : operands)
      if (families::usesValue(lines, each.name))
        inputs.add(each.name, each.dims, tensor(each.dims, each.type),
                   each.type);
    for (const Statistic &each :
         ArrayRef(statistics).take_front(statisticsBefore))
      if (families::usesValue(lines, each.name))
        inputs.add(each.name, rowDims, sums, "f32");
    return inputs;
  };
  for (auto [number, each] : enumerate(statistics)) {
    std::string lines = each.lines + " " + each.value + " ";
    GenericInputs inputs = inputsOf(lines, number);
    inputs.maps.push_back(rowDims);
    os << "  %t_" << each.name << "_start = arith.constant " << each.start
       << " : f32\n  %t_" << each.name << "_empty = tensor.empty() : " << sums
       << "\n  %t_" << each.name << "_init = linalg.fill ins(%t_" << each.name
       << "_start : f32) outs(%t_" << each.name << "_empty : " << sums
       << ") -> " << sums << "\n  %t_" << each.name << " = "
       << genericText(dims, inputs.maps, reduced) << " ins(" << inputs.values
       << " : " << inputs.types << ") outs(%t_" << each.name
       << "_init : " << sums << ") {\n  ^bb0(" << inputs.arguments
       << "%acc: f32):\n"
       << inputs.wide << each.lines << "    %next = " << each.combiner
       << " %acc, " << each.value << " : f32\n    linalg.yield %next : f32\n"
       << "  } -> " << sums << "\n";
  }
  std::string lines = tail + " " + value + " ";
  os << ResultText{outDims, tail, value, result, made}.str(
      inputsOf(lines, statistics.size()));
  return text;
}
