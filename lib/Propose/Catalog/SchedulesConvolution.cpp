//===- SchedulesConvolution.cpp - Schedules for direct convolutions -------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Threads share images, groups of output channels and rows of the result. A
// tile of channels x columns stays in registers over the window and the input
// channels, which go one at a time: with more, the lowering turns the
// accumulator in every step. Only for a stride of one along the columns:
// another reads no vectors.
//
//===----------------------------------------------------------------------===//

#include "Schedules.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;

ScheduleProgram catalog::emitConvolutionSchedule(Block &pattern,
                                                 const Machine &machine,
                                                 const Parameters &parameters) {
  ScheduleProgram schedule;
  linalg::GenericOp conv;
  for (auto op : pattern.getOps<linalg::GenericOp>())
    if (op.getNumLoops() == 7 && op.getNumReductionLoops() == 3) {
      if (conv)
        return schedule;
      conv = op;
    }
  if (!conv || conv.getNumResults() != 1 || conv.getNumDpsInputs() != 2)
    return schedule;
  // Loops n, f, h, w, c, p, q: x[n, c, h + p, w + q] * k[f, c, p, q] into
  // y[n, f, h, w]; the rows may have any stride and the window any dilation.
  MLIRContext *context = conv.getContext();
  auto dim = [&](unsigned i) { return getAffineDimExpr(i, context); };
  auto maps = conv.getIndexingMapsArray();
  if (maps[2] !=
          AffineMap::get(7, 0, {dim(0), dim(1), dim(2), dim(3)}, context) ||
      maps[1] !=
          AffineMap::get(7, 0, {dim(1), dim(4), dim(5), dim(6)}, context) ||
      maps[0].getNumResults() != 4 || maps[0].getResult(0) != dim(0) ||
      maps[0].getResult(1) != dim(4))
    return schedule;
  // The columns must come with a factor of one.
  auto column = dyn_cast<AffineBinaryOpExpr>(maps[0].getResult(3));
  if (!column || column.getKind() != AffineExprKind::Add ||
      (column.getLHS() != dim(3) && column.getRHS() != dim(3)))
    return schedule;
  auto fill =
      conv.getDpsInitOperand(0)->get().getDefiningOp<linalg::GenericOp>();
  if (!fill || fill.getNumReductionLoops())
    return schedule;
  SmallVector<int64_t> sizes = conv.getStaticLoopRanges();
  auto it = parameters.find("tile");
  int64_t choice = it == parameters.end() ? 0 : it->second;
  int64_t lanes = machine.vectorBytes / 4;
  static constexpr int64_t kChannels[] = {8, 4, 16, 8};
  int64_t channels = largestDivisor(sizes[1], kChannels[choice & 3]);
  int64_t columns =
      largestDivisor(sizes[3], (choice & 3) == 3 ? 2 * lanes : lanes);
  if (columns < 4)
    return schedule;
  SmallVector<utils::IteratorType> iterators(7, utils::IteratorType::parallel);
  std::fill(iterators.begin() + 4, iterators.end(),
            utils::IteratorType::reduction);
  // A tile that is the whole loop leaves none.
  std::string tile = llvm::formatv("0, 0, 0, {0}, 1, 1, 1", columns).str();
  const char *text =
      R"(// {0} channels x {1} columns stay in registers over window and depth.
module attributes {{transform.with_named_sequence} {{
  transform.named_sequence @__fastk_schedule(%func: !transform.any_op {{transform.readonly}) {{
    %conv = transform.structured.match ops{{["linalg.generic"]} attributes {{iterator_types = [{2}]} in %func : (!transform.any_op) -> !transform.any_op
    %init = transform.get_producer_of_operand %conv[2] : (!transform.any_op) -> !transform.any_op
    %share, %forall = transform.structured.tile_using_forall %conv tile_sizes [1, {0}, 1] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %fused, %shared = transform.structured.fuse_into_containing_op %init into %forall : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %tile, %w, %c, %p, %q = transform.structured.tile_using_for %share tile_sizes [{3}] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.apply_patterns to %shared {{
      transform.apply_patterns.linalg.fold_unit_extent_dims_via_slices
      transform.apply_patterns.linalg.tiling_canonicalization
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_cse to %func : !transform.any_op
    %region = transform.structured.match ops{{["scf.forall"]} in %func : (!transform.any_op) -> !transform.any_op
    %inner = transform.structured.match ops{{["linalg.generic"]} in %region : (!transform.any_op) -> !transform.any_op
    transform.foreach %inner : !transform.any_op {{
    ^bb0(%op: !transform.any_op):
      transform.structured.vectorize %op : !transform.any_op
    }
    %loops = transform.structured.match ops{{["scf.for"]} in %region : (!transform.any_op) -> !transform.any_op
    transform.foreach %loops : !transform.any_op {{
    ^bb0(%l: !transform.any_op):
      transform.apply_licm to %l : !transform.any_op
      transform.loop.hoist_loop_invariant_subsets %l : !transform.any_op
    }
    transform.apply_patterns to %func {{
      transform.apply_patterns.vector.transfer_permutation_patterns
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.yield
  }
}
)";
  schedule.text =
      llvm::formatv(text, channels, columns, spellIterators(iterators), tile)
          .str();
  schedule.parameters = {
      {"tile", choice}, {"channels", channels}, {"columns", columns}};
  return schedule;
}
