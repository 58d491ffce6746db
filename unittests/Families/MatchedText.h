//===- MatchedText.h - The core of a text for tests -------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_UNITTESTS_FAMILIES_MATCHEDTEXT_H
#define FASTK_UNITTESTS_FAMILIES_MATCHEDTEXT_H

#include "Matched.h"
#include "fastk/Families/Contraction.h"
#include "fastk/Families/ContractionText.h"

namespace fastk::test {

using families::ContractionText;

using MatchedText = Matched<ContractionText, families::matchContraction>;

} // namespace fastk::test

#endif // FASTK_UNITTESTS_FAMILIES_MATCHEDTEXT_H
