//===- CassetteFields.h - The fields of a cassette's lines ------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What reading and writing must agree on.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_PROPOSE_LLM_CASSETTE_CASSETTEFIELDS_H
#define FASTK_LIB_PROPOSE_LLM_CASSETTE_CASSETTEFIELDS_H

#include <cstdint>

namespace fastk {

constexpr int64_t kCassetteFormat = 1;

} // namespace fastk

#endif // FASTK_LIB_PROPOSE_LLM_CASSETTE_CASSETTEFIELDS_H
