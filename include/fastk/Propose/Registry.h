//===- Registry.h - Proposers by name ---------------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_PROPOSE_REGISTRY_H
#define FASTK_PROPOSE_REGISTRY_H

#include "fastk/Propose/Proposer.h"
#include <memory>
#include <string>

namespace fastk {

/// What the user says of proposers besides their names.
struct ProposerOptions {
  /// What is searched for, which need not be said: "host", "cuda:sm_90a".
  std::string target = "host";
  /// Folder of prompt templates that replace the built-in ones; empty: none.
  std::string prompts;
  /// Of models asked over HTTP, what is not said with their names: see
  /// ModelOptions. Empty: not said.
  std::string baseUrl, keyVariable, extraBody, priceTable;
  /// Seconds for one request; 0: the default.
  double timeoutSeconds = 0;
  /// What language models are asked to write: a Writing's name.
  std::string writes = "families";
  /// Tells the ideas of several proposers of one search apart: which of them
  /// this one is, from 1.
  int number = 1;
  /// Language models that take their time are asked while the search does
  /// something else: their answers are pending meanwhile.
  bool asksMeanwhile = false;
};

/// "catalog, files:DIR, ...": what a user may write.
std::string proposerNames();
/// An error that names the known ones when `name` is none of them.
llvm::Error checkProposerName(llvm::StringRef name);
/// Makes the proposer that the user calls `name`.
llvm::Expected<std::unique_ptr<Proposer>>
createProposer(llvm::StringRef name, const ProposerOptions &options);

} // namespace fastk

#endif // FASTK_PROPOSE_REGISTRY_H
