//===- SummedProducts.h - Workloads that sum products once ------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What contractions and convolutions have in common: of all that a workload
// computes, one op sums products, and everything else is elementwise.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_FAMILIES_SUMMEDPRODUCTS_H
#define FASTK_FAMILIES_SUMMEDPRODUCTS_H

#include "fastk/Families/Emitter.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallBitVector.h"
#include <optional>
#include <string>

namespace fastk::families {

struct SummedProducts {
  /// The op that sums, and the value of the workload that is computed of it.
  mlir::linalg::GenericOp op;
  mlir::Value result;
  catalog::Elem resultElem = catalog::Elem::F32;
  /// In the body of the op: what is multiplied, before it is widened.
  mlir::Value lhs, rhs;
  /// The types of their elements, as the workload computes them. `isWidened`:
  /// before tensors that widen them, exactly, where both are of one narrow
  /// type.
  catalog::Elem lhsElem = catalog::Elem::F32, rhsElem = catalog::Elem::F32;
  bool isWidened = false;
  /// Variables before this one are coordinates of the result, outermost first;
  /// those of `summed` are summed over.
  unsigned resultVars = 0;
  llvm::SmallVector<unsigned> summed;
  /// Of the op's loops, in variables.
  llvm::SmallVector<catalog::Lin> loops;
  /// Of the result's dimensions.
  llvm::SmallVector<catalog::Lin> index;
  /// Has the variables, and the workload's operands as buffers in0, in1, ...
  catalog::Program program{1, 1};

  int64_t sizeOf(llvm::ArrayRef<unsigned> group) const {
    int64_t size = 1;
    for (unsigned var : group)
      size *= program.vars[var].extent;
    return size;
  }
  catalog::Elem elemOf(mlir::Value factor) const {
    return factor == lhs ? lhsElem : rhsElem;
  }
};

/// Finds them in the body of a workload, in canonical form. False: \p why says
/// what it is not.
bool matchSummedProducts(mlir::Block &body, SummedProducts &found,
                         std::string &why);

/// Variables that a factor moves with. Nothing: \p why says what is wrong.
std::optional<llvm::SmallBitVector>
varsOf(const SummedProducts &products, mlir::Value factor, std::string &why);

/// Where the elements of a tensor lie that are those of an operand, moved at
/// most: which operand, and the element's number.
struct OperandPlace {
  unsigned input = 0;
  catalog::Lin linear;
};
/// Of the one element that `compute` loads of what `tensor` is moved from, and
/// widened where \p isWidened. Nothing: it is computed.
std::optional<OperandPlace>
placeOf(const catalog::Program &program, mlir::Value tensor,
        llvm::function_ref<void(catalog::Scope &)> compute, bool isWidened);
/// The same of a factor, which is an operand of the op that sums.
std::optional<OperandPlace> placeOf(const SummedProducts &products,
                                    mlir::Value factor);

/// How far one step of a group, walked as one index, moves by `linear`; nothing
/// where that differs from step to step.
std::optional<int64_t> strideOf(const catalog::Program &program,
                                llvm::ArrayRef<unsigned> group,
                                const catalog::Lin &linear);

/// A sum, "acc", and what it starts at, at its loops. \p isVector: "acc" has
/// sums in its lanes.
catalog::CValue sumWithStart(const SummedProducts &products,
                             catalog::Scope &scope, bool isVector = false);

} // namespace fastk::families

#endif // FASTK_FAMILIES_SUMMEDPRODUCTS_H
