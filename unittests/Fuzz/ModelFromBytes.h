//===- ModelFromBytes.h - A model for any bytes -----------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Mutated text rarely parses. Here bytes are choices: every input is a model of
// linalg on tensors that holds, and a mutation is another such model.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_UNITTESTS_FUZZ_MODELFROMBYTES_H
#define FASTK_UNITTESTS_FUZZ_MODELFROMBYTES_H

#include <cstdint>
#include <string>
#include <string_view>

namespace fastk::fuzz {

/// The text of a module with one function.
std::string modelFromBytes(std::string_view bytes);

/// The text of a function `program_SEED` that has something to compute for any
/// operands: static shapes, nothing read that nobody wrote, reductions of which
/// the order changes the rounding alone.
std::string runnableProgram(uint64_t seed);

} // namespace fastk::fuzz

#endif // FASTK_UNITTESTS_FUZZ_MODELFROMBYTES_H
