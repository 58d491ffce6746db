//===- Novelty.h - Programs that differ in nothing that counts --*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_SEARCH_STATE_NOVELTY_H
#define FASTK_LIB_SEARCH_STATE_NOVELTY_H

#include "fastk/Propose/Proposer.h"
#include "llvm/ADT/StringSet.h"
#include <string>

namespace fastk {

/// SHA-256 of language, workspace, plan and program, the program without
/// comments and with each run of white space as one space: equal for variants
/// that differ in how they are written only. Programs of equal code that are
/// written differently otherwise are known to evaluators, which see what the
/// compiler makes of them.
std::string noveltyOf(const Variant &variant);

/// The programs of a search.
class SeenPrograms {
public:
  /// True when it is new.
  bool insert(const Variant &variant);
  /// Seen, however it was written; and to the letter.
  bool contains(const Variant &variant) const;
  bool containsExactly(const Variant &variant) const;

private:
  llvm::StringSet<> digests, novelties;
};

} // namespace fastk

#endif // FASTK_LIB_SEARCH_STATE_NOVELTY_H
