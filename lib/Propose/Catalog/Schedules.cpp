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

int64_t catalog::largestDivisor(int64_t n, int64_t most) {
  for (int64_t d = std::min(n, most); d > 1; --d)
    if (n % d == 0)
      return d;
  return 1;
}

std::string catalog::joinNumbers(ArrayRef<int64_t> values) {
  std::string joined;
  for (int64_t v : values)
    joined += (joined.empty() ? "" : ", ") + std::to_string(v);
  return joined;
}

std::string catalog::spellIterators(ArrayRef<utils::IteratorType> types) {
  std::string text;
  for (utils::IteratorType type : types)
    text += std::string(text.empty() ? "" : ", ") + "#linalg.iterator_type<" +
            stringifyIteratorType(type).str() + ">";
  return text;
}

linalg::GenericOp catalog::findOnlyResult(Block &pattern) {
  Operation *end = pattern.getTerminator();
  if (end->getNumOperands() != 1)
    return {};
  auto root = end->getOperand(0).getDefiningOp<linalg::GenericOp>();
  if (!root || root.getNumResults() != 1 || root.getNumLoops() == 0)
    return {};
  return root;
}

std::optional<SmallVector<linalg::GenericOp>>
catalog::collectGenerics(Block &pattern, bool reshapes) {
  SmallVector<linalg::GenericOp> ops;
  for (Operation &op : pattern.without_terminator()) {
    if (auto generic = dyn_cast<linalg::GenericOp>(op))
      ops.push_back(generic);
    else if (!isa<tensor::EmptyOp>(op) &&
             !op.hasTrait<OpTrait::ConstantLike>() &&
             !(reshapes &&
               isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op)))
      return std::nullopt;
  }
  return ops;
}

std::string catalog::beginRowSchedule(ArrayRef<int64_t> tiles) {
  const char *text =
      R"(module attributes {{transform.with_named_sequence} {{
  transform.named_sequence @__fastk_schedule(%func: !transform.any_op {{transform.readonly}) {{
    transform.apply_patterns to %func {{
      transform.apply_patterns.linalg.fold_unit_extent_dims_via_reshapes
      transform.apply_patterns.tensor.reassociative_reshape_folding
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_cse to %func : !transform.any_op
    %return = transform.structured.match ops{{["func.return"]} in %func : (!transform.any_op) -> !transform.any_op
    %root = transform.get_producer_of_operand %return[0] : (!transform.any_op) -> !transform.any_op
    %row, %rows = transform.structured.fuse %root tile_sizes [{0}] {{apply_cleanup, use_forall} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.apply_patterns to %func {{
      transform.apply_patterns.linalg.tiling_canonicalization
      transform.apply_patterns.tensor.fold_tensor_empty
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_cse to %func : !transform.any_op
)";
  return llvm::formatv(text, joinNumbers(tiles)).str();
}

Variant catalog::variantOf(ScheduleProgram schedule, StringRef ideaId) {
  Variant variant;
  variant.ideaId = ideaId.str();
  variant.language = Language::schedule;
  variant.program = std::move(schedule.text);
  variant.parameters.insert(schedule.parameters.begin(),
                            schedule.parameters.end());
  return variant;
}

ScheduleProgram catalog::emitSchedule(Block &pattern, const Machine &machine,
                                      const Parameters &parameters) {
  for (auto emit : {emitProductSchedule, emitConvolutionSchedule,
                    emitRowSchedule, emitElementwiseSchedule}) {
    ScheduleProgram schedule = emit(pattern, machine, parameters);
    if (!schedule.text.empty())
      return schedule;
  }
  return {};
}

/// True for an operand of the workload, or one that is widened as it is read.
static bool isRead(Value value) {
  if (auto widen = value.getDefiningOp<arith::ExtFOp>())
    value = widen.getIn();
  return isa<BlockArgument>(value);
}

ScheduleProgram catalog::emitProductSchedule(Block &pattern,
                                             const Machine &machine,
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
      !isRead(c->lhs) || !isRead(c->rhs))
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
  if (ranges[m] % threads)
    return schedule;
  auto it = parameters.find("tile");
  int64_t choice = it == parameters.end() ? 0 : it->second;
  static constexpr int64_t kRows[] = {4, 8, 6, 8}, kVectors[] = {2, 1, 2, 2};
  int64_t tm = largestDivisor(ranges[m] / threads, kRows[choice & 3]);
  // Whole vectors where they divide the columns, else what does.
  int64_t wide = lanes * kVectors[choice & 3];
  int64_t tn = ranges[n] % wide == 0    ? wide
               : ranges[n] % lanes == 0 ? lanes
                                        : largestDivisor(ranges[n], wide);
  if (tn < 4)
    return schedule;
  int64_t tk = largestDivisor(ranges[k], 8);
  if (tk < 2)
    return schedule;
  SmallVector<int64_t> share(3, 0), tile(3, 0);
  share[m] = threads;
  tile[m] = tm;
  tile[n] = tn;
  tile[k] = tk;
  std::string iterators = spellIterators(found.getIteratorTypesArray());
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
  schedule.text = llvm::formatv(text, iterators, joinNumbers(share),
                                joinNumbers(tile), tm, tn, k)
                      .str();
  schedule.parameters = {{"tile", choice}, {"mr", tm}, {"nr", tn}, {"kr", tk}};
  return schedule;
}
