//===- CanonicalForm.h - The canonical form of a workload -------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Workloads that compute the same thing in the same way have one canonical
// form, whatever their names, operand order and spelling. Its SHA-256 is the
// key. docs/key.md says what the form is and what it does not see.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_ANALYSIS_CANONICALFORM_H
#define FASTK_ANALYSIS_CANONICALFORM_H

#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <string>

namespace fastk {

/// The canonical form of one workload, on its own in a module.
struct CanonicalForm {
  /// Holds exactly one `fastk.lowering` of language `default` with an empty
  /// target: its pattern is the canonical body. It has no locations and no
  /// discardable attributes.
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// Argument i of the pattern is operand `inputOrder[i]` of the workload.
  /// Operands that are not used have no entry; of operands that are the same
  /// SSA value, the first one stands for all.
  llvm::SmallVector<unsigned> inputOrder;
  /// Value i that the pattern yields is result `outputOrder[i]` of the
  /// workload. A permutation: no result is dropped or merged.
  llvm::SmallVector<unsigned> outputOrder;
  /// SHA-256 of the pattern, 64 lower-case hex digits.
  std::string key;

  LoweringOp getLowering() { return *module->getOps<LoweringOp>().begin(); }
  mlir::Region &getPattern() { return getLowering().getPattern(); }
};

/// Computes the canonical form on a copy; the workload is not changed. Fails,
/// with a diagnostic at the op, when the body holds an op with side effects, an
/// unregistered op, a region of several blocks or a constant whose bytes are
/// not present.
///
/// Uses the affine, arith, linalg, math and tensor dialects: a pass that calls
/// this lists them as dependent (see registerCanonicalFormDialects).
mlir::FailureOr<CanonicalForm> computeCanonicalForm(WorkloadOp workload);

/// Adds the dialects that canonical forms are made of.
void registerCanonicalFormDialects(mlir::DialectRegistry &registry);

/// True when the regions are the same op by op, up to locations and
/// discardable attributes. This, never the key alone, confirms a match.
bool isSamePattern(mlir::Region &a, mlir::Region &b);

/// Creates at the builder's insertion point the `fastk.lowering` of language
/// `default` for this form and target.
mlir::FailureOr<LoweringOp> buildDefaultLowering(mlir::OpBuilder &builder,
                                                 CanonicalForm &form,
                                                 llvm::StringRef target);

/// Creates at the builder's insertion point a public `func.func` of the given
/// name with the lowering's pattern as its body: arguments and results in
/// canonical order.
mlir::func::FuncOp buildKernelFunc(mlir::OpBuilder &builder,
                                   LoweringOp lowering, llvm::StringRef name);

} // namespace fastk

#endif // FASTK_ANALYSIS_CANONICALFORM_H
