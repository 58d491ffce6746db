//===- MatchedPointwise.h - The core of a text for tests --------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_UNITTESTS_FAMILIES_MATCHEDPOINTWISE_H
#define FASTK_UNITTESTS_FAMILIES_MATCHEDPOINTWISE_H

#include "Matched.h"
#include "fastk/Families/Pointwise.h"
#include "fastk/Families/PointwiseText.h"

namespace fastk::test {

using families::PointwiseText;

using MatchedPointwise = Matched<PointwiseText, families::matchPointwise>;

} // namespace fastk::test

#endif // FASTK_UNITTESTS_FAMILIES_MATCHEDPOINTWISE_H
