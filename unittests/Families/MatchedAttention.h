//===- MatchedAttention.h - The core of a text for tests --------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_UNITTESTS_FAMILIES_MATCHEDATTENTION_H
#define FASTK_UNITTESTS_FAMILIES_MATCHEDATTENTION_H

#include "Matched.h"
#include "fastk/Families/Attention.h"
#include "fastk/Families/AttentionText.h"

namespace fastk::test {

using families::AttentionText;

using MatchedAttention = Matched<AttentionText, families::matchAttention>;

} // namespace fastk::test

#endif // FASTK_UNITTESTS_FAMILIES_MATCHEDATTENTION_H
