//===- PointwiseText.cpp - Pointwise work as MLIR's text ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/PointwiseText.h"
#include "GenericText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace fastk;
using families::GenericInputs;
using families::genericText;
using families::PointwiseText;
using families::ResultText;

int64_t PointwiseText::elements(StringRef dims) const {
  int64_t count = 1;
  for (char dim : dims)
    count *= extents.at(dim);
  return count;
}

int64_t PointwiseText::moreOf(const Operand &operand) {
  int64_t around = operand.before + operand.behind;
  return operand.made == Operand::Sliced   ? around
         : operand.made == Operand::Padded ? -around
                                           : 0;
}

int64_t PointwiseText::elements(const Operand &operand) const {
  int64_t all = elements(operand.dims);
  if (operand.made == Operand::Gathered)
    return std::max(elements(operand.table), elements(operand.indexDims));
  if (operand.made != Operand::Sliced)
    return all;
  return all / extents.at(operand.along) *
         (extents.at(operand.along) + moreOf(operand));
}

std::string PointwiseText::tensor(StringRef dims, StringRef type, char along,
                                  int64_t more) const {
  std::string text = "tensor<";
  for (char dim : dims)
    text += std::to_string(extents.at(dim) + (dim == along ? more : 0)) + "x";
  return text + type.str() + ">";
}

/// "[0, 3, 0]": `value` for one dimension, and `other` for the others.
static std::string listFor(StringRef dims, char along, int64_t value,
                           function_ref<int64_t(char)> other) {
  std::string list;
  for (char dim : dims)
    list += (list.empty() ? "" : ", ") +
            std::to_string(dim == along ? value : other(dim));
  return "[" + list + "]";
}

void PointwiseText::writeMade(raw_ostream &os, const Operand &each) const {
  std::string made = tensor(each.dims, each.type),
              from = tensor(each.dims, each.type, each.along, moreOf(each));
  auto none = [](char) { return int64_t(0); };
  auto one = [](char) { return int64_t(1); };
  auto all = [&](char dim) { return extents.at(dim); };
  switch (each.made) {
  case Operand::Plain:
    return;
  case Operand::Sliced:
    os << "  %t_" << each.name << " = tensor.extract_slice %o_" << each.name
       << listFor(each.dims, each.along, each.before, none) << " "
       << listFor(each.dims, 0, 0, all) << " " << listFor(each.dims, 0, 0, one)
       << " : " << from << " to " << made << "\n";
    return;
  case Operand::Padded:
    os << "  %filler_" << each.name << " = arith.constant 1.5 : " << each.type
       << "\n  %t_" << each.name << " = tensor.pad %o_" << each.name << " low"
       << listFor(each.dims, each.along, each.before, none) << " high"
       << listFor(each.dims, each.along, each.behind, none) << " {\n  ^bb0(";
    interleave(
        each.dims, os, [&](char dim) { os << "%i_" << dim << ": index"; },
        ", ");
    os << "):\n    tensor.yield %filler_" << each.name << " : " << each.type
       << "\n  } : " << from << " to " << made << "\n";
    return;
  case Operand::Joined: {
    int64_t extent = extents.at(each.along);
    os << "  %t_" << each.name << " = tensor.concat dim("
       << each.dims.find(each.along) << ") %o_" << each.name << ", %p_"
       << each.name << " : ("
       << tensor(each.dims, each.type, each.along, each.before - extent) << ", "
       << tensor(each.dims, each.type, each.along, -each.before) << ") -> "
       << made << "\n";
    return;
  }
  case Operand::Reversed:
    return writeReversed(os, each);
  case Operand::Gathered:
    return writeGathered(os, each);
  }
}

void PointwiseText::writeReversed(raw_ostream &os, const Operand &each) const {
  std::string made = tensor(each.dims, each.type);
  os << "  %e_" << each.name << " = tensor.empty() : " << made << "\n  %t_"
     << each.name << " = " << genericText(each.dims, {StringRef(each.dims)})
     << " outs(%e_" << each.name << " : " << made
     << ") {\n  ^bb0(%o: " << each.type << "):\n";
  std::string indices;
  for (auto [number, dim] : enumerate(each.dims)) {
    std::string index = "%i_" + std::string(1, dim);
    os << "    " << index << " = linalg.index " << number << " : index\n";
    if (dim == each.along) {
      os << "    %last = arith.constant " << extents.at(dim) - 1
         << " : index\n    %back = arith.subi %last, " << index << " : index\n";
      index = "%back";
    }
    indices += (indices.empty() ? "" : ", ") + index;
  }
  os << "    %x = tensor.extract %o_" << each.name << "[" << indices
     << "] : " << made << "\n    linalg.yield %x : " << each.type << "\n  } -> "
     << made << "\n";
}

/// What `name` is of an index that is taken from the end where it is negative.
static std::string wrapText(StringRef name, int64_t extent, StringRef type) {
  std::string text;
  raw_string_ostream os(text);
  os << "    %zero_" << name << " = arith.constant 0 : " << type
     << "\n    %size_" << name << " = arith.constant " << extent << " : "
     << type << "\n    %before_" << name << " = arith.cmpi slt, %" << name
     << ", %zero_" << name << " : " << type << "\n    %back_" << name
     << " = arith.addi %" << name << ", %size_" << name << " : " << type
     << "\n    %in_" << name << " = arith.select %before_" << name << ", %back_"
     << name << ", %" << name << " : " << type << "\n";
  return text;
}

void PointwiseText::writeGathered(raw_ostream &os, const Operand &each) const {
  std::string made = tensor(each.dims, each.type), values, types, arguments,
              lines, indices;
  SmallVector<StringRef> maps;
  for (char dim : each.table) {
    std::string name(1, dim);
    indices += (indices.empty() ? "%p_" : ", %p_") + name;
    if (size_t loop = each.dims.find(dim); loop != std::string::npos) {
      lines += "    %p_" + name + " = linalg.index " + std::to_string(loop) +
               " : index\n";
      continue;
    }
    maps.push_back(each.indexDims);
    values += (values.empty() ? "%" : ", %") + name + "_" + each.name;
    types +=
        (types.empty() ? "" : ", ") + tensor(each.indexDims, each.indexType);
    arguments += "%" + name + ": " + each.indexType + ", ";
    if (each.wraps)
      lines += wrapText(name, extents.at(dim), each.indexType);
    lines += "    %p_" + name + " = arith.index_cast %" +
             (each.wraps ? "in_" : "") + name + " : " + each.indexType +
             " to index\n";
  }
  maps.push_back(each.dims);
  os << "  %e_" << each.name << " = tensor.empty() : " << made << "\n  %t_"
     << each.name << " = " << genericText(each.dims, maps) << " ins(" << values
     << " : " << types << ") outs(%e_" << each.name << " : " << made
     << ") {\n  ^bb0(" << arguments << "%o: " << each.type << "):\n"
     << lines << "    %x = tensor.extract %o_" << each.name << "[" << indices
     << "] : " << tensor(each.table, each.type)
     << "\n    linalg.yield %x : " << each.type << "\n  } -> " << made << "\n";
}

std::string PointwiseText::argumentsOf(const Operand &each) const {
  std::string name = "%o_" + each.name + ": ";
  switch (each.made) {
  case Operand::Plain:
    return "%t_" + each.name + ": " + tensor(each.dims, each.type);
  case Operand::Joined:
    return name +
           tensor(each.dims, each.type, each.along,
                  each.before - extents.at(each.along)) +
           ", %p_" + each.name + ": " +
           tensor(each.dims, each.type, each.along, -each.before);
  case Operand::Gathered: {
    std::string text = name + tensor(each.table, each.type);
    for (char dim : each.table)
      if (!StringRef(each.dims).contains(dim))
        text += ", %" + std::string(1, dim) + "_" + each.name + ": " +
                tensor(each.indexDims, each.indexType);
    return text;
  }
  default:
    return name + tensor(each.dims, each.type, each.along, moreOf(each));
  }
}

std::string PointwiseText::str() const {
  std::string text, made = tensor(dims, result);
  raw_string_ostream os(text);
  os << "func.func @" << name << "(";
  GenericInputs inputs;
  for (auto [number, each] : enumerate(operands)) {
    os << (number ? ", " : "") << argumentsOf(each);
    inputs.add(each.name, each.dims, tensor(each.dims, each.type), each.type);
  }
  os << ") -> " << made << " {\n";
  for (const Operand &each : operands)
    writeMade(os, each);
  os << ResultText{dims, lines, value, result, made}.str(inputs);
  return text;
}
