//===- Percent.cpp - Ratios as people read them ---------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Percent.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

std::string fastk::percent(double ratio) {
  std::string text;
  raw_string_ostream(text) << format("%.1f %%", 100 * ratio);
  return text;
}
