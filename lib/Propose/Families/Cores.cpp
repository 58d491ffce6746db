//===- Cores.cpp - A request's workload to families -----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Propose/Cores.h"
#include "fastk/Target/TargetDescription.h"

using namespace llvm;
using namespace fastk;

std::vector<families::CoreInstance>
fastk::coresOf(const ProposalContext &context) {
  LoweringOp workload = context.workload;
  std::string why;
  // In the order of class `ieee`: what language models are asked for is for the
  // first, and a product is a contraction.
  std::vector<families::CoreInstance> cores =
      families::findCores(workload.getPattern().front(), context.target.target,
                          why, catalog::machineOf(context.target));
  for (families::CoreInstance &core : cores)
    families::acceptClass(core, stringifyPrecision(context.acceptedPrecision));
  return cores;
}
