//===- Replay.h - Verdicts from a cassette ----------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_EVALUATE_REPLAY_H
#define FASTK_EVALUATE_REPLAY_H

#include "fastk/Evaluate/Evaluator.h"
#include "fastk/Propose/LLM/Cassette.h"
#include <memory>

namespace fastk {

/// `replay:FILE`: gives the verdicts that were recorded, by workload and
/// variant. Compiles nothing and needs no device. A verdict that is not there
/// is an error.
std::unique_ptr<Evaluator>
createReplayEvaluator(std::shared_ptr<const Cassette> cassette);

} // namespace fastk

#endif // FASTK_EVALUATE_REPLAY_H
