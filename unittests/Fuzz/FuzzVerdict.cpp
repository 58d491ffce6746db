//===- FuzzVerdict.cpp - Verdicts from anywhere ---------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FuzzTargets.h"
#include "fastk/Protocol/Verdict.h"

using namespace fastk::worker;

void fastk::fuzz::fuzzVerdict(std::string_view data) {
  std::string error;
  std::optional<Verdict> verdict = parseVerdict(data, error);
  if (!verdict) {
    if (error.empty())
      fail("a refused verdict has a reason");
    return;
  }
  std::string text = toJSON(*verdict);
  std::optional<Verdict> again = parseVerdict(text, error);
  if (!again)
    fail("a verdict that was written can be read", error + "\n" + text);
  if (std::string twice = toJSON(*again); twice != text)
    fail("a verdict is the same after a round trip", text + "\n" + twice);
  // The journal puts it on a line of its own.
  if (text.find('\n') != std::string::npos)
    fail("a verdict is one line", text);
}
