//===- ContractionText.cpp - A contraction as MLIR's text -----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/ContractionText.h"
#include "GenericText.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace fastk;
using families::ContractionText;

void ContractionText::writeSum(raw_ostream &os, StringRef left,
                               StringRef right) const {
  std::string loops = out + "k", sums = tensor(out, "f32");
  os << "  %sums_empty = tensor.empty() : " << sums
     << "\n  %sums_zero = linalg.fill ins(%zero : f32) outs(%sums_empty : "
     << sums << ") -> " << sums
     << "\n  %sums = " << genericText(loops, {a, b, out}, "k") << " ins("
     << left << ", " << right << " : " << tensor(a, type) << ", "
     << tensor(b, type) << ") outs(%sums_zero : " << sums << ") ";
  writeProduct(os);
  os << " -> " << sums << "\n";
}

std::string ContractionText::str() const {
  std::string text;
  raw_string_ostream os(text);
  os << "func.func @" << name << "(%a: " << tensor(a, storedType(prologueA))
     << ", %b: " << tensor(b, storedType(prologueB));
  writeScale(os, prologueA, "a");
  writeScale(os, prologueB, "b");
  writeTailArguments(os);
  os << ") -> " << tensor(out, result) << " {\n"
     << "  %zero = arith.constant 0.0 : f32\n";
  std::string left = writePrologue(os, prologueA, "a", a);
  std::string right = writePrologue(os, prologueB, "b", b);
  writeSum(os, left, right);
  writeTail(os, "%sums");
  os << "  return %made : " << tensor(out, result) << "\n}\n";
  return text;
}
