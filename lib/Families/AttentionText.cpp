//===- AttentionText.cpp - Attention as MLIR's text -----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/AttentionText.h"
#include "GenericText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace fastk;
using families::AttentionText;

/// Of scores and weights, and of the rows of these.
static constexpr StringRef kScores = "bhgmn", kRows = "bhgm";

int64_t AttentionText::elements(StringRef dims) const {
  int64_t count = 1;
  for (char dim : dims)
    count *= extents.at(dim);
  return count;
}

std::string AttentionText::tensor(StringRef dims, StringRef element) const {
  std::string text = "tensor<";
  for (char dim : dims)
    text += std::to_string(extents.at(dim)) + "x";
  return text + element.str() + ">";
}

/// The tensor with one dimension for h and g.
std::string AttentionText::merged(StringRef dims, StringRef element) const {
  std::string text = "tensor<";
  for (char dim : dims)
    if (dim == 'h')
      text += std::to_string(extents.at('h') * extents.at('g')) + "x";
    else if (dim != 'g')
      text += std::to_string(extents.at(dim)) + "x";
  return text + element.str() + ">";
}

/// "[[0], [1, 2], [3]]" where h and g are 1 and 2.
static std::string reassociation(StringRef dims) {
  std::string text = "[";
  for (size_t d = 0; d < dims.size(); ++d) {
    text += (d ? ", [" : "[") + std::to_string(d);
    if (dims[d] == 'h')
      text += ", " + std::to_string(++d);
    text += "]";
  }
  return text + "]";
}

/// A line that makes `%WIDE` in f32 of `%NARROW`, if it is not.
static std::string widen(StringRef wide, StringRef narrow, StringRef type) {
  if (type == "f32")
    return "";
  return ("    %" + wide + " = arith.extf %" + narrow + " : " + type +
          " to f32\n")
      .str();
}

void AttentionText::writeProduct(raw_ostream &os, StringRef made,
                                 StringRef left, StringRef leftDims,
                                 StringRef leftType, StringRef right,
                                 StringRef rightDims, StringRef dims,
                                 char reduced) const {
  std::string loops = dims.str() + reduced, sums = tensor(dims, "f32");
  os << "  %" << made << "_empty = tensor.empty() : " << sums << "\n  %" << made
     << "_zero = linalg.fill ins(%zero : f32) outs(%" << made
     << "_empty : " << sums << ") -> " << sums << "\n  %" << made << " = "
     << genericText(loops, {leftDims, rightDims, dims}, StringRef(&reduced, 1))
     << " ins(%" << left << ", %" << right << " : "
     << tensor(leftDims, leftType) << ", " << tensor(rightDims, type)
     << ") outs(%" << made << "_zero : " << sums << ") {\n  ^bb0(%l"
     << (leftType == "f32" ? "" : "0") << ": " << leftType << ", %r"
     << (type == "f32" ? "" : "0") << ": " << type << ", %o: f32):\n"
     << widen("l", "l0", leftType) << widen("r", "r0", type)
     << "    %p = arith.mulf %l, %r : f32\n"
     << "    %t = arith.addf %o, %p : f32\n    linalg.yield %t : f32\n  } -> "
     << sums << "\n";
}

void AttentionText::writeElements(raw_ostream &os, StringRef made,
                                  StringRef from, StringRef argument,
                                  StringRef fromDims,
                                  const std::vector<Operand> &operands,
                                  StringRef lines, StringRef value,
                                  StringRef dims, StringRef type) const {
  std::string values = "%" + from.str(), types = tensor(fromDims, "f32"),
              arguments = "%" + argument.str() + ": f32", wide;
  SmallVector<StringRef> maps = {fromDims};
  for (const Operand &each : operands) {
    values += ", %" + each.name;
    types += ", " + tensor(each.dims, each.type);
    maps.push_back(each.dims);
    bool isTruth = each.type == "i1";
    StringRef suffix = isTruth ? "1" : each.type == "f32" ? "32" : "0";
    arguments += ", %" + each.name + suffix.str() + ": " + each.type;
    if (!isTruth)
      wide += widen(each.name + "32", each.name + "0", each.type);
  }
  maps.push_back(dims);
  os << "  %" << made << "_empty = tensor.empty() : " << tensor(dims, type)
     << "\n  %" << made << " = " << genericText(dims, maps) << " ins(" << values
     << " : " << types << ") outs(%" << made
     << "_empty : " << tensor(dims, type) << ") {\n  ^bb0(" << arguments
     << ", %o: " << type << "):\n"
     << wide << lines << yieldText(value, type) << "  } -> "
     << tensor(dims, type) << "\n";
}

/// Rows of a tensor, by lines that make %next of %x and %acc.
void AttentionText::writeReduction(raw_ostream &os, StringRef made,
                                   StringRef from, StringRef fromType,
                                   StringRef type, StringRef start,
                                   StringRef lines) const {
  std::string rows = tensor(kRows, type);
  os << "  %" << made << "_start = arith.constant " << start << "\n  %" << made
     << "_empty = tensor.empty() : " << rows << "\n  %" << made
     << "_init = linalg.fill ins(%" << made << "_start : " << type << ") outs(%"
     << made << "_empty : " << rows << ") -> " << rows << "\n  %" << made
     << " = " << genericText(kScores, {kScores, kRows}, "n") << " ins(%" << from
     << " : " << tensor(kScores, fromType) << ") outs(%" << made
     << "_init : " << rows << ") {\n  ^bb0(%x: " << fromType
     << ", %acc: " << type << "):\n"
     << lines << "    linalg.yield %next : " << type << "\n  } -> " << rows
     << "\n";
}

void AttentionText::writeWeights(raw_ostream &os) const {
  writeReduction(os, "most", "scores", "f32", "f32", "0xFF800000 : f32",
                 "    %next = arith.maximumf %acc, %x : f32\n");
  writeElements(os, "powers", "scores", "x", kScores,
                {{"most", kRows.str(), "f32"}},
                "    %less = arith.subf %x, %most32 : f32\n"
                "    %power = math.exp %less : f32\n",
                "%power", kScores, "f32");
  writeReduction(os, "sum", "powers", "f32", "f32", "0.0 : f32",
                 "    %next = arith.addf %acc, %x : f32\n");
  std::vector<Operand> operands;
  std::string lines, value = "%x";
  if (!dividesLast) {
    operands.push_back({"sum", kRows.str(), "f32"});
    lines = "    %divided = arith.divf %x, %sum32 : f32\n";
    value = "%divided";
  }
  if (hasZeroRows) {
    writeReduction(os, "none", "scores", "f32", "i1", "true",
                   "    %least = arith.constant 0xFF800000 : f32\n"
                   "    %is = arith.cmpf oeq, %x, %least : f32\n"
                   "    %next = arith.andi %acc, %is : i1\n");
    operands.push_back({"none", kRows.str(), "i1"});
    lines += "    %chosen = arith.select %none1, %zero, " + value + " : f32\n";
    value = "%chosen";
  }
  writeElements(os, "weights", "powers", "x", kScores, operands, lines, value,
                kScores, roundsWeights ? StringRef(type) : "f32");
}

std::string AttentionText::str() const {
  std::string text;
  raw_string_ostream os(text);
  auto whole = [&](StringRef dims, StringRef element) {
    return mergesHeads ? merged(dims, element) : tensor(dims, element);
  };
  os << "func.func @" << name << "(%q: " << whole(q, type)
     << ", %k: " << tensor(k, type) << ", %v: " << tensor(v, type);
  for (const auto *operands : {&scoreOperands, &tailOperands})
    for (const Operand &each : *operands)
      os << ", %" << each.name << ": " << tensor(each.dims, each.type);
  os << ") -> " << whole(out, result) << " {\n"
     << "  %zero = arith.constant 0.0 : f32\n"
     << "  %hidden = arith.constant 0xFF800000 : f32\n"
     << "  %scale = arith.constant " << format("%.17e", scale) << " : f32\n";
  StringRef queries = "q";
  if (mergesHeads) {
    queries = "queries";
    os << "  %queries = tensor.expand_shape %q " << reassociation(q)
       << " output_shape [";
    interleave(q, os, [&](char dim) { os << extents.at(dim); }, ", ");
    os << "] : " << merged(q, type) << " into " << tensor(q, type) << "\n";
  }
  writeProduct(os, "sums", queries, q, type, "k", k, kScores, 'd');
  writeElements(os, "scores", "sums", "x", kScores, scoreOperands,
                "    %row = linalg.index 3 : index\n"
                "    %key = linalg.index 4 : index\n" +
                    scoreLines,
                score, kScores, "f32");
  writeWeights(os);
  writeProduct(os, "products", "weights", kScores,
               roundsWeights ? StringRef(type) : "f32", "v", v, "bhgme", 'n');
  std::vector<Operand> operands = tailOperands;
  std::string lines = tail;
  if (dividesLast) {
    operands.push_back({"sum", kRows.str(), "f32"});
    lines = "    %y = arith.divf %x, %sum32 : f32\n" + lines;
  }
  writeElements(os, "made", "products", dividesLast ? "x" : "y", "bhgme",
                operands, lines, value, out, result);
  StringRef made = "made";
  if (mergesHeads) {
    made = "merged";
    os << "  %merged = tensor.collapse_shape %made " << reassociation(out)
       << " : " << tensor(out, result) << " into " << merged(out, result)
       << "\n";
  }
  os << "  return %" << made << " : " << whole(out, result) << "\n}\n";
  return text;
}
