//===- Scaffold.h - Where a kernel author begins ----------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program for one workload that is right, short and slow, and a folder around
// it that the proposer files:DIR takes. docs/kernel-authors.md is for those who
// work in it.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_PROPOSE_SCAFFOLD_H
#define FASTK_PROPOSE_SCAFFOLD_H

#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "llvm/Support/Error.h"
#include <map>
#include <string>
#include <vector>

namespace fastk::scaffold {

/// What a program is written in.
enum class Spelling { C, Cuda };

/// Threads of a block in a plain program for a GPU.
inline constexpr int64_t kBlockThreads = 256;

/// One loop over the elements of a tensor; on a GPU one launch.
struct PlainStep {
  std::string name;
  /// "the sum over 157 elements": for people.
  std::string what;
  /// Threads that have something to do.
  int64_t points = 1;
  /// in0, ws0, out0, ... in the order of parameters.
  std::vector<std::string> buffers;
};

/// A program that computes a workload op by op: a thread for each element of a
/// result, with loops where it is reduced.
struct PlainProgram {
  std::string program;
  std::vector<PlainStep> steps;
  /// Bytes of ws0, ws1, ... on a GPU; their sum with paddings on the host.
  std::vector<int64_t> workspaces;
  int64_t workspaceBytes = 0;
};

/// The plain program of \p workload. An error names the op that none can be
/// written for.
llvm::Expected<PlainProgram> writePlainProgram(LoweringOp workload,
                                               Spelling spelling);

/// What is written into a folder.
struct ScaffoldRequest {
  LoweringOp workload;
  /// "softmax".
  std::string name;
  /// "host" or "cuda:sm_90a".
  std::string target;
  /// "ieee".
  std::string precision;
  /// The folder as the user named it, for the commands of its README.
  std::string folder;
  /// What programs for a GPU have without an include.
  std::string prelude;
};

/// The files of a scaffold: texts by paths within the folder. Where no plain
/// program can be written, there is none, and the README says why.
llvm::Expected<std::map<std::string, std::string>>
writeScaffold(const ScaffoldRequest &request);

} // namespace fastk::scaffold

#endif // FASTK_PROPOSE_SCAFFOLD_H
