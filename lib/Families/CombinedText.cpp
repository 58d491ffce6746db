//===- CombinedText.cpp - Elements that are combined ----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CombinedText.h"

using namespace llvm;
using namespace fastk;
using namespace fastk::catalog;
using families::CombinedText;
using families::PlacedLoad;

void CombinedText::writeEach(StringRef type, StringRef count, StringRef to,
                             StringRef from) {
  os << "#pragma unroll\n  for (int j = 0; j < " << count << "; ++j) {\n    "
     << type << " q = p;\n";
  if (inner)
    os << "    q." << program.vars[*inner].name << " += j;\n";
  os << "    " << to << " = " << from << ";\n  }\n";
}

void CombinedText::writeElements(ArrayRef<PlacedLoad> loads, Elem elem,
                                 StringRef count, StringRef neighbours,
                                 function_ref<CValue(Scope &)> element) {
  os << "FASTK_DEVICE Sum element(OPERAND_PARAMETERS, const Place &p, const "
        "Values &v) {\n";
  writeVarsOf("p");
  std::string body;
  Scope scope(program, body, 1);
  prepare(scope, loads);
  CValue value = scope.convert(element(scope), elem);
  os << body << "  return " << value.text << ";\n}\n// Of " << count << " "
     << neighbours
     << ".\nFASTK_DEVICE void elements(OPERAND_PARAMETERS, const Place &p, "
        "const Values *v, Sum *x) {\n";
  writeEach("Place", count, "x[j]", "element(OPERANDS, q, v[j])");
  os << "}\n";
}

void CombinedText::writeCombiner(CombinerKind kind, Elem elem) {
  elem = computeElem(elem);
  std::string body;
  Scope scope(program, body, 1);
  CValue both = scope.combine(kind, {"a", elem, false}, {"b", elem, false});
  os << "FASTK_DEVICE Sum combine(Sum a, Sum b) {\n"
     << body << "  return " << both.text
     << ";\n}\nFASTK_DEVICE Sum neutral() { return "
     << scope.neutral(kind, elem) << "; }\n";
}
