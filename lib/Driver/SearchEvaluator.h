//===- SearchEvaluator.h - Who evaluates, as the user set it ----*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_DRIVER_SEARCHEVALUATOR_H
#define FASTK_LIB_DRIVER_SEARCHEVALUATOR_H

#include "fastk/Driver/SearchModel.h"

namespace fastk {

/// The evaluator that the settings name. Fills in what evaluations need beside
/// them: the compiler, the device and, where one is replayed, the cassette.
/// Evaluations of this machine run on all of its GPUs, and are answered later
/// then; with \p atOnce on one, and at once.
llvm::Expected<std::unique_ptr<Evaluator>>
makeEvaluator(SearchModelOptions &search, bool atOnce);

/// What there is to do about so many pending evaluations, as a line.
std::string explainPending(int pending, const Evaluator &evaluator,
                           llvm::StringRef target);

} // namespace fastk

#endif // FASTK_LIB_DRIVER_SEARCHEVALUATOR_H
