//===- WriteScaffold.h - A folder for a kernel author -----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_DRIVER_WRITESCAFFOLD_H
#define FASTK_DRIVER_WRITESCAFFOLD_H

#include "fastk/Transforms/WorkloadMatcher.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include <string>

namespace fastk {

/// Which workload a scaffold is for, and where it goes.
struct ScaffoldOptions {
  /// A workload's key, the beginning of one, or its name.
  std::string workload;
  /// Is made: an error where it is there and not empty. Without a '/' behind
  /// it.
  std::string folder;
};

/// An error where a scaffold could not be written to \p folder.
llvm::Error checkScaffoldFolder(llvm::StringRef folder);

/// Writes the scaffold for a workload of \p formed, all of it or nothing.
/// Returns what is to be said. An error lists the model's workloads where none
/// or several are meant.
llvm::Expected<std::string> writeScaffoldFolder(mlir::ModuleOp formed,
                                                WorkloadMatcher &matcher,
                                                const ScaffoldOptions &options);

} // namespace fastk

#endif // FASTK_DRIVER_WRITESCAFFOLD_H
