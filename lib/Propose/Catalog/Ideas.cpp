//===- Ideas.cpp - What an expert would try -------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Ideas.h"

#include "llvm/ADT/STLExtras.h"

using namespace fastk;
using namespace fastk::catalog;

// In the order they are proposed: within a round the first ones are those that
// pay most often.
static const std::vector<CatalogIdea> &table() {
  static const std::vector<CatalogIdea> ideas = {
      // Openings.
      {"pack-panels",
       IdeaCategory::MemoryAccess,
       "pack operands into cache-sized panels",
       "Cut the product into blocks that fit the caches and copy both operands "
       "into contiguous panels in the order in which the inner kernel reads "
       "them, so that every load is sequential, no two rows fight for one "
       "cache set and the TLB holds all of it. Keep a tile of the result in "
       "registers for a whole block of k, and finish it (bias, activation, "
       "residual) while it is still in the first-level cache, so that the "
       "result is written once.",
       "contraction",
       "",
       true,
       false,
       {{}, {{"KC", 512}}, {{"KC", 128}, {"NC", 512}}}},
      {"register-tile",
       IdeaCategory::Compute,
       "another shape of the register tile",
       "The shape of the register tile decides how many loads feed each "
       "multiply-add: more vectors across reuse a broadcast more often, more "
       "rows reuse a vector of the other operand. Try wide and tall tiles that "
       "still fit the register file without a spill.",
       "contraction",
       "",
       true,
       false,
       {{{"NV", 3}}, {{"NV", 4}}, {{"NV", 1}}, {{"NV", 2}}}},
      {"direct-window",
       IdeaCategory::MemoryAccess,
       "direct convolution on packed weights",
       "Pack the weights so that a vector holds neighbouring output channels "
       "and each step of the window is the next vector in memory. Keep a tile "
       "of output positions in registers and broadcast input elements: nothing "
       "is copied to columns, so the input is read from the cache instead of "
       "being written and read several times over.",
       "convolution",
       "",
       true,
       false,
       {{}, {{"SERIAL", 1}}, {{"SHARE", 1}}}},
      {"pixel-tile",
       IdeaCategory::Compute,
       "another tile of pixels and channels",
       "Trade pixels against channels in the register tile of the convolution: "
       "more pixels reuse a vector of weights, more vectors of channels reuse "
       "a broadcast input element. The tile should divide what it walks over, "
       "so that no lane is wasted at its end.",
       "convolution",
       "",
       true,
       false,
       {{{"NV", 4}}, {{"NV", 1}}, {{"NV", 3}}, {{"NV", 2}}}},
      {"row-passes",
       IdeaCategory::MemoryAccess,
       "all of a row at once, as few passes as it takes",
       "Handle one row from beginning to end before the next one, so that only "
       "the first pass over it reads memory and the later ones find it in the "
       "cache. Reductions that do not depend on each other share a pass, "
       "elementwise steps happen where their result is used, and a costly "
       "intermediate (an exponential) is kept where the result goes instead of "
       "being computed again.",
       "reduction",
       "KEEP",
       true,
       false,
       {{}, {{"KEEP", 2}}, {{"KEEP", 0}}}},
      {"one-loop",
       IdeaCategory::MemoryAccess,
       "a chain of steps in one loop",
       "Compute all elementwise steps of an element while it is in a register, "
       "so that operands are read once, the result is written once and nothing "
       "in between goes to memory. Pads and concatenations are no steps of "
       "their own: each vector knows what its elements are.",
       "pointwise",
       "UNROLL",
       true,
       false,
       {{}, {{"UNROLL", 4}}, {{"UNROLL", 1}}}},
      {"turned-squares",
       IdeaCategory::MemoryAccess,
       "turn squares in registers",
       "What lies together along another dimension than the result is loaded "
       "in vectors along that one, turned by shuffles and stored along the "
       "result's, in tiles whose lines of memory stay in the first-level cache "
       "until all of them is used.",
       "pointwise",
       "TILED",
       true,
       false,
       {{{"TILED", 1}},
        {{"TILED", 1}, {"TILE_ROWS", 64}, {"TILE_COLUMNS", 64}},
        {{"TILED", 1}, {"TILE_ROWS", 16}, {"TILE_COLUMNS", 128}}}},
      {"shared-lines",
       IdeaCategory::Compute,
       "rows of results share the lines of their windows",
       "Windows of neighbouring rows overlap: a block of a few rows loads each "
       "line of the input once, combines along it what a window needs, and "
       "adds that to every row whose window has the line. More vectors side by "
       "side hide the latency of what is combined.",
       "window",
       "PER_Y",
       true,
       false,
       {{}, {{"PER_Y", 4}}, {{"PER_Y", 2}, {"NV", 2}}, {{"NV", 4}}}},
      {"next-row",
       IdeaCategory::Latency,
       "fetch the next row while this one is computed",
       "Over a long row the first pass waits for memory and the others wait "
       "for "
       "arithmetic: neither is ever fully used. While the pass with the "
       "exponentials (or the second moments) runs, ask for the same place of "
       "the next row, and while the last pass writes, for the lines that the "
       "next row will write. Then the first pass finds its row in the cache, "
       "and memory works all the time.",
       "reduction",
       "AHEAD",
       true,
       false,
       {{{"AHEAD", 1}, {"FETCH", 1}},
        {{"AHEAD", 1}, {"FETCH", 1}, {"INVERSE", 1}},
        {{"AHEAD", 2}, {"FETCH", 1}}}},
      {"row-blocks",
       IdeaCategory::MemoryAccess,
       "scores of a block of rows never leave the cache",
       "Between two products only a block of rows of the intermediate matrix "
       "is "
       "alive: compute it, do the row-wise work on it (scale, mask, softmax) "
       "and "
       "multiply it by the second operand before the next block. The "
       "intermediate stays in the second-level cache and never goes to memory, "
       "where it would be far larger than the operands.",
       "attention",
       "",
       true,
       false,
       {{}, {{"TILES", 2}}, {{"KEYS", 1024}}}},
      {"two-products",
       IdeaCategory::ControlFlow,
       "whole matrices, one product after the other",
       "Compute the intermediate matrix as a whole, then its rows, then the "
       "second product: each part runs in its own best order and with its own "
       "tiles. This pays when the intermediate matrix fits the cache anyway.",
       "attention",
       "",
       true,
       false,
       {{{"fuse", 0}}}},
      {"stream-results",
       IdeaCategory::MemoryAccess,
       "write results past the caches",
       "Nothing reads the result again soon, and it is larger than the caches: "
       "non-temporal stores avoid reading each line before it is overwritten, "
       "a "
       "third of the traffic of a kernel that reads and writes once.",
       "pointwise",
       "STREAM",
       true,
       true,
       {{{"STREAM", 1}}}},
      {"stream-rows",
       IdeaCategory::MemoryAccess,
       "write the rows of the result past the caches",
       "Nothing reads the result again soon: rows are written by non-temporal "
       "stores, and what a pass keeps for the last one lies in a row beside "
       "them, which stays in the cache.",
       "reduction",
       "STREAM",
       true,
       true,
       {{{"STREAM", 1}, {"KEEP", 2}}, {{"STREAM", 1}, {"KEEP", 0}}}},
      {"schedule-tiles",
       IdeaCategory::ControlFlow,
       "tile, share among threads, vectorise by a schedule",
       "Describe the loops instead of writing them: share the outer dimension "
       "among the threads, tile the rest to the register file, fuse what "
       "initialises and what follows into the tile, and vectorise. The "
       "compiler "
       "lowers exactly the ops of the workload, so nothing can be forgotten.",
       "",
       "",
       true,
       false,
       {{{"tile", 0}}, {{"tile", 1}}, {{"tile", 2}}, {{"tile", 3}}},
       true},
      // Refinements of a parent.
      {"one-pass-k",
       IdeaCategory::Compute,
       "the whole reduction in one block",
       "Do not cut the reduction: the tile of the result then stays in "
       "registers from the first product to the last and no partial sum is "
       "ever "
       "written or read back. The panels get longer; this pays while they "
       "still "
       "fit the second-level cache.",
       "contraction",
       "KC",
       false,
       false,
       {{{"KC", 65536}}}},
      {"share-columns",
       IdeaCategory::Parallelism,
       "threads share the columns",
       "Let each thread own a range of columns with panels of its own: threads "
       "never wait for each other, at the price of copying the other operand "
       "once a thread.",
       "contraction",
       "SHARE",
       false,
       false,
       {{{"SHARE", 2}}}},
      {"share-rows",
       IdeaCategory::Parallelism,
       "threads share the rows",
       "Let the threads pack the panels of the second operand together and "
       "each "
       "own a range of rows: the panels are packed once and read by all.",
       "contraction",
       "SHARE",
       false,
       false,
       {{{"SHARE", 1}}}},
      {"share-batch",
       IdeaCategory::Parallelism,
       "threads share the batch",
       "Give whole products to each thread: there is no barrier inside a "
       "product and every panel is private.",
       "contraction",
       "SHARE",
       false,
       false,
       {{{"SHARE", 0}}}},
      {"prefetch-panels",
       IdeaCategory::Latency,
       "prefetch the panel ahead",
       "Ask for the panel of the second operand a few steps of k before it is "
       "used, so that its way from the second-level cache overlaps with the "
       "multiply-adds.",
       "contraction",
       "PREFETCH",
       false,
       false,
       {{{"PREFETCH", 8}}, {{"PREFETCH", 16}}, {{"PREFETCH", 4}}}},
      {"rows-in-place",
       IdeaCategory::MemoryAccess,
       "read the first operand where it lies",
       "The elements of the first operand are broadcast one by one, so its "
       "layout hardly matters: read them from where they lie and save the "
       "copy.",
       "contraction",
       "PACK_A",
       false,
       false,
       {{{"PACK_A", 0}}, {{"PACK_A", 1}}}},
      {"columns-in-place",
       IdeaCategory::MemoryAccess,
       "read the second operand where it lies",
       "The second operand is contiguous along the columns already: with few "
       "rows it is not reused often enough to pay for a copy.",
       "contraction",
       "PACK_B",
       false,
       false,
       {{{"PACK_B", 0}}, {{"PACK_B", 0}, {"PACK_A", 0}}}},
      {"smaller-blocks",
       IdeaCategory::MemoryAccess,
       "blocks for the first-level cache",
       "Shrink the blocks until a panel and its part of the first operand sit "
       "in the first-level cache together, so that no inner step waits for the "
       "second level.",
       "contraction",
       "MC",
       false,
       false,
       {{{"MC", 96}, {"KC", 192}}, {{"MC", 192}}, {{"MC", 48}}}},
      {"other-blocks",
       IdeaCategory::MemoryAccess,
       "other blocks of positions and input channels",
       "What a block of positions meets of the input should stay in the "
       "second-level cache while all output channels are computed, and a panel "
       "of weights of a block of input channels in the first-level cache: "
       "smaller blocks leave room for both, larger ones are packed less often.",
       "convolution",
       "PIXELS",
       false,
       false,
       {{{"PIXELS", 256}}, {{"PIXELS", 1024}}, {{"CHANNELS", 32}}}},
      {"whole-rows",
       IdeaCategory::ControlFlow,
       "masked keys computed or left out",
       "A causal mask makes the weights of all keys beyond a row zero. Leaving "
       "whole blocks of them out of both products halves the work, but the "
       "blocks of rows then differ in length: with few matrices the threads "
       "may be better balanced when every block computes all keys.",
       "attention",
       "SKIP",
       false,
       false,
       {{{"SKIP", 0}}, {{"SKIP", 1}}}},
      {"other-keys",
       IdeaCategory::MemoryAccess,
       "another block of keys and rows",
       "Scores of a block stay in the first- or second-level cache between "
       "the two products. More keys scale a row's sums less often, more rows "
       "read packed keys and values less often; fewer of both leave room to "
       "what is read beside them.",
       "attention",
       "KEYS",
       false,
       false,
       {{{"KEYS", 512}}, {{"KEYS", 128}}, {{"TILES", 8}}, {{"TILES", 2}}}},
      {"fetch-next-row",
       IdeaCategory::Latency,
       "fetch the next row while this one is computed",
       "Ask for the next row in a pass that is bound by arithmetic, so that "
       "the pass that reads it first does not wait for memory.",
       "reduction",
       "AHEAD",
       false,
       false,
       {{{"AHEAD", 1}, {"FETCH", 1}},
        {{"AHEAD", 2}, {"FETCH", 1}},
        {{"AHEAD", 1}}}},
      {"more-sums",
       IdeaCategory::Latency,
       "more or fewer sums side by side",
       "A statistic that is one sum waits for the latency of each addition. "
       "Several vectors of partial sums hide it; too many cost registers and a "
       "longer end of a row.",
       "reduction",
       "SUMS",
       false,
       false,
       {{{"SUMS", 8}}, {{"SUMS", 2}}, {{"SUMS", 4}}, {{"SUMS", 1}}}},
      {"row-tile",
       IdeaCategory::Compute,
       "another tile of neighbouring rows",
       "Lanes have a row each. More vectors of rows read longer pieces of "
       "memory at each column and hide the latency of sums; fewer leave "
       "registers to what is computed.",
       "reduction",
       "TILE",
       false,
       false,
       {{{"TILE", 8}}, {{"TILE", 2}}, {{"TILE", 4}}, {{"TILE", 1}}}},
      {"split-rows",
       IdeaCategory::Parallelism,
       "threads share the columns of each row",
       "There are too few rows to keep the threads busy: each computes its "
       "columns of every row, and they exchange statistics after each pass.",
       "reduction",
       "SPLIT",
       false,
       false,
       {{{"SPLIT", 1}}, {{"SPLIT", 0}}}},
      {"keep-otherwise",
       IdeaCategory::Compute,
       "keep an exponential elsewhere, or compute it again",
       "What a pass computes and the last one needs can lie in the result, in "
       "a row beside it, or nowhere: computing an exponential a second time in "
       "registers can be cheaper than writing and reading it.",
       "reduction",
       "KEEP",
       false,
       false,
       {{{"KEEP", 0}}, {{"KEEP", 2}}, {{"KEEP", 1}}}},
      {"divide-once",
       IdeaCategory::Precision,
       "multiply a row by the inverse of its divisor",
       "All elements of a row are divided by one number: divide once and "
       "multiply. It costs at most one more rounding, well inside the error "
       "class.",
       "reduction",
       "INVERSE",
       false,
       false,
       {{{"INVERSE", 1}}}},
      {"half-vectors",
       IdeaCategory::Compute,
       "vectors of half the width",
       "Narrower vectors waste fewer lanes at the ends of short rows and keep "
       "some processors at a higher clock.",
       "",
       "vectorBytes",
       false,
       false,
       {{{"vectorBytes", 32}}, {{"vectorBytes", 16}}}},
  };
  return ideas;
}

llvm::ArrayRef<CatalogIdea> catalog::allIdeas() { return table(); }

std::vector<int64_t> catalog::neighboursInList(llvm::ArrayRef<int64_t> values,
                                               int64_t value) {
  std::vector<int64_t> result;
  int64_t at = llvm::lower_bound(values, value) - values.begin();
  for (int64_t to : {at + 1, at - 1, at + 2, at - 2})
    if (to >= 0 && to < int64_t(values.size()))
      result.push_back(values[to]);
  return result;
}
