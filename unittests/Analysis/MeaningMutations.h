//===- MeaningMutations.h - Changes that change the meaning -----*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_UNITTESTS_ANALYSIS_MEANINGMUTATIONS_H
#define FASTK_UNITTESTS_ANALYSIS_MEANINGMUTATIONS_H

#include "Random.h"
#include "WorkloadFixture.h"

namespace fastk::test {

/// Changes one thing of a workload in canonical form, so that it computes
/// something else. Returns what was changed, or "" when the choice that the
/// dice made does not apply here or is not valid IR; the module is then of no
/// use any more.
///
/// Starting from the canonical form, everything is alive, so a change counts.
/// Changes that a renaming of the operands could undo are avoided: rewiring
/// always kills the value that loses its use, which leaves a smaller graph.
std::string mutateMeaning(Module &module, Random &random);

} // namespace fastk::test

#endif // FASTK_UNITTESTS_ANALYSIS_MEANINGMUTATIONS_H
