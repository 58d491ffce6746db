//===- WorkloadText.h - A workload in words ---------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Three views of one workload, from short to exact: a sentence, loops in
// pseudo-code, the IR.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_PROPOSE_LLM_WORKLOADTEXT_H
#define FASTK_LIB_PROPOSE_LLM_WORKLOADTEXT_H

#include "fastk/Propose/Proposer.h"
#include <string>

namespace fastk::llm {

/// What is computed, in a sentence: "A 2-D convolution: batch 100, ...".
std::string describeKind(const WorkloadFeatures &features);

/// Operands and results: "in0: f32, 100 x 3 x 224 x 224 (60.2 MB), data".
std::string describeBuffers(LoweringOp workload,
                            const WorkloadFeatures &features);

/// The pattern as loops over tensors, one op after the other.
std::string describeLoops(LoweringOp workload);

/// The pattern's IR, cut at `most` bytes.
std::string printPattern(LoweringOp workload, size_t most);

/// The function that a schedule is applied to, cut at `most` bytes.
std::string printFunction(LoweringOp workload, size_t most);

} // namespace fastk::llm

#endif // FASTK_LIB_PROPOSE_LLM_WORKLOADTEXT_H
