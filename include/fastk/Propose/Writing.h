//===- Writing.h - What language models are asked to write ------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_PROPOSE_WRITING_H
#define FASTK_PROPOSE_WRITING_H

#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace fastk {

/// As --write says it.
enum class Writing {
  /// Programs for every size of a workload's core, where it has one and the
  /// target is a GPU; else as Programs.
  Families,
  /// C for the host, CUDA-C for a GPU, for the workload alone.
  Programs,
  /// Transform-dialect sequences, for any target.
  Schedules,
  /// Modules of the gpu dialect, for a GPU.
  GPU,
};

/// "families", ...
llvm::StringRef stringify(Writing writing);
std::optional<Writing> parseWriting(llvm::StringRef name);
/// All of them in a sentence, for errors: "families (...), programs (...)".
std::string describeWritings();

} // namespace fastk

#endif // FASTK_PROPOSE_WRITING_H
