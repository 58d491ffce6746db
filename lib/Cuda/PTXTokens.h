//===- PTXTokens.h - PTX as tokens ------------------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CUDA_PTXTOKENS_H
#define FASTK_LIB_CUDA_PTXTOKENS_H

#include <string>
#include <string_view>
#include <vector>

namespace fastk::cuda {

/// A word with all its dotted suffixes ("ld.global.u32", ".reg", "%tid.x",
/// "$L__BB0_2"), a number, a string with its quotes, or one character.
using PTXToken = std::string_view;

/// Splits \p ptx, without its comments. Whatever two readers could see
/// differently (backslashes, control characters, open comments) is an error,
/// for the assembler is another reader. The tokens point into \p ptx.
bool tokenizePTX(std::string_view ptx, std::vector<PTXToken> &tokens,
                 std::string &error);

/// The line of a token of \p ptx, from 1.
size_t lineOf(std::string_view ptx, PTXToken token);

} // namespace fastk::cuda

#endif // FASTK_LIB_CUDA_PTXTOKENS_H
