//===- KernelRunner.h - Compiles a kernel and compares it -------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_UNITTESTS_PROPOSE_CATALOG_KERNELRUNNER_H
#define FASTK_UNITTESTS_PROPOSE_CATALOG_KERNELRUNNER_H

#include "fastk/Propose/Catalog/CKernel.h"
#include <string>

namespace fastk {
namespace test {

/// One pattern, one set of parameters.
struct KernelCase {
  /// MLIR text of a module with one function.
  std::string text;
  catalog::Parameters parameters;
  unsigned vectorBytes = 64;
  unsigned threads = 2;
  /// A stage that must be among those of the kernel; none if empty.
  std::string stage;
  /// Inputs are drawn from [-range, range].
  double range = 1;
  std::string name;
  /// Instead of `text`: the pattern itself, which outlives the check.
  mlir::Block *block = nullptr;
  /// Instead of a kernel that is emitted here.
  std::string program = {};
  int64_t workspaceBytes = 0;
  /// Why the catalog has no kernel for it; empty where it must have one.
  std::string notEmitted = {};
};

/// The families for the host that the build ships.
catalog::StageFamilies &shippedFamilies();

/// Emits, compiles with warnings as errors, runs and compares with the
/// interpreter. Cases are compiled two at a time.
void checkKernels(const std::vector<KernelCase> &cases);

} // namespace test
} // namespace fastk

#endif // FASTK_UNITTESTS_PROPOSE_CATALOG_KERNELRUNNER_H
