//===- CKernel.h - C kernels from canonical patterns ------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the catalog's ideas are realised with: C from the body of a workload,
// for any shapes and any prologue or epilogue that the emitter can express,
// tuned by numeric parameters (docs/catalog.md lists them).
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_PROPOSE_CATALOG_CKERNEL_H
#define FASTK_PROPOSE_CATALOG_CKERNEL_H

#include "fastk/Families/Machine.h"
#include "fastk/Propose/Catalog/StageFamilies.h"
#include "mlir/IR/Block.h"
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace fastk {
namespace catalog {

using Parameters = std::map<std::string, int64_t>;

struct CKernel {
  /// One file that defines fastk_kernel; empty when the pattern has something
  /// the emitter cannot express, and then `failure` says what.
  std::string source;
  int64_t workspaceBytes = 0;
  /// The parameters that had an effect, with the values that were taken. "MR_2"
  /// is a number of the program of the second stage that a family writes.
  Parameters parameters;
  /// Of numbers of families' programs: all values that they may have,
  /// ascending.
  std::map<std::string, std::vector<int64_t>> values;
  /// What each stage is, in order: "contraction", "convolution", "reduction",
  /// "pointwise", "window", "attention".
  std::vector<std::string> stages;
  /// Of sums of products that other stages compute because no family writes
  /// them, what each family said.
  std::vector<std::string> refusals;
  std::string failure;
};

/// What emitCKernel() says of a product where it is given no families.
inline constexpr llvm::StringLiteral kNoFamilies =
    "the catalog's stages are families for the host, and there are none: "
    "install the folder families/host beside fastk's programs";

/// Emits a kernel for the body of a workload (named linalg ops or generics,
/// terminated by the values it returns). Parameters that are absent take
/// defaults derived from the machine; those out of range are clamped. Of
/// numbers of families the nearest that their rules allow are taken; one
/// without a stage ("MR") is of all. Products, convolutions and reductions of
/// rows are written by that of `families` which expects to be fastest.
CKernel emitCKernel(mlir::Block &pattern, const Machine &machine,
                    const Parameters &parameters, StageFamilies &families);

} // namespace catalog
} // namespace fastk

#endif // FASTK_PROPOSE_CATALOG_CKERNEL_H
