//===- ChoicesTest.cpp - Enums whose values users name --------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Support/Choices.h"
#include "gtest/gtest.h"

using namespace fastk;

namespace {
enum class Size { Small, Medium, Large };
} // namespace

template <>
struct fastk::Choices<Size> {
  static constexpr llvm::StringLiteral kind = "size";
  static constexpr Size values[] = {Size::Small, Size::Medium, Size::Large};
  static llvm::StringRef name(Size value) {
    return value == Size::Small    ? "small"
           : value == Size::Medium ? "medium"
                                   : "large";
  }
};

TEST(Choices, EachNameIsAValue) {
  for (Size size : Choices<Size>::values) {
    llvm::Expected<Size> parsed = parseChoice<Size>(Choices<Size>::name(size));
    ASSERT_TRUE(bool(parsed)) << llvm::toString(parsed.takeError());
    EXPECT_EQ(*parsed, size);
  }
}

TEST(Choices, AWrongNameIsToldWithTheRightOnes) {
  EXPECT_EQ(llvm::toString(parseChoice<Size>("huge").takeError()),
            "unknown size 'huge': choose small, medium or large");
  EXPECT_EQ(llvm::toString(parseChoice<Size>("", "--").takeError()),
            "unknown --size '': choose small, medium or large");
}
