//===- Writing.cpp - What language models are asked to write --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Propose/Writing.h"
#include "llvm/ADT/STLExtras.h"
#include <iterator>

using namespace fastk;
using llvm::StringLiteral;
using llvm::StringRef;

namespace {
struct Described {
  Writing writing;
  StringLiteral name;
  StringLiteral meaning;
};
} // namespace

static constexpr Described kWritings[] = {
    {Writing::Families, "families",
     "programs for every size of a workload's core"},
    {Writing::Programs, "programs", "for the workload alone"},
    {Writing::Schedules, "schedules",
     "transform-dialect sequences that the compiler applies to it"},
    {Writing::GPU, "gpu", "modules of the gpu dialect, for GPUs"},
};

StringRef fastk::stringify(Writing writing) {
  return llvm::find_if(
             kWritings,
             [&](const Described &each) { return each.writing == writing; })
      ->name;
}

std::optional<Writing> fastk::parseWriting(StringRef name) {
  for (const Described &each : kWritings)
    if (each.name == name)
      return each.writing;
  return std::nullopt;
}

std::string fastk::describeWritings() {
  std::string text;
  for (const Described &each : kWritings)
    text += (text.empty()                       ? ""
             : &each == std::end(kWritings) - 1 ? " or "
                                                : ", ") +
            each.name.str() + " (" + each.meaning.str() + ")";
  return text;
}
