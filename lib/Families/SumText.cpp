//===- SumText.cpp - What surrounds sums of products, as text -------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/SumText.h"
#include "GenericText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace fastk;
using families::SumText;

int64_t SumText::elements(StringRef dims) const {
  int64_t count = 1;
  for (char dim : dims)
    count *= extent(dim);
  return count;
}

std::string SumText::tensor(StringRef dims, StringRef element) const {
  std::string text = "tensor<";
  for (char dim : dims)
    text += std::to_string(extent(dim)) + "x";
  return text + element.str() + ">";
}

StringRef SumText::storedType(const Prologue &prologue) const {
  return prologue.lines.empty() || prologue.stored.empty() ? type
                                                           : prologue.stored;
}

void SumText::writeScale(raw_ostream &os, const Prologue &prologue,
                         StringRef operand) const {
  if (!prologue.scale.empty())
    os << ", %" << operand << "_scale: " << tensor(prologue.scale, type);
}

void SumText::writeTailArguments(raw_ostream &os) const {
  for (const Operand &each : operands)
    os << ", %" << each.name << ": " << tensor(each.dims, type);
}

std::string SumText::writePrologue(raw_ostream &os, const Prologue &prologue,
                                   StringRef operand, StringRef dims) const {
  std::string from = ("%" + operand).str();
  if (prologue.lines.empty())
    return from;
  std::string stored = storedType(prologue).str();
  std::string made = tensor(dims, type);
  std::string inputs = from, types = tensor(dims, stored);
  std::string arguments = "%a0: " + stored;
  SmallVector<StringRef> maps = {dims};
  if (!prologue.scale.empty()) {
    inputs += ", " + from + "_scale";
    types += ", " + tensor(prologue.scale, type);
    arguments += ", %s0: " + type;
    maps.push_back(prologue.scale);
  }
  maps.push_back(dims);
  os << "  " << from << "_empty = tensor.empty() : " << made << "\n  " << from
     << "_made = " << genericText(dims, maps) << " ins(" << inputs << " : "
     << types << ") outs(" << from << "_empty : " << made << ") {\n  ^bb0("
     << arguments << ", %o: " << type << "):\n"
     << prologue.lines << "\n    linalg.yield %a1 : " << type << "\n  } -> "
     << made << "\n";
  return from + "_made";
}

void SumText::writeProduct(raw_ostream &os) const {
  bool isWide = type == "f32";
  os << "{\n  ^bb0(%xa: " << type << ", %xb: " << type << ", %o: f32):\n";
  if (!isWide)
    os << "    %wa = arith.extf %xa : " << type << " to f32\n"
       << "    %wb = arith.extf %xb : " << type << " to f32\n";
  os << "    %p = arith.mulf " << (isWide ? "%xa, %xb" : "%wa, %wb")
     << " : f32\n    %t = arith.addf %o, %p : f32\n    linalg.yield %t : f32\n"
     << "  }";
}

void SumText::writeTail(raw_ostream &os, StringRef sums) const {
  std::string made = tensor(out, result), from = tensor(out, "f32");
  std::string inputs = sums.str(), types = from, arguments = "%x: f32", wide;
  SmallVector<StringRef> maps = {out};
  for (const Operand &each : operands) {
    inputs += ", %" + each.name;
    types += ", " + tensor(each.dims, type);
    maps.push_back(each.dims);
    // In f32 it is wide enough as it is.
    if (type == "f32") {
      arguments += ", %" + each.name + "32: f32";
      continue;
    }
    arguments += ", %" + each.name + "0: " + type;
    wide += "    %" + each.name + "32 = arith.extf %" + each.name +
            "0 : " + type + " to f32\n";
  }
  maps.push_back(out);
  os << "  %empty = tensor.empty() : " << made
     << "\n  %made = " << genericText(out, maps) << " ins(" << inputs << " : "
     << types << ") outs(%empty : " << made << ") {\n  ^bb0(" << arguments
     << ", %o: " << result << "):\n"
     << wide << tail << "\n"
     << yieldText(value, result) << "  } -> " << made << "\n";
}
