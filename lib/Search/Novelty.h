//===- Novelty.h - Programs that differ in nothing that counts --*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_SEARCH_NOVELTY_H
#define FASTK_LIB_SEARCH_NOVELTY_H

#include "fastk/Propose/Proposer.h"
#include <string>

namespace fastk {

/// SHA-256 of language, workspace, plan and program, the program without
/// comments and with each run of white space as one space: equal for variants
/// that differ in how they are written only. Programs of equal code that are
/// written differently otherwise are known to evaluators, which see what the
/// compiler makes of them.
std::string noveltyOf(const Variant &variant);

} // namespace fastk

#endif // FASTK_LIB_SEARCH_NOVELTY_H
