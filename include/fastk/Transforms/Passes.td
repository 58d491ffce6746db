//===- Passes.td - Passes of fastk --------------------------*- tablegen -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_TRANSFORMS_PASSES_TD
#define FASTK_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

// One include a pass keeps this file free of conflicts and short.
include "fastk/Transforms/FormWorkloads.td"
include "fastk/Transforms/LowerWorkloads.td"
include "fastk/Transforms/PromoteToF64.td"
include "fastk/Transforms/DeriveCondition.td"
include "fastk/Transforms/LegalizeScalars.td"
include "fastk/Transforms/ApplyWinners.td"
include "fastk/Transforms/CanonicalizeWorkloads.td"
include "fastk/Transforms/InlineLowerings.td"
include "fastk/Transforms/InlineWorkloads.td"
include "fastk/Transforms/DefaultSchedule.td"
include "fastk/Transforms/PrintAnalysis.td"
include "fastk/Transforms/UnrollLoops.td"
include "fastk/Transforms/ShrinkWorkloads.td"
include "fastk/Transforms/SampleWorkloads.td"
include "fastk/Transforms/RaiseVariances.td"
include "fastk/Transforms/ChannelsLast.td"

#endif // FASTK_TRANSFORMS_PASSES_TD
