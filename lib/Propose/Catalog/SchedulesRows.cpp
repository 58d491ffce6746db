//===- SchedulesRows.cpp - Schedules for rows and elementwise chains ------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows (softmax, norms): unit dimensions go, everything is fused into one
// parallel loop over rows, the reductions get an accumulator of a whole vector
// and the elementwise steps a vector loop. What a vector does not divide is
// split off first and left to the default lowering.
//
// Elementwise chains: one parallel loop over the outer dimensions, in it one
// loop over vectors that holds the whole chain, unrolled.
//
//===----------------------------------------------------------------------===//

#include "Schedules.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;

/// The op whose only result is all that the pattern returns, when it is
/// elementwise and has no dimension of one, which the schedules would lose.
static linalg::GenericOp findRoot(Block &pattern) {
  linalg::GenericOp root = findOnlyResult(pattern);
  if (!root || root.getNumReductionLoops())
    return {};
  auto type = cast<RankedTensorType>(root.getResult(0).getType());
  if (!type.hasStaticShape() ||
      llvm::any_of(type.getShape(), [](int64_t size) { return size < 2; }) ||
      !root.getIndexingMapsArray().back().isIdentity())
    return {};
  return root;
}

static int64_t lanesOf(linalg::GenericOp root, const Machine &machine) {
  Type element = getElementTypeOrSelf(root.getResult(0).getType());
  if (!element.isIntOrFloat() || element.getIntOrFloatBitWidth() < 8)
    return 0;
  // Half-precision values are computed as f32 on most machines.
  return machine.vectorBytes /
         std::max<int64_t>(4, element.getIntOrFloatBitWidth() / 8);
}

ScheduleProgram catalog::emitRowSchedule(Block &pattern, const Machine &machine,
                                         const Parameters &parameters) {
  ScheduleProgram schedule;
  linalg::GenericOp root = findRoot(pattern);
  auto ops = collectGenerics(pattern, /*reshapes=*/true);
  if (!root || !ops || root.getNumLoops() < 2)
    return schedule;
  unsigned rank = root.getNumLoops();
  SmallVector<int64_t> sizes = root.getStaticLoopRanges();
  int64_t length = sizes.back();
  bool any = false;
  for (linalg::GenericOp op : *ops) {
    if (!op.getNumReductionLoops())
      continue;
    any = true;
    // Rows outside, their elements innermost, the same for all.
    auto iterators = op.getIteratorTypesArray();
    if (op.getNumReductionLoops() != 1 || iterators.size() != rank ||
        iterators.back() != utils::IteratorType::reduction ||
        op.getStaticLoopRanges() != sizes || op.getNumResults() != 1)
      return schedule;
    // What makes a partial result out of a tile must be one known combination.
    SmallVector<Operation *> combiners;
    if (!matchReduction(op.getRegionOutputArgs(), 0, combiners) ||
        combiners.size() != 1)
      return schedule;
  }
  if (!any)
    return schedule;
  auto it = parameters.find("tile");
  int64_t choice = it == parameters.end() ? 0 : it->second;
  static constexpr int64_t kVectors[] = {2, 4, 2, 1}, kRows[] = {1, 1, 4, 1};
  int64_t width = lanesOf(root, machine) * kVectors[choice & 3];
  while (width > length)
    width /= 2;
  if (width < 4)
    return schedule;
  int64_t rows = largestDivisor(sizes[rank - 2], kRows[choice & 3]);
  int64_t whole = length / width * width;

  SmallVector<int64_t> outer(rank, 1), inner(rank, 0);
  outer[rank - 2] = rows;
  outer.back() = 0;
  inner.back() = width;
  SmallVector<utils::IteratorType> maps(rank, utils::IteratorType::parallel);
  SmallVector<utils::IteratorType> sums = maps;
  sums.back() = utils::IteratorType::reduction;
  // With a remainder, what follows is about the first of two parts.
  std::string split;
  if (whole != length)
    split = llvm::formatv(R"(
      %parts = transform.structured.split %op after {0} {{dimension = {1}} : !transform.any_op
      %head, %rest = transform.split_handle %parts : (!transform.any_op) -> (!transform.any_op, !transform.any_op))",
                          whole, rank - 1)
                .str();
  StringRef op = whole != length ? "%head" : "%op";
  const char *text =
      R"(// {0} rows at a time, {1} elements of each in a vector.
{2}    %sums = transform.structured.match ops{{["linalg.generic"]} attributes {{iterator_types = [{3}]} in %func : (!transform.any_op) -> !transform.any_op
    transform.foreach %sums : !transform.any_op {{
    ^bb0(%op: !transform.any_op):{5}
      %fill, %partial, %combine, %loop = transform.structured.tile_reduction_using_for {6} by tile_sizes = [{7}] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
      transform.structured.vectorize %fill : !transform.any_op
      transform.structured.vectorize %partial : !transform.any_op
      transform.structured.vectorize %combine : !transform.any_op
    }
    %maps = transform.structured.match ops{{["linalg.generic"]} attributes {{iterator_types = [{4}]} in %func : (!transform.any_op) -> !transform.any_op
    transform.foreach %maps : !transform.any_op {{
    ^bb0(%op: !transform.any_op):{5}
      %tile, %loop = transform.structured.tile_using_for {6} tile_sizes [{7}] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
      transform.structured.vectorize %tile : !transform.any_op
    }
    transform.apply_patterns to %func {{
      transform.apply_patterns.vector.transfer_permutation_patterns
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    %loops = transform.structured.match ops{{["scf.for"]} in %func : (!transform.any_op) -> !transform.any_op
    transform.foreach %loops : !transform.any_op {{
    ^bb0(%l: !transform.any_op):
      transform.apply_licm to %l : !transform.any_op
      transform.loop.hoist_loop_invariant_subsets %l : !transform.any_op
    }
    transform.yield
  }
}
)";
  schedule.text = llvm::formatv(text, rows, width, beginRowSchedule(outer),
                                spellIterators(sums), spellIterators(maps),
                                split, op, joinNumbers(inner))
                      .str();
  schedule.parameters = {{"tile", choice}, {"rows", rows}, {"width", width}};
  return schedule;
}

ScheduleProgram catalog::emitElementwiseSchedule(Block &pattern,
                                                 const Machine &machine,
                                                 const Parameters &parameters) {
  ScheduleProgram schedule;
  linalg::GenericOp root = findRoot(pattern);
  auto ops = collectGenerics(pattern, /*reshapes=*/true);
  if (!root || !ops)
    return schedule;
  for (linalg::GenericOp op : *ops)
    if (op.getNumReductionLoops())
      return schedule;
  auto it = parameters.find("tile");
  int64_t choice = it == parameters.end() ? 0 : it->second;
  static constexpr int64_t kVectors[] = {1, 2, 1, 4}, kUnroll[] = {4, 2, 1, 1};
  unsigned rank = root.getNumLoops();
  SmallVector<int64_t> sizes = root.getStaticLoopRanges();
  int64_t lanes = lanesOf(root, machine);
  if (lanes == 0)
    return schedule;
  int64_t width = largestDivisor(sizes.back(), lanes * kVectors[choice & 3]);
  if (width < 4)
    return schedule;
  // A trip of the parallel loop: one row, or a piece of the only one.
  SmallVector<int64_t> outer(rank, 1);
  outer.back() = rank > 1 ? 0 : width * largestDivisor(sizes[0] / width, 512);
  int64_t trips = (rank > 1 ? sizes.back() : outer.back()) / width;
  int64_t factor = largestDivisor(trips, kUnroll[choice & 3]);
  // Tiles of one leave no loop.
  SmallVector<int64_t> last(rank, 0);
  last.back() = width;
  std::string unroll;
  if (factor > 1)
    unroll =
        llvm::formatv("\n    transform.loop.unroll %vectors {{factor = {0}} : "
                      "!transform.any_op",
                      factor)
            .str();
  const char *text =
      R"(// The whole chain on a vector of {0}, {1} vectors a step.
module attributes {{transform.with_named_sequence} {{
  transform.named_sequence @__fastk_schedule(%func: !transform.any_op {{transform.readonly}) {{
    %return = transform.structured.match ops{{["func.return"]} in %func : (!transform.any_op) -> !transform.any_op
    %root = transform.get_producer_of_operand %return[0] : (!transform.any_op) -> !transform.any_op
    %row, %rows = transform.structured.fuse %root tile_sizes [{2}] {{apply_cleanup, use_forall} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %step, %vectors = transform.structured.fuse %row tile_sizes [{3}] {{apply_cleanup} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %steps = transform.structured.match ops{{["linalg.generic"]} in %vectors : (!transform.any_op) -> !transform.any_op
    transform.foreach %steps : !transform.any_op {{
    ^bb0(%op: !transform.any_op):
      transform.structured.vectorize %op : !transform.any_op
    }{4}
    transform.apply_patterns to %func {{
      transform.apply_patterns.vector.transfer_permutation_patterns
      transform.apply_patterns.tensor.fold_tensor_subset_ops_into_vector_transfers
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_cse to %func : !transform.any_op
    transform.yield
  }
}
)";
  schedule.text = llvm::formatv(text, width, factor, joinNumbers(outer),
                                joinNumbers(last), unroll)
                      .str();
  schedule.parameters = {
      {"tile", choice}, {"width", width}, {"unroll", factor}};
  return schedule;
}
