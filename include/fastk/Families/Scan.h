//===- Scan.h - Workloads of prefixes of rows -------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The core "scan": of all that a workload computes, one op combines prefixes,
//
//   prefix[r, c] = combine over c' <= c of e(r, c')
//
// by a sum, a product or an extremum, and everything else is pointwise: what
// makes an element, and what becomes of a prefix. A scan from the back, as
// between two reversals, is one whose columns are counted from the back.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_FAMILIES_SCAN_H
#define FASTK_FAMILIES_SCAN_H

#include "fastk/Families/Core.h"
#include "fastk/Families/PlacedLoad.h"
#include <optional>
#include <string>
#include <vector>

namespace fastk::families {

struct ScanCore {
  mlir::Value result;
  catalog::Elem resultElem = catalog::Elem::F32;
  /// What is scanned, what comes of it, and the type of its elements.
  mlir::Value scanned, prefix;
  catalog::Elem elem = catalog::Elem::F32;
  catalog::CombinerKind kind = catalog::CombinerKind::Add;
  /// Variables of each group in `program` of more than one value, outermost
  /// first. Columns are in the order of the scan.
  llvm::SmallVector<unsigned> rows, columns;
  int64_t rowCount = 1, columnCount = 1;
  /// Of the result's dimensions, and of those of what is scanned.
  llvm::SmallVector<catalog::Lin> index, loops;
  /// What is loaded to make an element, and for what becomes of a prefix.
  std::vector<PlacedLoad> loads, finishLoads;
  std::vector<catalog::MergedVars> merged;
  /// Has the variables, and the workload's operands as buffers in0, in1, ...
  catalog::Program program{1, 1};
};

/// The body of a workload, in canonical form, as a scan. Nothing: \p why says
/// what it is not.
std::optional<ScanCore> matchScan(mlir::Block &body, std::string &why);

/// The header, and what a plan calls OUT. docs/families.md has the list of the
/// header's macros and functions. Nothing: \p why says what has no text.
std::optional<CoreInstance> describeCore(const ScanCore &core,
                                         std::string &why);

} // namespace fastk::families

#endif // FASTK_FAMILIES_SCAN_H
