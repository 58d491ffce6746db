//===- MatchedConvolution.h - The core of a text for tests ------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_UNITTESTS_FAMILIES_MATCHEDCONVOLUTION_H
#define FASTK_UNITTESTS_FAMILIES_MATCHEDCONVOLUTION_H

#include "Matched.h"
#include "fastk/Families/Convolution.h"
#include "fastk/Families/ConvolutionText.h"

namespace fastk::test {

using families::ConvolutionText;

using MatchedConvolution = Matched<ConvolutionText, families::matchConvolution>;

} // namespace fastk::test

#endif // FASTK_UNITTESTS_FAMILIES_MATCHEDCONVOLUTION_H
