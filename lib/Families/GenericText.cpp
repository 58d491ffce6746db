//===- GenericText.cpp - A linalg.generic as text -------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GenericText.h"
#include "llvm/ADT/StringExtras.h"
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
