//===- GenericText.cpp - A linalg.generic as text -------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GenericText.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <vector>

using namespace llvm;
using namespace fastk;

/// "(b, m)"
static std::string list(StringRef dims) {
  std::vector<std::string> names;
  for (char dim : dims)
    names.emplace_back(1, dim);
  return "(" + join(names, ", ") + ")";
}

static std::string map(StringRef loops, StringRef dims) {
  return "affine_map<" + list(loops) + " -> " + list(dims) + ">";
}

std::string families::genericText(StringRef loops, ArrayRef<StringRef> operands,
                                  StringRef reduced) {
  std::vector<std::string> maps, iterators;
  for (StringRef dims : operands)
    maps.push_back(map(loops, dims));
  for (char loop : loops)
    iterators.emplace_back(reduced.contains(loop) ? "\"reduction\""
                                                  : "\"parallel\"");
  return "linalg.generic {indexing_maps = [" + join(maps, ", ") +
         "], iterator_types = [" + join(iterators, ", ") + "]}";
}

void families::GenericInputs::add(StringRef name, StringRef dims,
                                  StringRef tensor, StringRef type) {
  values += (values.empty() ? "%t_" : ", %t_") + name.str();
  types += (types.empty() ? "" : ", ") + tensor.str();
  maps.push_back(dims);
  if (type == "f32" || type == "i1") {
    arguments += "%" + name.str() + ": " + type.str() + ", ";
    return;
  }
  arguments += "%" + name.str() + "0: " + type.str() + ", ";
  wide += "    %" + name.str() + " = arith." +
          (type.starts_with("i") ? "sitofp" : "extf") + " %" + name.str() +
          "0 : " + type.str() + " to f32\n";
}

std::string families::yieldText(StringRef value, StringRef type) {
  if (type == "f32")
    return ("    linalg.yield " + value + " : f32\n").str();
  return ("    %narrow = arith.truncf " + value + " : f32 to " + type +
          "\n    linalg.yield %narrow : " + type + "\n")
      .str();
}

std::string families::ResultText::str(GenericInputs inputs) const {
  inputs.maps.push_back(loops);
  std::string text;
  raw_string_ostream os(text);
  os << "  " << empty << " = tensor.empty() : " << tensor
     << "\n  %made = " << genericText(loops, inputs.maps) << " ins("
     << inputs.values << " : " << inputs.types << ") outs(" << empty << " : "
     << tensor << ") {\n  ^bb0(" << inputs.arguments << "%o: " << type << "):\n"
     << inputs.wide << lines << yieldText(value, type) << "  } -> " << tensor
     << "\n  return %made : " << tensor << "\n}\n";
  return text;
}

bool families::usesValue(StringRef lines, StringRef name) {
  for (size_t at = lines.find(("%" + name).str()); at != StringRef::npos;
       at = lines.find(("%" + name).str(), at + 1)) {
    size_t end = at + 1 + name.size();
    if (end == lines.size() || (!isAlnum(lines[end]) && lines[end] != '_'))
      return true;
  }
  return false;
}
