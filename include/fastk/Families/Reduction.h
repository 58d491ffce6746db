//===- Reduction.h - Workloads that reduce rows -----------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The core "reduction": everything that a workload reduces, it reduces over the
// same loops, its columns c; the others are its rows r,
//
//   s0[r] = combine over c of e0(r, c),   s1[r] = combine over c of e1(r, c,
//   s0)
//
// and so on, and its result is a function of r, c and these, or of r and these.
// Softmax, norms, sums, means and their like, with what is computed before,
// between and after. Rows and columns are groups of loops, each walked as one
// index, its last loop fastest; columns may lie anywhere in memory.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_FAMILIES_REDUCTION_H
#define FASTK_FAMILIES_REDUCTION_H

#include "fastk/Families/Core.h"
#include "fastk/Families/Emitter.h"
#include <optional>
#include <string>
#include <vector>

namespace fastk::families {

/// One value of a row.
struct RowStatistic {
  catalog::Reduction reduction;
  catalog::Elem elem = catalog::Elem::F32;
  /// Of the op's loops, in variables.
  llvm::SmallVector<catalog::Lin> loops;
  /// It needs statistics of lower stages only.
  unsigned stage = 0;
};

struct ReductionCore {
  mlir::Value result;
  catalog::Elem resultElem = catalog::Elem::F32;
  /// Variables of each group in `program`, outermost first, and the extents of
  /// the groups.
  llvm::SmallVector<unsigned> rows, columns;
  int64_t rowCount = 1, columnCount = 1;
  /// By stage.
  std::vector<RowStatistic> statistics;
  unsigned stages = 0;
  /// The result has an element for each row, and not for each column.
  bool isPerRow = false;
  /// Of the result's dimensions.
  llvm::SmallVector<catalog::Lin> index;
  /// What is loaded for an element of a row, by operand and place, each once.
  struct Load {
    catalog::Buffer buffer;
    catalog::Lin place;
    bool hasRow = false, hasColumn = false;
    /// Each row and column has an element of its own.
    bool isFull = false;
  };
  std::vector<Load> loads;
  /// Groups of variables that are one: all that is loaded and stored moves with
  /// them as with one index.
  std::vector<catalog::MergedVars> merged;
  /// Has the variables, and the workload's operands as buffers in0, in1, ...
  catalog::Program program{1, 1};
};

/// The body of a workload, in canonical form, as reductions of rows. Nothing:
/// \p why says what it is not.
std::optional<ReductionCore> matchReductions(mlir::Block &body,
                                             std::string &why);
/// The same, also with a result of integers or truth values, as headers in C
/// have it.
std::optional<ReductionCore> matchHostReductions(mlir::Block &body,
                                                 std::string &why);

/// The header, and what a plan calls OUT. docs/families.md has the list of the
/// header's macros and functions. Nothing: \p why says what has no text.
std::optional<CoreInstance> describeCore(const ReductionCore &core,
                                         std::string &why);
/// The same in C, for a machine.
std::optional<CoreInstance> describeForHost(const ReductionCore &core,
                                            const catalog::Machine &machine,
                                            std::string &why);

} // namespace fastk::families

#endif // FASTK_FAMILIES_REDUCTION_H
