//===- ProposerTestUtils.h - Asking proposers that answer at once ---------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_UNITTESTS_PROPOSE_PROPOSERTESTUTILS_H
#define FASTK_UNITTESTS_PROPOSE_PROPOSERTESTUTILS_H

#include "fastk/Propose/Proposer.h"

namespace fastk::test {

/// The ideas; an error when they are pending.
inline llvm::Expected<std::vector<Idea>>
ideasOf(Proposer &proposer, const ProposalContext &context, int count) {
  Answer<std::vector<Idea>> ideas = proposer.proposeIdeas(context, count);
  if (!ideas)
    return ideas.takeError();
  if (!*ideas)
    return llvm::createStringError("pending");
  return std::move(**ideas);
}

/// The realisations of one idea; an error when they are pending.
inline llvm::Expected<std::vector<Variant>>
variantsOf(Proposer &proposer, const ProposalContext &context, const Idea &idea,
           int count) {
  Answers<std::vector<Variant>> variants =
      proposer.realise(context, idea, count);
  if (!variants)
    return variants.takeError();
  if (variants->size() != 1 || !variants->front())
    return llvm::createStringError("pending");
  return std::move(*variants->front());
}

} // namespace fastk::test

#endif // FASTK_UNITTESTS_PROPOSE_PROPOSERTESTUTILS_H
