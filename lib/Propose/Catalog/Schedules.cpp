//===- Schedules.cpp - Transform-dialect realisations ---------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A schedule for a product of two matrices: threads share the rows, the rest is
// tiled to the register file, vectorised, and its accumulator hoisted out of
// the loop over k. Tiles must divide the loops: masked vectorisation of the
// last tile costs more than it gives, so other shapes have no schedule here.
//
//===----------------------------------------------------------------------===//

#include "Schedules.h"
#include "Kernel.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;

static int64_t largestDivisor(int64_t n, int64_t most) {
  for (int64_t d = std::min(n, most); d > 1; --d)
    if (n % d == 0)
      return d;
  return 1;
}

ScheduleProgram catalog::emitSchedule(Block &pattern, const Machine &machine,
                                      const Parameters &parameters) {
  ScheduleProgram schedule;
  // Exactly one op with reductions, and it is a plain product of matrices.
  linalg::LinalgOp found;
  unsigned reductions = 0;
  for (Operation &op : pattern)
    if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
      if (linalgOp.getNumReductionLoops()) {
        found = linalgOp;
        ++reductions;
      }
  if (reductions != 1 || !isa<linalg::GenericOp>(found.getOperation()))
    return schedule;
  auto c = matchContraction(found->getResult(0));
  if (!c || c->windowed || !c->batch.empty() || c->m.size() != 1 ||
      c->n.size() != 1 || c->k.size() != 1 || found->getNumResults() != 1 ||
      !isa<BlockArgument>(c->lhs) || !isa<BlockArgument>(c->rhs))
    return schedule;
  unsigned m = c->m[0], n = c->n[0], k = c->k[0];
  // The vectors run along the last dimension of the result.
  AffineMap out = c->reduction.op.getIndexingMapsArray().back();
  auto last = dyn_cast<AffineDimExpr>(out.getResults().back());
  if (!last)
    return schedule;
  if (last.getPosition() == m)
    std::swap(m, n);
  SmallVector<int64_t> ranges = c->reduction.op.getStaticLoopRanges();
  int64_t lanes = machine.vectorBytes / 4, threads = machine.threads;
  if (ranges[m] % threads || ranges[n] % lanes)
    return schedule;
  auto it = parameters.find("tile");
  bool tall = it != parameters.end() && it->second == 1;
  int64_t tm = largestDivisor(ranges[m] / threads, tall ? 8 : 4);
  int64_t tn = tall || ranges[n] % (2 * lanes) ? lanes : 2 * lanes;
  int64_t tk = largestDivisor(ranges[k], 8);
  if (tk < 2)
    return schedule;
  SmallVector<int64_t> share(3, 0), tile(3, 0);
  share[m] = threads;
  tile[m] = tm;
  tile[n] = tn;
  tile[k] = tk;
  std::string iterators;
  for (utils::IteratorType type : found.getIteratorTypesArray())
    iterators += std::string(iterators.empty() ? "" : ", ") +
                 "#linalg.iterator_type<" + stringifyIteratorType(type).str() +
                 ">";
  // The loop over k is the one whose position is k's.
  const char *text =
      R"(// Threads share the rows; tiles of {3} x {4} stay in registers over k.
module attributes {{transform.with_named_sequence} {{
  transform.named_sequence @__fastk_schedule(%func: !transform.any_op {{transform.readonly}) {{
    %product = transform.structured.match attributes {{iterator_types = [{0}]} in %func : (!transform.any_op) -> !transform.any_op
    %share, %forall = transform.structured.tile_using_forall %product num_threads [{1}] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %tile, %l0, %l1, %l2 = transform.structured.tile_using_for %share tile_sizes [{2}] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.structured.vectorize %tile : !transform.any_op
    transform.apply_patterns to %func {{
      transform.apply_patterns.vector.reduction_to_contract
      transform.apply_patterns.vector.transfer_permutation_patterns
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.loop.hoist_loop_invariant_subsets %l{5} : !transform.any_op
    transform.apply_patterns to %func {{
      transform.apply_patterns.vector.lower_contraction lowering_strategy = "outerproduct"
      transform.apply_patterns.vector.lower_outerproduct
      transform.apply_patterns.vector.lower_transpose lowering_strategy = "shuffle_1d"
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.yield
  }
}
)";
  auto list = [](ArrayRef<int64_t> values) {
    std::string joined;
    for (int64_t v : values)
      joined += (joined.empty() ? "" : ", ") + std::to_string(v);
    return joined;
  };
  schedule.text =
      llvm::formatv(text, iterators, list(share), list(tile), tm, tn, k).str();
  schedule.parameters = {{"tile", tall}, {"mr", tm}, {"nr", tn}, {"kr", tk}};
  return schedule;
}
