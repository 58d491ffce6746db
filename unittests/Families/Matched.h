//===- Matched.h - A function's text as a core ------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_UNITTESTS_FAMILIES_MATCHED_H
#define FASTK_UNITTESTS_FAMILIES_MATCHED_H

#include "../Analysis/WorkloadFixture.h"
#include "gtest/gtest.h"

namespace fastk::test {

/// What a matcher finds in a function's text; `why` says what it is not.
template <typename Text, auto match>
struct Matched {
  explicit Matched(const std::string &text) {
    Module source = wrapIntoWorkload(text);
    EXPECT_TRUE(source) << text;
    if (!source)
      return;
    auto computed = computeCanonicalForm(getWorkload(*source));
    EXPECT_TRUE(mlir::succeeded(computed));
    form.emplace(std::move(*computed));
    core = match(form->getPattern().front(), why);
  }
  explicit Matched(const Text &text) : Matched(text.str()) {}

  /// The core's header.
  std::string header() {
    EXPECT_TRUE(core) << why;
    if (!core)
      return "";
    auto described = describeCore(*core, why);
    EXPECT_TRUE(described) << why;
    return described ? described->header : "";
  }

  std::optional<CanonicalForm> form;
  decltype(match(std::declval<mlir::Block &>(),
                 std::declval<std::string &>())) core;
  std::string why;
};

} // namespace fastk::test

#endif // FASTK_UNITTESTS_FAMILIES_MATCHED_H
