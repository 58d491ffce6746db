//===- WindowText.cpp - Reduced windows as MLIR's text --------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/WindowText.h"
#include "GenericText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace fastk;
using families::GenericInputs;
using families::WindowText;

/// A number's text, in f32, as one of another type: infinities have other bits.
static std::string numberOf(StringRef text, StringRef type) {
  if (!text.starts_with("0x") || type == "f32")
    return text.str();
  bool isNegative = text.starts_with("0xF");
  if (type == "f16")
    return isNegative ? "0xFC00" : "0x7C00";
  return isNegative ? "0xFF80" : "0x7F80";
}

/// The letter of a window's coordinate along an axis.
static char windowOf(char axis) {
  return axis == 'z' ? 'u' : axis == 'y' ? 'v' : 'w';
}

int64_t WindowText::extent(char dim, bool ofResult) const {
  auto axis = axes.find(dim);
  if (axis == axes.end())
    return extents.at(dim);
  return ofResult ? axis->second.out() : axis->second.in;
}

int64_t WindowText::elements(StringRef dims, bool ofResult) const {
  int64_t count = 1;
  for (char dim : dims)
    count *= extent(dim, ofResult);
  return count;
}

int64_t WindowText::terms() const {
  int64_t count = elements(out, true);
  for (auto &[dim, axis] : axes)
    count *= axis.window;
  return count;
}

std::string WindowText::tensor(StringRef dims, StringRef type,
                               bool ofResult) const {
  std::string text = "tensor<";
  for (char dim : dims)
    text += std::to_string(extent(dim, ofResult)) + "x";
  return text + type.str() + ">";
}

std::string WindowText::elementType() const {
  return lines.empty() ? operands.front().type : "f32";
}

std::string WindowText::windowDims() const {
  std::string letters;
  for (char dim : dims)
    if (axes.count(dim))
      letters += windowOf(dim);
  return letters;
}

std::string WindowText::writeElements(raw_ostream &os) const {
  if (lines.empty())
    return "%t_" + operands.front().name;
  GenericInputs inputs;
  for (const Operand &each : operands)
    inputs.add(each.name, each.dims, tensor(each.dims, each.type, false),
               each.type);
  inputs.maps.push_back(dims);
  std::string made = tensor(dims, "f32", false);
  os << "  %space = tensor.empty() : " << made
     << "\n  %elements = " << genericText(dims, inputs.maps) << " ins("
     << inputs.values << " : " << inputs.types << ") outs(%space : " << made
     << ") {\n  ^bb0(" << inputs.arguments << "%o: f32):\n"
     << inputs.wide << lines << "    linalg.yield " << value
     << " : f32\n  } -> " << made << "\n";
  return "%elements";
}

/// What pads add to a dimension.
static WindowText::Axis axisOf(const WindowText &text, char dim) {
  auto axis = text.axes.find(dim);
  return axis == text.axes.end() ? WindowText::Axis() : axis->second;
}

std::string WindowText::paddedTensor() const {
  std::string text = "tensor<";
  for (char dim : dims) {
    Axis axis = axisOf(*this, dim);
    text += std::to_string(extent(dim, false) + axis.low + axis.high) + "x";
  }
  return text + elementType() + ">";
}

std::string WindowText::writePad(raw_ostream &os, StringRef from) const {
  std::string low, high, indices;
  bool isPadded = false;
  for (char dim : dims) {
    Axis axis = axisOf(*this, dim);
    isPadded |= axis.low + axis.high != 0;
    std::string comma = low.empty() ? "" : ", ";
    low += comma + std::to_string(axis.low);
    high += comma + std::to_string(axis.high);
    indices += comma + "%i_" + dim + ": index";
  }
  if (!isPadded)
    return from.str();
  std::string type = elementType();
  os << "  %padding = arith.constant " << numberOf(padding, type) << " : "
     << type << "\n  %padded = tensor.pad " << from << " low[" << low
     << "] high[" << high << "] {\n  ^bb0(" << indices
     << "):\n    tensor.yield %padding : " << type
     << "\n  } : " << tensor(dims, type, false) << " to " << paddedTensor()
     << "\n";
  return "%padded";
}

void WindowText::writeWindows(raw_ostream &os, StringRef from) const {
  std::string windows = windowDims(), loops = dims + windows, type = sumType(),
              sums = tensor(dims, type, true), shape;
  for (char dim : dims)
    if (axes.count(dim))
      shape += std::to_string(axes.at(dim).window) + "x";
  auto list = [](StringRef letters) {
    return join(map_range(letters, [](char c) { return std::string(1, c); }),
                ", ");
  };
  std::vector<std::string> places, iterators;
  for (char dim : dims) {
    std::string place(1, dim);
    if (axes.count(dim))
      place += " * " + std::to_string(axes.at(dim).stride) + " + " +
               windowOf(dim) + " * " + std::to_string(axes.at(dim).dilation);
    places.push_back(place);
  }
  for (char loop : loops)
    iterators.emplace_back(StringRef(windows).contains(loop) ? "\"reduction\""
                                                             : "\"parallel\"");
  std::string map = "affine_map<(" + list(loops) + ") -> (";
  os << "  %neutral = arith.constant " << numberOf(neutral, type) << " : "
     << type << "\n  %open = tensor.empty() : " << sums
     << "\n  %first = linalg.fill ins(%neutral : " << type
     << ") outs(%open : " << sums << ") -> " << sums
     << "\n  %window = tensor.empty() : tensor<" << shape << "f32>"
     << "\n  %t_r = linalg.generic {indexing_maps = [" << map
     << join(places, ", ") << ")>, " << map << list(windows) << ")>, " << map
     << list(dims) << ")>], iterator_types = [" << join(iterators, ", ")
     << "]} ins(" << from << ", %window : " << paddedTensor() << ", tensor<"
     << shape << "f32>) outs(%first : " << sums
     << ") {\n  ^bb0(%in: " << elementType() << ", %unused: f32, %sum: " << type
     << "):\n";
  bool widens = elementType() != type;
  if (widens)
    os << "    %wide = arith.extf %in : " << elementType() << " to " << type
       << "\n";
  os << "    %next = " << combiner << " %sum, " << (widens ? "%wide" : "%in")
     << " : " << type << "\n    linalg.yield %next : " << type << "\n  } -> "
     << sums << "\n";
}

/// Of each axis: from where to where a window lies in what is not padded.
void WindowText::writeCount(raw_ostream &os) const {
  os << "    %none = arith.constant 0 : index\n";
  std::string last;
  for (auto [number, dim] : enumerate(out)) {
    auto found = axes.find(dim);
    if (found == axes.end())
      continue;
    const Axis &axis = found->second;
    std::string s(1, dim);
    os << "    %i_" << s << " = linalg.index " << number << " : index\n"
       << "    %step_" << s << " = arith.constant " << axis.stride
       << " : index\n    %low_" << s << " = arith.constant " << axis.low
       << " : index\n    %reach_" << s << " = arith.constant " << axis.window
       << " : index\n    %in_" << s << " = arith.constant " << axis.in
       << " : index\n    %at_" << s << " = arith.muli %i_" << s << ", %step_"
       << s << " : index\n    %from_" << s << " = arith.subi %at_" << s
       << ", %low_" << s << " : index\n    %to_" << s << " = arith.addi %from_"
       << s << ", %reach_" << s << " : index\n    %end_" << s
       << " = arith.minsi %to_" << s << ", %in_" << s << " : index\n    %begin_"
       << s << " = arith.maxsi %from_" << s << ", %none : index\n    %all_" << s
       << " = arith.subi %end_" << s << ", %begin_" << s << " : index\n";
    std::string count = "%all_" + s;
    if (!last.empty()) {
      os << "    %both_" << s << " = arith.muli " << last << ", " << count
         << " : index\n";
      count = "%both_" + s;
    }
    last = count;
  }
  os << "    %count = arith.index_cast " << last
     << " : index to i64\n    %divisor = arith.sitofp %count : i64 to f32\n";
}

void WindowText::writeResult(raw_ostream &os) const {
  GenericInputs inputs;
  inputs.add(dividesByCount ? "s" : "r", dims, tensor(dims, sumType(), true),
             sumType());
  for (const Operand &each : finishOperands)
    inputs.add(each.name, each.dims, tensor(each.dims, each.type, true),
               each.type);
  inputs.maps.push_back(out);
  std::string made = tensor(out, result, true);
  // What windows make has the name that lines use, divided or not.
  StringRef values = inputs.values;
  os << "  %space_r = tensor.empty() : " << made
     << "\n  %made = " << genericText(out, inputs.maps) << " ins(%t_r"
     << values.drop_front(4) << " : " << inputs.types
     << ") outs(%space_r : " << made << ") {\n  ^bb0(" << inputs.arguments
     << "%o: " << result << "):\n"
     << inputs.wide;
  if (dividesByCount) {
    writeCount(os);
    os << "    %r = arith.divf %s, %divisor : f32\n";
  }
  os << finishLines;
  if (result != "f32")
    os << "    %narrow = arith.truncf " << finishValue << " : f32 to " << result
       << "\n";
  os << "    linalg.yield " << (result == "f32" ? finishValue : "%narrow")
     << " : " << result << "\n  } -> " << made << "\n  return %made : " << made
     << "\n}\n";
}

std::string WindowText::str() const {
  std::string text;
  raw_string_ostream os(text);
  os << "func.func @" << name << "(";
  ListSeparator comma;
  for (const Operand &each : operands)
    os << comma << "%t_" << each.name << ": "
       << tensor(each.dims, each.type, false);
  for (const Operand &each : finishOperands)
    os << comma << "%t_" << each.name << ": "
       << tensor(each.dims, each.type, true);
  os << ") -> " << tensor(out, result, true) << " {\n";
  writeWindows(os, writePad(os, writeElements(os)));
  writeResult(os);
  return text;
}
