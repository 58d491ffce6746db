//===- Cores.h - A request's workload to families ---------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_PROPOSE_CORES_H
#define FASTK_PROPOSE_CORES_H

#include "fastk/Families/Core.h"
#include "fastk/Propose/Proposer.h"

namespace fastk {

/// The workload as all cores that it is, in the precision that is accepted.
std::vector<families::CoreInstance> coresOf(const ProposalContext &context);

} // namespace fastk

#endif // FASTK_PROPOSE_CORES_H
