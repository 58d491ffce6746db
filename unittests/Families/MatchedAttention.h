//===- MatchedAttention.h - The core of a text for tests --------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_UNITTESTS_FAMILIES_MATCHEDATTENTION_H
#define FASTK_UNITTESTS_FAMILIES_MATCHEDATTENTION_H

#include "../Analysis/WorkloadFixture.h"
#include "fastk/Families/Attention.h"
#include "fastk/Families/AttentionText.h"
#include "gtest/gtest.h"

namespace fastk::test {

using families::AttentionText;

/// The core of a function's text; `why` says what is none.
struct MatchedAttention {
  explicit MatchedAttention(const std::string &text) {
    Module source = wrapIntoWorkload(text);
    EXPECT_TRUE(source) << text;
    if (!source)
      return;
    auto computed = computeCanonicalForm(getWorkload(*source));
    EXPECT_TRUE(mlir::succeeded(computed));
    form.emplace(std::move(*computed));
    core = families::matchAttention(form->getPattern().front(), why);
  }
  explicit MatchedAttention(const AttentionText &text)
      : MatchedAttention(text.str()) {}

  std::string header() {
    EXPECT_TRUE(core) << why;
    if (!core)
      return "";
    std::optional<families::CoreInstance> described =
        families::describeCore(*core, why);
    EXPECT_TRUE(described) << why;
    return described ? described->header : "";
  }

  std::optional<CanonicalForm> form;
  std::optional<families::Attention> core;
  std::string why;
};

} // namespace fastk::test

#endif // FASTK_UNITTESTS_FAMILIES_MATCHEDATTENTION_H
