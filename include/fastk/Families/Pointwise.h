//===- Pointwise.h - Workloads without reductions ---------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The core "pointwise": an element of the result is a function of elements of
// the operands, each at a place that is linear in the result's index and in
// indices that are computed of other elements, with nothing reduced.
// Elementwise work with transposes, broadcasts, slices, reversals, pads,
// concatenations and gathers. The index space is merged into as few dimensions
// as all that is loaded allows.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_FAMILIES_POINTWISE_H
#define FASTK_FAMILIES_POINTWISE_H

#include "fastk/Families/Core.h"
#include "fastk/Families/PlacedLoad.h"
#include <optional>
#include <string>
#include <vector>

namespace fastk::families {

struct PointwiseCore {
  mlir::Value result;
  catalog::Elem resultElem = catalog::Elem::F32;
  int64_t elements = 1;
  /// Variables in `program` of more than one value, outermost first: the
  /// result's elements lie in their order.
  llvm::SmallVector<unsigned> vars;
  /// Of the result's dimensions.
  llvm::SmallVector<catalog::Lin> index;
  /// How neighbours of the result lie in an operand.
  enum class Access {
    Broadcast,  ///< Several elements of the result share one.
    Contiguous, ///< As in the result, or in reverse.
    Transposed, ///< Together along `crossVar`.
    Apart,      ///< In no such way.
    Gathered    ///< Where a computed index says.
  };
  /// What is loaded for an element, each once and behind what its place is
  /// computed of, and how it lies.
  std::vector<PlacedLoad> loads;
  std::vector<Access> accesses;
  /// Each behind those that it is computed of.
  std::vector<GatheredIndex> gathered;
  /// The variable along which transposed operands lie together.
  std::optional<unsigned> crossVar;
  std::vector<catalog::MergedVars> merged;
  /// Has the variables, and the workload's operands as buffers in0, in1, ...
  catalog::Program program{1, 1};
};

/// The body of a workload, in canonical form, as pointwise. Nothing: \p why
/// says what it is not.
std::optional<PointwiseCore> matchPointwise(mlir::Block &body,
                                            std::string &why);

/// The header, and what a plan calls OUT. docs/families.md has the list of the
/// header's macros and functions. Nothing: \p why says what has no text.
std::optional<CoreInstance> describeCore(const PointwiseCore &core,
                                         std::string &why);
/// The same in C, for programs of a machine.
std::optional<CoreInstance> describeForHost(const PointwiseCore &core,
                                            const catalog::Machine &machine,
                                            std::string &why);

} // namespace fastk::families

#endif // FASTK_FAMILIES_POINTWISE_H
