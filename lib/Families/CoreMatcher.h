//===- CoreMatcher.h - What all matchers begin with ----------- -*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_FAMILIES_COREMATCHER_H
#define FASTK_LIB_FAMILIES_COREMATCHER_H

#include "CoreOperands.h"
#include "IndexSpace.h"

namespace fastk::families {

/// Finds the parts of a core with one result, of a workload's body.
template <typename FoundCore>
class CoreMatcher {
public:
  CoreMatcher(mlir::Block &body, std::string &why) : body(body), why(why) {
    core.program.dialect = catalog::Program::Dialect::Cuda;
  }

protected:
  bool fail(const llvm::Twine &reason) {
    why = reason.str();
    return false;
  }
  /// Takes what resultOf() or floatResultOf() found, unless it is nothing or
  /// has no elements.
  bool takeResult(mlir::Value result) {
    core.result = result;
    if (!result)
      return false;
    auto type = llvm::cast<mlir::RankedTensorType>(result.getType());
    core.resultElem = *core.program.elemOf(type.getElementType());
    return type.getNumElements() != 0 || fail("its result has no elements");
  }
  /// Names operands, and gives the result's elements an index.
  bool placeOperands() {
    if (!nameOperands(body, core.program, why))
      return false;
    core.index = placeResult(core.result, core.program);
    return true;
  }

  mlir::Block &body;
  std::string &why;
  FoundCore core;
};

} // namespace fastk::families

#endif // FASTK_LIB_FAMILIES_COREMATCHER_H
