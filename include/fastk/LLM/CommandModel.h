//===- CommandModel.h - Any program as a model ------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LLM_COMMANDMODEL_H
#define FASTK_LLM_COMMANDMODEL_H

#include "fastk/LLM/LanguageModel.h"
#include <memory>

namespace fastk {

struct CommandModelOptions {
  /// Program and arguments, split as a shell would, but run without one.
  std::string command;
  /// Wall time of one run; then its whole process group is killed.
  double timeoutSeconds = 1800;
  /// Runs at once, at most.
  int concurrency = 4;
  /// Of standard output; more is a failure.
  size_t outputLimit = size_t(32) << 20;
};

/// `command:CMD`: each prompt is one run with the prompt's whole text on
/// standard input, in an empty folder that is removed afterwards. What it
/// writes to standard output is the reply, or a JSON object
/// {"text": "...", "usage": {...}}. An error when there is no such program.
llvm::Expected<std::unique_ptr<LanguageModel>>
createCommandModel(const CommandModelOptions &options);

} // namespace fastk

#endif // FASTK_LLM_COMMANDMODEL_H
