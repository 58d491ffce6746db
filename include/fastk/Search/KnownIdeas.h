//===- KnownIdeas.h - What a bank knows of similar workloads ----*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_SEARCH_KNOWNIDEAS_H
#define FASTK_SEARCH_KNOWNIDEAS_H

#include "fastk/Bank/Bank.h"
#include "fastk/Propose/Proposer.h"

namespace fastk {

/// The ideas that won on the workloads most similar to the searched one, and
/// those that were tried there and failed; most similar first, at most `limit`.
/// Each one's text ends in what became of it there. Similar are winners for the
/// same kind of target (host, GPU) with the same display name; nearest is the
/// one whose floor is nearest in ratio. The searched workload's own winner is
/// left out: it is a seed. A folder that cannot be read is passed over.
std::vector<Idea> knownIdeas(const BankStack &banks, LoweringOp workload,
                             llvm::StringRef displayName, double floorSeconds,
                             size_t limit);

} // namespace fastk

#endif // FASTK_SEARCH_KNOWNIDEAS_H
