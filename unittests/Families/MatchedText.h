//===- MatchedText.h - The core of a text for tests -------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_UNITTESTS_FAMILIES_MATCHEDTEXT_H
#define FASTK_UNITTESTS_FAMILIES_MATCHEDTEXT_H

#include "../Analysis/WorkloadFixture.h"
#include "fastk/Families/Contraction.h"
#include "fastk/Families/ContractionText.h"
#include "gtest/gtest.h"

namespace fastk::test {

using families::ContractionText;

/// The core of a function's text; `why` says what is none.
struct MatchedText {
  explicit MatchedText(const std::string &text) {
    Module source = wrapIntoWorkload(text);
    EXPECT_TRUE(source) << text;
    if (!source)
      return;
    auto computed = computeCanonicalForm(getWorkload(*source));
    EXPECT_TRUE(mlir::succeeded(computed));
    form.emplace(std::move(*computed));
    core = families::matchContraction(form->getPattern().front(), why);
  }
  explicit MatchedText(const ContractionText &text) : MatchedText(text.str()) {}

  std::optional<CanonicalForm> form;
  std::optional<families::Contraction> core;
  std::string why;
};

} // namespace fastk::test

#endif // FASTK_UNITTESTS_FAMILIES_MATCHEDTEXT_H
