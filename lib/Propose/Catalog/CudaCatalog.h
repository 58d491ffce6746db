//===- CudaCatalog.h - The catalog's part for GPUs --------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_PROPOSE_CATALOG_CUDACATALOG_H
#define FASTK_LIB_PROPOSE_CATALOG_CUDACATALOG_H

#include "CudaIdeas.h"
#include "fastk/Conversion/CudaCodegen.h"

namespace fastk {
namespace catalog {

/// What Proposer asks, for targets "cuda:...". Keeps what the compiler has said
/// about choices, which costs a lowering each; it depends on the workload
/// alone.
class CudaCatalog {
public:
  std::vector<Idea> proposeIdeas(const ProposalContext &context, int count);
  /// Fails for ideas that are not the catalog's.
  llvm::Expected<std::vector<Variant>> realise(const ProposalContext &context,
                                               const Idea &idea, int count);
  std::vector<Variant> neighbours(const ProposalContext &context,
                                  const Variant &variant, int count);

private:
  using Kernels = std::vector<KernelDescription>;
  struct Seen;

  /// The default lowering's kernels, and what was tried.
  Seen seenIn(const ProposalContext &context);
  /// The kernels that the choices lead to; null when they break a rule.
  const Kernels *describe(const ProposalContext &context,
                          const Parameters &choices);
  std::optional<Variant> variantOf(const ProposalContext &context,
                                   const Parameters &choices,
                                   llvm::StringRef ideaId, Seen &seen);

  std::map<std::pair<std::string, Parameters>, std::optional<Kernels>> known;
};

/// A schedule that sets choices of the compiler's kernels and nothing else.
std::string choiceSchedule(const Parameters &choices);

} // namespace catalog
} // namespace fastk

#endif // FASTK_LIB_PROPOSE_CATALOG_CUDACATALOG_H
