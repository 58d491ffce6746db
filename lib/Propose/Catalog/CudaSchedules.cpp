//===- CudaSchedules.cpp - Schedules mapped to a GPU ----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Elementwise chains: tiles of the last result to blocks, vectors of those to
// threads; what comes before is computed in the same tile. Rows: a row, or
// some, to a block; its elementwise steps to threads, its reductions left to
// the block's threads together. Products: tiles to blocks, then to warps, then
// to the threads of a warp, which keep theirs in registers over the whole sum.
//
// Vectors need tiles that divide the loops. Where sizes divide by nothing the
// tiles stay scalar and the edge's are smaller.
//
//===----------------------------------------------------------------------===//

#include "CudaSchedules.h"
#include "Kernel.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;

/// Bytes of intermediate rows that a block keeps in shared memory: what leaves
/// room for a second block.
static constexpr int64_t kRowBytes = 100 * 1024;
/// Blocks along y and z (CUDA C++ Programming Guide, maximum grid).
static constexpr int64_t kMaxBlocks = 65535;

static int64_t choiceOf(const Parameters &parameters) {
  auto found = parameters.find("tile");
  return (found == parameters.end() ? 0 : found->second) & 3;
}

/// The op whose only result is all that the pattern returns, every element of
/// it once.
static linalg::GenericOp findRoot(Block &pattern) {
  linalg::GenericOp root = findOnlyResult(pattern);
  if (!root || !root.getIndexingMapsArray().back().isProjectedPermutation() ||
      llvm::is_contained(root.getStaticLoopRanges(), 0))
    return {};
  return root;
}

/// The mapping of the dimensions of a loop over `sizes` tiles, 0 meaning none,
/// to a unit; the last one along x.
static std::string spellMapping(StringRef unit, ArrayRef<int64_t> tiles,
                                ArrayRef<int64_t> counts = {}) {
  SmallVector<unsigned> dims;
  bool linear = false;
  for (auto [dim, tile] : llvm::enumerate(tiles))
    if (tile)
      dims.push_back(dim);
  for (unsigned dim : ArrayRef(dims).drop_back())
    linear |= !counts.empty() && counts[dim] > kMaxBlocks;
  linear |= dims.size() > 3;
  std::string text;
  for (size_t i = 0; i < dims.size(); ++i) {
    size_t place = dims.size() - 1 - i;
    std::string id = linear ? "linear_dim_" + std::to_string(place)
                            : std::string(1, "xyz"[place]);
    text +=
        (text.empty() ? "" : ", ") + ("#gpu." + unit + "<" + id + ">").str();
  }
  return text;
}

/// Whether the body is arithmetic on the op's own values.
static bool isArithmetic(linalg::GenericOp op) {
  return llvm::all_of(op.getBlock()->without_terminator(), [](Operation &each) {
    return each.getNumResults() == 1 &&
           OpTrait::hasElementwiseMappableTraits(&each);
  });
}

static ScheduleProgram emitElementwise(Block &pattern,
                                       const Parameters &parameters) {
  ScheduleProgram schedule;
  linalg::GenericOp root = findRoot(pattern);
  auto ops = collectGenerics(pattern, /*reshapes=*/false);
  if (!root || !ops || root.getNumReductionLoops() ||
      !root.getIndexingMapsArray().back().isIdentity())
    return schedule;
  for (linalg::GenericOp op : *ops)
    if (op.getNumReductionLoops() ||
        (op != root &&
         (op.getNumResults() != 1 || op->getResult(0).getUsers().empty())))
      return schedule;
  int64_t choice = choiceOf(parameters);
  static constexpr int64_t kThreads[] = {256, 128, 512, 1024};
  int64_t threads = kThreads[choice];
  unsigned rank = root.getNumLoops();
  SmallVector<int64_t> sizes = root.getStaticLoopRanges();
  Type element = getElementTypeOrSelf(root.getResult(0).getType());
  int64_t bytes = element.isIntOrFloat()
                      ? llvm::divideCeil(element.getIntOrFloatBitWidth(), 8)
                      : 8;
  int64_t last = sizes.back();
  int64_t width = largestDivisor(last, std::max<int64_t>(1, 16 / bytes));
  int64_t across = width * largestDivisor(last / width, threads);
  bool vectors = llvm::all_of(*ops, isArithmetic) &&
                 llvm::isPowerOf2_64(width) && width > 1 &&
                 across >= width * std::min<int64_t>(32, last / width);
  if (!vectors) {
    width = 1;
    across = std::min(last, threads);
  }
  // Short rows: several of them to a block.
  SmallVector<int64_t> block(rank, 1), inner(rank, 1), counts;
  block.back() = across;
  inner.back() = width;
  int64_t left = threads / std::max<int64_t>(1, across / width);
  if (rank > 1)
    block[rank - 2] =
        largestDivisor(sizes[rank - 2], std::max<int64_t>(1, left));
  for (unsigned dim = 0; dim < rank; ++dim)
    counts.push_back(llvm::divideCeil(sizes[dim], block[dim]));
  // Dimensions in which the block has one point are no loops of threads.
  for (unsigned dim = 0; dim + 1 < rank; ++dim)
    inner[dim] = block[dim] > 1 ? 1 : 0;
  if (across == width)
    inner.back() = 0;
  if (llvm::all_of(inner, [](int64_t tile) { return tile == 0; }))
    inner.back() = width;

  std::string text =
      llvm::formatv("// {0} threads a block, {1} element{2} of each.\n",
                    (block.back() / width) * (rank > 1 ? block[rank - 2] : 1),
                    width, width > 1 ? "s" : "")
          .str();
  text += R"(module attributes {transform.with_named_sequence} {
  transform.named_sequence @__fastk_schedule(%func: !transform.any_op {transform.readonly}) {
    %all = transform.structured.match ops{["linalg.generic"]} in %func : (!transform.any_op) -> !transform.any_op
)";
  auto line = [&](const std::string &content) {
    text += "    " + content + "\n";
  };
  size_t count = ops->size();
  std::string types = "!transform.any_op";
  for (size_t i = 1; i < count; ++i)
    types += ", !transform.any_op";
  if (count > 1)
    line("%op:" + std::to_string(count) +
         " = transform.split_handle %all : (!transform.any_op) -> (" + types +
         ")");
  size_t rootNumber = llvm::find(*ops, root) - ops->begin();
  auto nameOf = [&](size_t i) {
    return count > 1 ? "%op#" + std::to_string(i) : std::string("%all");
  };
  constexpr const char *kTwo = " : (!transform.any_op) -> (!transform.any_op, "
                               "!transform.any_op)";
  constexpr const char *kInto =
      " : (!transform.any_op, !transform.any_op) -> (!transform.any_op, "
      "!transform.any_op)";
  auto tile = [&](const std::string &op, ArrayRef<int64_t> tiles,
                  StringRef unit, ArrayRef<int64_t> trips,
                  const std::string &results) {
    line(results + " = transform.structured.tile_using_forall " + op +
         " tile_sizes [" + joinNumbers(tiles) + "] (mapping = [" +
         spellMapping(unit, tiles, trips) + "])" + kTwo);
  };
  tile(nameOf(rootNumber), block, "block", counts, "%b0, %blocks0");
  // Producers in the tile of a block, the last first.
  SmallVector<size_t> others;
  for (size_t i = count; i-- > 0;)
    if (i != rootNumber)
      others.push_back(i);
  std::string loop = "%blocks0";
  for (auto [number, i] : llvm::enumerate(others)) {
    std::string next = "%blocks" + std::to_string(number + 1);
    line("%f" + std::to_string(i) + ", " + next +
         " = transform.structured.fuse_into_containing_op " + nameOf(i) +
         " into " + loop + kInto);
    loop = next;
  }
  tile("%b0", inner, "thread", {}, "%t0, %threads0");
  loop = "%threads0";
  for (auto [number, i] : llvm::enumerate(others)) {
    std::string next = "%threads" + std::to_string(number + 1);
    line("%g" + std::to_string(i) + ", " + next +
         " = transform.structured.fuse_into_containing_op %f" +
         std::to_string(i) + " into " + loop + kInto);
    loop = next;
  }
  if (vectors) {
    for (size_t i : others)
      line("transform.structured.vectorize %g" + std::to_string(i) +
           " : !transform.any_op");
    line("transform.structured.vectorize %t0 : !transform.any_op");
    text += R"(    transform.apply_patterns to %func {
      transform.apply_patterns.vector.transfer_permutation_patterns
      transform.apply_patterns.vector.cast_away_vector_leading_one_dim
      transform.apply_patterns.tensor.fold_tensor_subset_ops_into_vector_transfers
      transform.apply_patterns.canonicalization
    } : !transform.any_op
)";
  }
  text += "    transform.apply_cse to %func : !transform.any_op\n"
          "    transform.yield\n  }\n}\n";
  schedule.text = text;
  schedule.parameters = {
      {"tile", choice}, {"width", width}, {"threads", threads}};
  return schedule;
}

static ScheduleProgram emitRows(Block &pattern, const Parameters &parameters) {
  ScheduleProgram schedule;
  linalg::GenericOp root = findRoot(pattern);
  auto ops = collectGenerics(pattern, /*reshapes=*/true);
  if (!root || !ops || root.getNumLoops() < 2)
    return schedule;
  unsigned rank = root.getNumLoops();
  SmallVector<int64_t> sizes = root.getStaticLoopRanges();
  if (llvm::any_of(sizes, [](int64_t size) { return size < 2; }))
    return schedule;
  bool reduces = false;
  int64_t rowBytes = 0;
  for (linalg::GenericOp op : *ops) {
    for (Value result : op->getResults()) {
      auto type = cast<RankedTensorType>(result.getType());
      if (!type.getElementType().isIntOrFloat())
        return schedule;
      if (op != root && type.getShape() == ArrayRef(sizes))
        rowBytes +=
            sizes.back() * llvm::divideCeil(type.getElementTypeBitWidth(), 8);
    }
    if (!op.getNumReductionLoops())
      continue;
    reduces = true;
    // Rows outside, their elements innermost, the same for all.
    auto iterators = op.getIteratorTypesArray();
    if (op.getNumReductionLoops() != 1 || iterators.size() != rank ||
        iterators.back() != utils::IteratorType::reduction ||
        op.getStaticLoopRanges() != sizes || op.getNumResults() != 1)
      return schedule;
  }
  if (!reduces || rowBytes > kRowBytes)
    return schedule;
  bool rootReduces = root.getNumReductionLoops() != 0;
  if (!rootReduces && !root.getIndexingMapsArray().back().isIdentity())
    return schedule;
  int64_t choice = choiceOf(parameters);
  static constexpr int64_t kThreads[] = {256, 512, 128, 1024};
  int64_t threads = kThreads[choice];
  int64_t length = sizes.back();
  Type element = getElementTypeOrSelf(root.getResult(0).getType());
  int64_t bytes = llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
  int64_t width = largestDivisor(length, 16 / std::max<int64_t>(4, bytes));
  // A whole number of vectors for each thread.
  int64_t share = length / width;
  bool vectors = llvm::all_of(*ops, isArithmetic) &&
                 llvm::isPowerOf2_64(width) && width > 1;
  int64_t rounds = llvm::divideCeil(share, threads);
  while (share % rounds)
    ++rounds;
  int64_t side = share / rounds;
  vectors &= side >= 32;
  SmallVector<int64_t> outer(rank, 1), inner(rank, 0), step(rank, 0);
  outer.back() = 0;
  inner.back() = vectors ? side * width : std::min(threads, length);
  step.back() = vectors ? width : 1;
  std::string reducing = spellIterators([&] {
    SmallVector<utils::IteratorType> types(rank, utils::IteratorType::parallel);
    types.back() = utils::IteratorType::reduction;
    return types;
  }());
  std::string mapping = spellIterators(
      SmallVector<utils::IteratorType>(rank, utils::IteratorType::parallel));
  std::string vectorize;
  if (vectors)
    vectorize = "\n      transform.structured.vectorize %vector : "
                "!transform.any_op";
  const char *text =
      R"(// A block a row; {0} of its elements at a time, {1} a thread.
{2}    %maps = transform.structured.match ops{{["linalg.generic"]} attributes {{iterator_types = [{3}]} in %func : (!transform.any_op) -> !transform.any_op
    transform.foreach %maps : !transform.any_op {{
    ^bb0(%op: !transform.any_op):
      %piece, %pieces = transform.structured.tile_using_for %op tile_sizes [{4}] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
      %vector, %threads = transform.structured.tile_using_forall %piece tile_sizes [{5}] (mapping = [#gpu.thread<x>]) : (!transform.any_op) -> (!transform.any_op, !transform.any_op){6}
    }
    transform.apply_patterns to %func {{
      transform.apply_patterns.vector.transfer_permutation_patterns
      transform.apply_patterns.vector.cast_away_vector_leading_one_dim
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_cse to %func : !transform.any_op
    transform.yield
  }
}
)";
  schedule.text =
      llvm::formatv(text, inner.back(), step.back(), beginRowSchedule(outer),
                    mapping, joinNumbers(inner), joinNumbers(step), vectorize)
          .str();
  schedule.parameters = {
      {"tile", choice}, {"width", step.back()}, {"threads", threads}};
  return schedule;
}

/// True for an operand of the workload, or one that is widened as it is read.
static bool isRead(Value value) {
  if (auto widen = value.getDefiningOp<arith::ExtFOp>())
    value = widen.getIn();
  return isa<BlockArgument>(value);
}

static ScheduleProgram emitProduct(Block &pattern,
                                   const Parameters &parameters) {
  ScheduleProgram schedule;
  linalg::GenericOp root = findRoot(pattern);
  auto ops = collectGenerics(pattern, /*reshapes=*/false);
  if (!root || !ops || ops->size() != 2 || ops->back() != root ||
      ops->front().getNumDpsInputs() != 0 ||
      root.getDpsInits()[0] != ops->front()->getResult(0))
    return schedule;
  auto c = matchContraction(root.getResult(0));
  if (!c || c->windowed || !c->batch.empty() || c->m.size() != 1 ||
      c->n.size() != 1 || c->k.size() != 1 || !isRead(c->lhs) ||
      !isRead(c->rhs))
    return schedule;
  unsigned m = c->m[0], n = c->n[0], k = c->k[0];
  auto last = dyn_cast<AffineDimExpr>(
      root.getIndexingMapsArray().back().getResults().back());
  if (!last)
    return schedule;
  if (last.getPosition() == m)
    std::swap(m, n);
  SmallVector<int64_t> sizes = root.getStaticLoopRanges();
  int64_t choice = choiceOf(parameters);
  static constexpr int64_t kRows[] = {4, 8, 4, 2}, kColumns[] = {4, 4, 8, 4},
                           kDepth[] = {8, 8, 4, 16};
  int64_t tm = largestDivisor(sizes[m], kRows[choice]);
  int64_t tn = largestDivisor(sizes[n], kColumns[choice]);
  int64_t tk = largestDivisor(sizes[k], kDepth[choice]);
  // A warp of 4 by 8 threads, a block of 2 by 4 warps, less where there is
  // less.
  int64_t wm = tm * largestDivisor(sizes[m] / tm, 4);
  int64_t wn = tn * largestDivisor(sizes[n] / tn, 8);
  int64_t bm = wm * largestDivisor(sizes[m] / wm, 2);
  int64_t bn = wn * largestDivisor(sizes[n] / wn, 4);
  bool vectors = tm * tn >= 4 && tn >= 2 && (wm / tm) * (wn / tn) >= 8;
  if (!vectors) {
    // Sizes that divide by nothing: scalar tiles, smaller ones at the edges.
    tm = tn = 1;
    wm = 4, wn = 8, bm = 8, bn = 32;
    tk = 0;
  }
  SmallVector<int64_t> block(3, 0), warp(3, 0), lane(3, 0), step(3, 0);
  block[m] = bm, block[n] = bn;
  warp[m] = wm, warp[n] = wn;
  lane[m] = tm, lane[n] = tn;
  step[k] = tk;
  // The dimension that the result's memory runs along is x.
  auto mappingOf = [&](StringRef unit) {
    std::string x = ("#gpu." + unit + "<x>").str(),
                y = ("#gpu." + unit + "<y>").str();
    return m < n ? y + ", " + x : x + ", " + y;
  };
  std::string vectorize;
  if (vectors)
    vectorize = llvm::formatv(R"(
    %slice, %sum = transform.structured.tile_using_for %lane tile_sizes [{0}] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.structured.vectorize %slice : !transform.any_op
    transform.apply_patterns to %func {{
      transform.apply_patterns.vector.reduction_to_contract
      transform.apply_patterns.vector.transfer_permutation_patterns
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.loop.hoist_loop_invariant_subsets %sum : !transform.any_op
    transform.apply_patterns to %func {{
      transform.apply_patterns.vector.lower_contraction lowering_strategy = "outerproduct"
      transform.apply_patterns.vector.lower_outerproduct
      transform.apply_patterns.vector.lower_transpose lowering_strategy = "shuffle_1d"
      transform.apply_patterns.canonicalization
    } : !transform.any_op)",
                              joinNumbers(step))
                    .str();
  const char *text =
      R"(// Blocks of {0} x {1}, warps of {2} x {3}, threads of {4} x {5}.
module attributes {{transform.with_named_sequence} {{
  transform.named_sequence @__fastk_schedule(%func: !transform.any_op {{transform.readonly}) {{
    %product = transform.structured.match attributes {{iterator_types = [{6}]} in %func : (!transform.any_op) -> !transform.any_op
    %fill = transform.get_producer_of_operand %product[{7}] : (!transform.any_op) -> !transform.any_op
    %block, %blocks = transform.structured.tile_using_forall %product tile_sizes [{8}] (mapping = [{9}]) : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %start, %blocks2 = transform.structured.fuse_into_containing_op %fill into %blocks : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %warp, %warps = transform.structured.tile_using_forall %block tile_sizes [{10}] (mapping = [{11}]) : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %lane, %lanes = transform.structured.tile_using_forall %warp tile_sizes [{12}] (mapping = [{13}]) : (!transform.any_op) -> (!transform.any_op, !transform.any_op){14}
    transform.yield
  }
}
)";
  schedule.text =
      llvm::formatv(text, bm, bn, wm, wn, tm, tn,
                    spellIterators(root.getIteratorTypesArray()),
                    root.getNumDpsInputs(), joinNumbers(block),
                    mappingOf("block"), joinNumbers(warp), mappingOf("warp"),
                    joinNumbers(lane), mappingOf("thread"), vectorize)
          .str();
  schedule.parameters = {{"tile", choice}, {"mr", tm}, {"nr", tn}, {"kr", tk}};
  return schedule;
}

ScheduleProgram catalog::emitCudaSchedule(Block &pattern,
                                          const Parameters &parameters) {
  for (auto emit : {emitProduct, emitRows, emitElementwise}) {
    ScheduleProgram schedule = emit(pattern, parameters);
    if (!schedule.text.empty())
      return schedule;
  }
  return {};
}
