//===- Contraction.h - Workloads with one sum of products -------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The core "contraction": of all that a workload computes, one op sums
// products,
//
//   sum[b, m, n] = sum over k of A[b, m, k] * B[b, n, k],
//
// and everything else is elementwise: how an element of A or B is made, and
// what becomes of a sum. b, m, n and k are groups of loops, each walked as one
// index, its last loop fastest. It is found by indexing maps and iterator types
// alone: transposes, broadcasts, reshapes and the order of operands are maps.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_FAMILIES_CONTRACTION_H
#define FASTK_FAMILIES_CONTRACTION_H

#include "fastk/Families/Core.h"
#include "fastk/Families/SummedProducts.h"
#include <optional>
#include <string>

namespace fastk::families {

/// One factor of the products.
struct ContractionSide {
  /// In the body of the op: the value that is multiplied, before it is widened.
  mlir::Value factor;
  /// The type of its elements, as the workload computes them.
  catalog::Elem elem = catalog::Elem::F32;
  /// The elements are those of an operand of the workload, which can be
  /// addressed by one number for each group: `batch`, `outer` (of m or n) and
  /// `k` are its strides in elements, 0 where the operand does not move.
  bool isPlain = false;
  unsigned input = 0;
  int64_t offset = 0, batch = 0, outer = 0, k = 0;
  /// All batches have the same elements, whatever makes them.
  bool isShared = false;
};

/// Where a group's elements lie in the result: elements from one to the next.
/// Nothing where that is no one number.
using GroupStride = std::optional<int64_t>;

struct Contraction : SummedProducts {
  /// Variables of each group, outermost first; and the extents of the groups.
  llvm::SmallVector<unsigned> batch, m, n, k;
  int64_t batchSize = 1, mSize = 1, nSize = 1, kSize = 1;
  ContractionSide a, b;
  GroupStride resultBatch, resultM, resultN;
  /// Of the rows or columns that were cut into batches: how many each has.
  std::optional<int64_t> sizeOfSplit;
};

/// The body of a workload, in canonical form, as a contraction. Nothing: \p why
/// says what it is not.
std::optional<Contraction> matchContraction(mlir::Block &body,
                                            std::string &why);
/// The same; where no one stride says where the rows or columns of a factor or
/// of the result lie, the outermost of their loops are batches, for which the
/// other factor is the same: pixels of pictures that a product of one pixel
/// has.
std::optional<Contraction> matchBatchedContraction(mlir::Block &body,
                                                   std::string &why);

/// The header of a program for the contraction: macros and functions that say
/// everything about the workload, and nothing about a kernel. docs/families.md
/// has their list. Nothing: \p why says what has no text.
std::optional<std::string> writeHeader(const Contraction &contraction,
                                       std::string &why);
/// The header, and what a plan calls A, B and OUT.
std::optional<CoreInstance> describeCore(const Contraction &contraction,
                                         std::string &why);
/// The header of a C program for it, on one machine.
std::optional<CoreInstance> describeForHost(const Contraction &contraction,
                                            const catalog::Machine &machine,
                                            std::string &why);

} // namespace fastk::families

#endif // FASTK_FAMILIES_CONTRACTION_H
