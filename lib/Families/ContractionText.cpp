//===- ContractionText.cpp - A contraction as MLIR's text -----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/ContractionText.h"
#include "GenericText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace fastk;
using families::ContractionText;
using families::genericText;

int64_t ContractionText::elements(StringRef dims) const {
  int64_t count = 1;
  for (char dim : dims)
    count *= extent(dim);
  return count;
}

std::string ContractionText::tensor(StringRef dims, StringRef element) const {
  std::string text = "tensor<";
  for (char dim : dims)
    text += std::to_string(extent(dim)) + "x";
  return text + element.str() + ">";
}

/// Whether elements of the operand are a factor's as they are.
static bool isPlain(const ContractionText::Prologue &prologue) {
  return prologue.lines.empty();
}

static StringRef storedType(const ContractionText &text,
                            const ContractionText::Prologue &prologue) {
  return isPlain(prologue) || prologue.stored.empty() ? text.type
                                                      : prologue.stored;
}

void ContractionText::writeArguments(raw_ostream &os) const {
  os << "%a: " << tensor(a, storedType(*this, prologueA))
     << ", %b: " << tensor(b, storedType(*this, prologueB));
  if (!prologueA.scale.empty())
    os << ", %a_scale: " << tensor(prologueA.scale, type);
  if (!prologueB.scale.empty())
    os << ", %b_scale: " << tensor(prologueB.scale, type);
  for (const Operand &each : operands)
    os << ", %" << each.name << ": " << tensor(each.dims, type);
}

std::string ContractionText::writePrologue(raw_ostream &os,
                                           const Prologue &prologue,
                                           StringRef operand,
                                           StringRef dims) const {
  std::string from = ("%" + operand).str();
  if (isPlain(prologue))
    return from;
  std::string stored = storedType(*this, prologue).str();
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

void ContractionText::writeSum(raw_ostream &os, StringRef left,
                               StringRef right) const {
  std::string loops = out + "k", sums = tensor(out, "f32");
  bool isWide = type == "f32";
  os << "  %sums_empty = tensor.empty() : " << sums
     << "\n  %sums_zero = linalg.fill ins(%zero : f32) outs(%sums_empty : "
     << sums << ") -> " << sums
     << "\n  %sums = " << genericText(loops, {a, b, out}, "k") << " ins("
     << left << ", " << right << " : " << tensor(a, type) << ", "
     << tensor(b, type) << ") outs(%sums_zero : " << sums
     << ") {\n  ^bb0(%xa: " << type << ", %xb: " << type << ", %o: f32):\n";
  if (!isWide)
    os << "    %wa = arith.extf %xa : " << type << " to f32\n"
       << "    %wb = arith.extf %xb : " << type << " to f32\n";
  os << "    %p = arith.mulf " << (isWide ? "%xa, %xb" : "%wa, %wb")
     << " : f32\n    %t = arith.addf %o, %p : f32\n    linalg.yield %t : f32\n"
     << "  } -> " << sums << "\n";
}

void ContractionText::writeTail(raw_ostream &os) const {
  std::string made = tensor(out, result), sums = tensor(out, "f32");
  std::string inputs = "%sums", types = sums, arguments = "%x: f32", wide;
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
     << wide << tail << "\n";
  if (result != "f32")
    os << "    %narrow = arith.truncf " << value << " : f32 to " << result
       << "\n";
  os << "    linalg.yield " << (result == "f32" ? value : "%narrow") << " : "
     << result << "\n  } -> " << made << "\n";
}

std::string ContractionText::str() const {
  std::string text;
  raw_string_ostream os(text);
  os << "func.func @" << name << "(";
  writeArguments(os);
  os << ") -> " << tensor(out, result) << " {\n"
     << "  %zero = arith.constant 0.0 : f32\n";
  std::string left = writePrologue(os, prologueA, "a", a);
  std::string right = writePrologue(os, prologueB, "b", b);
  writeSum(os, left, right);
  writeTail(os);
  os << "  return %made : " << tensor(out, result) << "\n}\n";
  return text;
}
