//===- CutWorkload.h - A workload in parts ----------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_DRIVER_CUTWORKLOAD_H
#define FASTK_LIB_DRIVER_CUTWORKLOAD_H

#include "fastk/Transforms/PassChoices.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace fastk {

/// A workload in two parts or more.
struct CutWorkload {
  /// All parts, and nothing else of the model; null where it cannot be cut.
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// Those of them that are the heaviest op of the workload: several where it
  /// has several that are as heavy.
  llvm::SmallVector<WorkloadOp> heaviest;
};

/// Cuts a copy of `workload`: its heaviest op, that with the largest iteration
/// space among its reductions, is a workload of its own, and what is left of it
/// is formed as `fusion` says. A convolution before a pooling keeps what is
/// elementwise around it. A workload that is one op already cannot be cut.
CutWorkload cutWorkload(WorkloadOp workload, Fusion fusion);

} // namespace fastk

#endif // FASTK_LIB_DRIVER_CUTWORKLOAD_H
