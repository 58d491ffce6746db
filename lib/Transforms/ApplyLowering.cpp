//===- ApplyLowering.cpp - A lowering in a workload's place ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ApplyLowering.h"
#include "ReplaceWorkload.h"

using namespace mlir;
using namespace fastk;

remark::RemarkOpts fastk::remarkOpts(WorkloadOp workload, StringRef name) {
  StringRef function = "<unknown function>";
  if (auto func = workload->getParentOfType<FunctionOpInterface>())
    function = func.getName();
  return remark::RemarkOpts::name(name).category("fastk").function(function);
}

/// Puts the lowering into the module, in the place of what the module brought
/// along under the same symbol: the bank decides what a key stands for.
static FailureOr<LoweringOp>
importLowering(WorkloadOp workload, SymbolTable &symbols, LoweringOp winner) {
  if (Operation *present = symbols.lookup(winner.getSymName())) {
    auto lowering = dyn_cast<LoweringOp>(present);
    if (!lowering) {
      InFlightDiagnostic diag =
          workload.emitOpError()
          << "needs the symbol '@" << winner.getSymName()
          << "', which names something else in this module: rename that "
             "(required by 'fastk-apply-winners')";
      diag.attachNote(present->getLoc()) << "symbol defined here";
      return diag;
    }
    if (lowering->getAttrDictionary() == winner->getAttrDictionary() &&
        isSamePattern(lowering.getPattern(), winner.getPattern()))
      return lowering;
    symbols.erase(lowering);
  }
  auto clone = cast<LoweringOp>(winner->clone());
  symbols.insert(clone);
  return clone;
}

LogicalResult fastk::applyLowering(WorkloadOp workload,
                                   const CanonicalForm &form,
                                   LoweringOp lowering, SymbolTable &symbols,
                                   WorkloadMatcher &matcher) {
  FailureOr<LoweringOp> imported = importLowering(workload, symbols, lowering);
  if (failed(imported))
    return failure();
  replaceByCall(workload, form, *imported);
  matcher.forget(workload);
  return success();
}
