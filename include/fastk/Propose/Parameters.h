//===- Parameters.h - Variants of other numbers -----------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_PROPOSE_PARAMETERS_H
#define FASTK_PROPOSE_PARAMETERS_H

#include "fastk/Families/Numbers.h"
#include "fastk/Propose/Proposer.h"

namespace fastk {

/// A variant from a program, its plan's text (empty: none) and nothing else.
/// Its `problem` is set where it cannot be made.
Variant makeVariant(Language language, llvm::StringRef program,
                    llvm::StringRef plan);

/// Up to `count` variants that differ from \p variant in one tuned parameter,
/// the nearest values first, without those in \p tried (digests), those that
/// break the rules of the variant's family, and those whose plan cannot be made
/// or breaks \p limits (null: not checked).
struct PlanCheck {
  std::vector<int64_t> inputBytes, outputBytes;
  worker::PlanLimits limits;
};
std::vector<Variant> neighboursOf(const Variant &variant,
                                  llvm::ArrayRef<std::string> tried, int count,
                                  const PlanCheck *check);

/// The same without those that the search has tried, and within the limits of
/// its target where these are known.
std::vector<Variant> neighboursOf(const ProposalContext &context,
                                  const Variant &variant, int count);

} // namespace fastk

#endif // FASTK_PROPOSE_PARAMETERS_H
