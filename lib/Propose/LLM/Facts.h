//===- Facts.h - What is told of a program that was tried -------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A few derived facts instead of raw numbers: what binds the program, and how
// far it is from that bound.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_PROPOSE_LLM_FACTS_H
#define FASTK_LIB_PROPOSE_LLM_FACTS_H

#include "fastk/Analysis/Roofline.h"
#include "fastk/Propose/Proposer.h"
#include "fastk/Target/DeviceDescription.h"
#include <string>
#include <vector>

namespace fastk::llm {

/// "12.3 us", "1.25 ms".
std::string showSeconds(double seconds);
/// What a program uses, by its text: "wgmma", "TMA", "cp.async", ...
std::vector<std::string> featuresOf(llvm::StringRef program);

/// One line each. \p device: null on the host.
std::vector<std::string> factsOf(const ProposalContext &context,
                                 const TriedVariant &tried,
                                 const DeviceDescription *device);

/// Errors of a wrong result, by distribution, worst first: at most `most`
/// lines.
std::vector<std::string> errorsOf(const worker::Verdict &verdict, size_t most);

} // namespace fastk::llm

#endif // FASTK_LIB_PROPOSE_LLM_FACTS_H
