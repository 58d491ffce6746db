//===- WorkloadFixture.h - Workloads for tests ------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_UNITTESTS_ANALYSIS_WORKLOADFIXTURE_H
#define FASTK_UNITTESTS_ANALYSIS_WORKLOADFIXTURE_H

#include "fastk/Analysis/CanonicalForm.h"
#include <string>
#include <vector>

namespace fastk::test {

using Module = mlir::OwningOpRef<mlir::ModuleOp>;

/// A context in which everything that a workload may hold is loaded.
mlir::MLIRContext &context();

/// Paths of the golden inputs of small size, sorted; without those whose bounds
/// checks keep them from being one workload.
std::vector<std::string> smallGoldenInputs();

/// Parses a module whose only function has no workload yet, and puts the whole
/// body of the function into one.
Module wrapIntoWorkload(llvm::StringRef text);
Module wrapFileIntoWorkload(llvm::StringRef path);

/// The workloads that greedy formation makes of a file, each in a module of its
/// own.
std::vector<Module> formWorkloads(llvm::StringRef path);

/// Parses a module; null, without a word, when it is not valid.
Module parseQuietly(llvm::StringRef text);

/// The first workload of the module.
WorkloadOp getWorkload(mlir::ModuleOp module);

/// Key of the module's workload, or "" when it has none.
std::string keyOf(mlir::ModuleOp module);

/// A module with one workload whose body is the canonical form.
Module canonicalModule(CanonicalForm &form);

std::string print(mlir::Operation *op);

} // namespace fastk::test

#endif // FASTK_UNITTESTS_ANALYSIS_WORKLOADFIXTURE_H
