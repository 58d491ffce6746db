//===- CudaIdeas.cpp - What an expert would try on a GPU ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaIdeas.h"
#include "fastk/Conversion/CudaCodegen.h"

using namespace fastk;
using namespace fastk::catalog;

using Settings = std::vector<Parameters>;

static int64_t at(const Parameters &decided, const char *name) {
  auto found = decided.find(name);
  return found == decided.end() ? 0 : found->second;
}

/// One number after the other, each alone.
static Settings each(const char *name, std::initializer_list<int64_t> values) {
  Settings settings;
  for (int64_t value : values)
    settings.push_back({{name, value}});
  return settings;
}

static const std::vector<CudaIdea> &table() {
  static const std::vector<CudaIdea> ideas = {
      // Rows: softmax, norms, row sums.
      {"values-of-a-row", IdeaCategory::MemoryAccess,
       "other shares of a row for each thread",
       "A row is read once when its values stay in registers from pass to "
       "pass. Fewer threads with more values each have more loads under way "
       "and less to exchange at the end of a reduction; more threads with "
       "fewer values need fewer registers, so that more rows are resident. "
       "Which of the two feeds the memory better is a matter of the row's "
       "length.",
       "rows", true,
       [](const Parameters &d) -> Settings {
         int64_t t = at(d, "row_threads"), keep = at(d, "row_keep");
         Settings s;
         for (int64_t value : {t / 2, t * 2, t / 4})
           s.push_back({{"row_threads", value},
                        {"row_block", std::max<int64_t>(value, 32)},
                        {"row_keep", keep}});
         return s;
       }},
      {"keep-a-row", IdeaCategory::MemoryAccess,
       "keep a row in registers however long it is",
       "Passes that compute a row again read it again, from the second-level "
       "cache at best. A block of as many threads as there may be has a "
       "quarter of a megabyte of registers: a long row fits when every thread "
       "keeps dozens of values, and memory is read once.",
       "rows", true,
       [](const Parameters &d) -> Settings {
         return {{{"row_keep", 1},
                  {"row_threads", 1024},
                  {"row_block", 1024},
                  {"row_blocks", 1}},
                 {{"row_keep", 1},
                  {"row_threads", 512},
                  {"row_block", 512},
                  {"row_blocks", 1}}};
       }},
      {"rows-of-a-block", IdeaCategory::Parallelism,
       "several rows in one block",
       "Blocks are started one after the other, and a multiprocessor holds "
       "only so many. Short rows are better handled by several groups of "
       "threads of one block, each with a row of its own: fewer blocks, and no "
       "warp waits for another row's barrier.",
       "rows", true,
       [](const Parameters &d) -> Settings {
         int64_t b = at(d, "row_block"), t = at(d, "row_threads");
         return {{{"row_block", b * 2}, {"row_threads", t}},
                 {{"row_block", b / 2}, {"row_threads", std::min(t, b / 2)}},
                 {{"row_block", b * 4}, {"row_threads", t}}};
       }},
      {"row-again", IdeaCategory::Compute,
       "compute values again instead of keeping them",
       "What a pass computed is there in registers for the next one only at "
       "the price of occupancy. A row that was just read lies in the caches: "
       "reading and computing it again lets more blocks run at once, which "
       "hides the latency of memory better.",
       "rows", true,
       [](const Parameters &d) -> Settings {
         if (!at(d, "row_keep"))
           return {};
         int64_t t = at(d, "row_threads");
         return {{{"row_keep", 0}, {"row_threads", t}},
                 {{"row_keep", 0}, {"row_threads", t}, {"row_unroll", 2}},
                 {{"row_keep", 0},
                  {"row_threads", std::max<int64_t>(t / 2, 32)},
                  {"row_unroll", 8}}};
       }},
      {"loads-ahead", IdeaCategory::Latency,
       "more or fewer loads under way in a pass",
       "A thread that asks for several vectors before it uses the first one "
       "has the latency of memory once instead of several times. Too many at a "
       "time cost the registers that other warps would need.",
       "rows", true,
       [](const Parameters &d) -> Settings {
         if (at(d, "row_keep"))
           return {};
         return each("row_unroll", {8, 2, 6, 1});
       }},
      {"threads-of-a-pass", IdeaCategory::Parallelism,
       "blocks of another size where passes read a row again",
       "When each pass reads its row again, a block keeps no values and its "
       "size is free. Smaller blocks let several rows share a multiprocessor, "
       "so that one reads while the other reduces; and with fewer rows at the "
       "same time more of each stays in the cache.",
       "rows", true,
       [](const Parameters &d) -> Settings {
         if (at(d, "row_keep"))
           return {};
         Settings s;
         for (int64_t t : {at(d, "row_threads") / 2, at(d, "row_threads") / 4,
                           at(d, "row_threads") * 2})
           s.push_back({{"row_threads", t}, {"row_block", t}});
         return s;
       }},
      {"blocks-of-a-row", IdeaCategory::Parallelism,
       "several blocks share a row",
       "A few long rows leave most multiprocessors idle when a block takes a "
       "whole row. Cut the rows: every pass becomes a kernel, and the blocks' "
       "partial results meet in a small workspace.",
       "rows", true,
       [](const Parameters &d) -> Settings {
         int64_t parts = std::max<int64_t>(1, at(d, "row_blocks"));
         Settings s;
         for (int64_t more : {parts * 2, parts * 4, parts / 2})
           if (more > 1)
             s.push_back({{"row_keep", 0}, {"row_blocks", more}});
         return s;
       }},
      {"rows-forwards", IdeaCategory::ControlFlow,
       "every pass from the beginning of the row",
       "Running every other pass backwards finds the end of the row in the "
       "cache, but prefetchers and row buffers like rising addresses. Run all "
       "passes forwards.",
       "rows", false,
       [](const Parameters &d) -> Settings {
         return each("row_backwards", {1 - at(d, "row_backwards")});
       }},
      {"resident-rows", IdeaCategory::Parallelism,
       "registers for more resident blocks",
       "The assembler takes the registers it likes. Told how many blocks a "
       "multiprocessor shall hold, it fits the kernel to them: more rows are "
       "under way, at the risk of a spill.",
       "rows", false,
       [](const Parameters &d) -> Settings {
         int64_t most = 2048 / std::max<int64_t>(1, at(d, "row_block"));
         return each("row_resident", {most, most / 2, most * 3 / 4});
       }},
      {"narrow-rows", IdeaCategory::MemoryAccess,
       "narrower accesses along a row",
       "Accesses of 16 bytes move most bytes with an instruction. Narrower "
       "ones spread a short row over more threads and leave fewer values to "
       "each.",
       "rows", false,
       [](const Parameters &d) -> Settings {
         int64_t w = at(d, "row_width");
         return each("row_width", {w / 2, w / 4});
       }},

      // Elementwise.
      {"vectors-of-a-thread", IdeaCategory::Latency,
       "more or fewer vectors of a thread",
       "A thread that loads all its vectors before it stores the first has "
       "several requests under way and shares the cost of its addresses. With "
       "fewer there are more blocks, which even out better at the end.",
       "vectors", true,
       [](const Parameters &d) -> Settings {
         int64_t v = at(d, "vector_count");
         return each("vector_count", {v * 2, v / 2, 1, v * 4});
       }},
      {"block-of-vectors", IdeaCategory::Parallelism, "blocks of another size",
       "Larger blocks are fewer to start; smaller ones leave a multiprocessor "
       "sooner and are replaced sooner, so that loads and stores of different "
       "blocks overlap.",
       "vectors", true,
       [](const Parameters &d) -> Settings {
         return each("vector_threads", {512, 128, 1024, 64});
       }},
      {"width-of-vectors", IdeaCategory::MemoryAccess,
       "another width of an access",
       "Sixteen bytes a thread are the widest access there is, but a warp then "
       "touches four lines with one instruction. Eight or four bytes spread "
       "the same data over more threads and can suit small arrays better.",
       "vectors", true,
       [](const Parameters &d) -> Settings {
         int64_t w = at(d, "vector_width");
         return {{{"vector_width", w / 2},
                  {"vector_count",
                   std::min<int64_t>(16, 2 * at(d, "vector_count"))}},
                 {{"vector_width", w / 2}},
                 {{"vector_width", w / 4}}};
       }},

      // Reductions along other dimensions.
      {"blocks-of-a-sum", IdeaCategory::Parallelism,
       "more or fewer blocks for a reduction",
       "Several blocks share a long reduction, and a second kernel combines "
       "what they found. More of them keep the memory busier; fewer leave less "
       "to combine, and one alone needs no second kernel.",
       "reduction", true,
       [](const Parameters &d) -> Settings {
         int64_t b = at(d, "reduce_blocks");
         return each("reduce_blocks", {b * 2, b / 2, b * 4, 1});
       }},
      {"steps-of-a-sum", IdeaCategory::Latency,
       "more or fewer loads under way in a reduction",
       "Loads that do not wait for each other hide the latency of memory: "
       "fetch more steps of the reduction before adding the first, or fewer "
       "where registers are short.",
       "reduction", true,
       [](const Parameters &d) -> Settings {
         return each("reduce_unroll", {8, 2, 16, 1});
       }},
      {"block-of-a-sum", IdeaCategory::Parallelism,
       "blocks of another size for a reduction",
       "The threads of a block share the reduced dimension. Larger blocks need "
       "fewer partial results, smaller ones wait less at their barriers.",
       "reduction", true,
       [](const Parameters &d) -> Settings {
         return each("reduce_threads", {512, 128, 1024, 64});
       }},

      // Transposes.
      {"larger-squares", IdeaCategory::MemoryAccess, "squares of another size",
       "A square that is turned in shared memory is read along one dimension "
       "and written along the other: its side decides how many bytes of a "
       "line are used on both ways.",
       "turn", true,
       [](const Parameters &d) -> Settings {
         int64_t s = at(d, "turn_square");
         return each("turn_square", {s == 64 ? 32 : 64, 16});
       }},
      {"threads-of-a-square", IdeaCategory::Parallelism,
       "more or fewer threads for a square",
       "Few threads that move many elements each have more loads under way; "
       "many hide the latency by being many.",
       "turn", true,
       [](const Parameters &d) -> Settings {
         return each("turn_threads", {512, 128, 1024});
       }},

      // One thread, or one block, a point.
      {"block-of-points", IdeaCategory::Parallelism,
       "blocks of another size for independent points",
       "Each thread computes a point on its own. The size of a block decides "
       "how the points spread over the multiprocessors and which of them share "
       "the first-level cache.",
       "points", true,
       [](const Parameters &d) -> Settings {
         return each("point_threads", {128, 512, 64, 1024});
       }},
      {"block-of-a-point", IdeaCategory::Parallelism,
       "more or fewer threads share a point",
       "A block reduces to one point. With fewer threads each adds more before "
       "they meet, with more the loads of a point are sooner done.",
       "shared points", true,
       [](const Parameters &d) -> Settings {
         int64_t t = at(d, "share_threads");
         return each("share_threads", {t / 2, t * 2, t / 4});
       }},

      // Products by scalar arithmetic.
      {"tile-of-threads", IdeaCategory::Compute,
       "another tile of results for each thread",
       "Every value that a thread reads from shared memory is used once for "
       "each row, or column, of its tile. Larger tiles multiply more for each "
       "read; smaller ones leave registers for more warps and fill the device "
       "with more blocks.",
       "scalar tiles", true,
       [](const Parameters &d) -> Settings {
         return {{{"scalar_rows", 8}, {"scalar_columns", 8}},
                 {{"scalar_rows", 8}, {"scalar_columns", 4}},
                 {{"scalar_rows", 4}, {"scalar_columns", 8}},
                 {{"scalar_rows", 4}, {"scalar_columns", 4}},
                 {{"scalar_rows", 12},
                  {"scalar_columns", 8},
                  {"scalar_resident", 1}}};
       }},
      {"tile-of-warps", IdeaCategory::Parallelism,
       "another number of warps for a tile",
       "More warps in a block share each slice in shared memory; fewer make "
       "smaller tiles, of which there are more: the last round of blocks then "
       "leaves fewer multiprocessors idle.",
       "scalar tiles", true,
       [](const Parameters &d) -> Settings {
         return {{{"scalar_warp_rows", 2}, {"scalar_warp_columns", 2}},
                 {{"scalar_warp_rows", 1}, {"scalar_warp_columns", 4}},
                 {{"scalar_warp_rows", 2}, {"scalar_warp_columns", 4}},
                 {{"scalar_warp_rows", 1}, {"scalar_warp_columns", 2}},
                 {{"scalar_warp_rows", 4}, {"scalar_warp_columns", 2}}};
       }},
      {"depth-of-slices", IdeaCategory::MemoryAccess,
       "deeper or flatter slices",
       "A slice of both factors is in shared memory while the next one is on "
       "its way. Deeper slices have fewer barriers and longer runs of memory; "
       "flatter ones leave shared memory and registers for more blocks.",
       "scalar tiles", true,
       [](const Parameters &d) -> Settings {
         int64_t k = at(d, "scalar_depth");
         return each("scalar_depth", {k / 2, k * 2});
       }},
      {"parts-of-sums", IdeaCategory::Parallelism, "cut the sums into parts",
       "A small result has few tiles, and a device of more multiprocessors "
       "than tiles stands idle. Cut the sum into parts that are computed at "
       "the same time and added up by a second kernel.",
       "scalar tiles", true,
       [](const Parameters &d) -> Settings {
         int64_t p = at(d, "contraction_parts");
         return each("contraction_parts", {p * 2, p == 1 ? 4 : p / 2, p * 4});
       }},
      {"resident-tiles", IdeaCategory::Parallelism,
       "registers for another number of resident blocks",
       "While one block waits at its barrier another can multiply. Ask the "
       "assembler to fit more blocks on a multiprocessor, or give all "
       "registers to fewer.",
       "scalar tiles", false,
       [](const Parameters &d) -> Settings {
         int64_t r = at(d, "scalar_resident");
         return each("scalar_resident", {r + 1, r - 1, r * 2});
       }},
      {"band-of-tiles", IdeaCategory::MemoryAccess,
       "another order of the tiles",
       "Tiles that run at the same time should share rows and columns, so that "
       "the second-level cache serves them. The height of the band in which "
       "tiles are walked trades the one for the other.",
       "scalar tiles", false,
       [](const Parameters &d) -> Settings {
         return each("contraction_band", {16, 4, 32, 1});
       }},

      // Products on tensor cores.
      {"tile-of-a-warp", IdeaCategory::Compute,
       "another tile of results for each warp",
       "A fragment that is loaded from shared memory is multiplied with every "
       "fragment of the other factor. Large tiles of a warp load less for each "
       "product; small ones leave registers for more warps.",
       "tensor-core tiles", true,
       [](const Parameters &d) -> Settings {
         return {{{"tensor_rows", 64}, {"tensor_columns", 64}},
                 {{"tensor_rows", 64}, {"tensor_columns", 32}},
                 {{"tensor_rows", 32}, {"tensor_columns", 64}},
                 {{"tensor_rows", 32}, {"tensor_columns", 32}},
                 {{"tensor_rows", 64},
                  {"tensor_columns", 128},
                  {"tensor_warp_rows", 2},
                  {"tensor_warp_columns", 2},
                  {"tensor_resident", 1}}};
       }},
      {"slices-under-way", IdeaCategory::Latency,
       "more or fewer slices in flight",
       "Copies to shared memory run while the tensor cores work. With more "
       "stages a slice is asked for longer before it is needed; with fewer, "
       "shared memory has room for another block.",
       "tensor-core tiles", true,
       [](const Parameters &d) -> Settings {
         int64_t s = at(d, "tensor_stages");
         return each("tensor_stages", {s + 1, s - 1, s + 2});
       }},
      {"warps-of-a-tile", IdeaCategory::Parallelism,
       "another number of warps for a tile",
       "Eight warps on one large tile read each factor least often. Four on a "
       "smaller tile let two blocks share a multiprocessor: one multiplies "
       "while the other stores its results.",
       "tensor-core tiles", true,
       [](const Parameters &d) -> Settings {
         return {{{"tensor_warp_rows", 2}, {"tensor_warp_columns", 2}},
                 {{"tensor_warp_rows", 2}, {"tensor_warp_columns", 4}},
                 {{"tensor_warp_rows", 4}, {"tensor_warp_columns", 2}},
                 {{"tensor_warp_rows", 1}, {"tensor_warp_columns", 4}},
                 {{"tensor_warp_rows", 1}, {"tensor_warp_columns", 2}}};
       }},
      {"parts-of-tensor-sums", IdeaCategory::Parallelism,
       "cut the sums into parts",
       "A small result has few tiles, and a device of more multiprocessors "
       "than tiles stands idle. Cut the sum into parts that are computed at "
       "the same time and added up, in f32, by a second kernel.",
       "tensor-core tiles", true,
       [](const Parameters &d) -> Settings {
         int64_t p = at(d, "contraction_parts");
         return each("contraction_parts", {p * 2, p == 1 ? 4 : p / 2, p * 4});
       }},
      {"band-of-tensor-tiles", IdeaCategory::MemoryAccess,
       "another order of the tiles",
       "Tiles that run at the same time should share rows and columns, so that "
       "the second-level cache serves them. The height of the band in which "
       "tiles are walked trades the one for the other.",
       "tensor-core tiles", true,
       [](const Parameters &d) -> Settings {
         return each("contraction_band", {16, 4, 32, 1});
       }},
      {"resident-tensor-tiles", IdeaCategory::Parallelism,
       "registers for another number of resident blocks",
       "The assembler takes the registers it likes. Told how many blocks a "
       "multiprocessor shall hold, it fits the kernel to them.",
       "tensor-core tiles", false,
       [](const Parameters &d) -> Settings {
         int64_t r = at(d, "tensor_resident");
         return each("tensor_resident", {r + 1, r, r - 1});
       }},

      // For all.
      {"approximations", IdeaCategory::Precision,
       "functions and quotients by the hardware's approximations",
       "Exact exponentials, logarithms and divisions are dozens of "
       "instructions each. The special-function units compute approximations "
       "of f32 with a relative error of about a ten-millionth in a few cycles; "
       "whether a result holds its class of precision is measured.",
       "", true,
       [](const Parameters &d) -> Settings {
         return each("approximate", {1});
       }},

      // Schedules of the loops themselves.
      {"mapped-loops", IdeaCategory::ControlFlow,
       "tile, map to blocks, warps and threads by a schedule",
       "Describe the loops instead of taking the compiler's own kernels: tiles "
       "of the result to blocks, tiles of those to warps or threads, the rest "
       "vectorised in registers. What comes before the last op is computed "
       "where its tile is used.",
       "loops", true,
       [](const Parameters &d) -> Settings {
         return each("tile", {0, 1, 2, 3});
       }},
  };
  return ideas;
}

llvm::ArrayRef<CudaIdea> catalog::allCudaIdeas() { return table(); }

std::vector<int64_t> catalog::neighbouringChoices(llvm::StringRef name,
                                                  int64_t value) {
  const KernelChoice *choice = findKernelChoice(name);
  if (!choice)
    return {};
  std::vector<int64_t> values;
  if (choice->most == 1)
    values = {1 - value};
  else if (value == 0)
    values = {choice->least, 2 * choice->least, 4 * choice->least};
  else if (choice->multiple == 0 || choice->most >= 1024)
    values = {value * 2, value / 2, value * 4, value / 4};
  else
    values = {value + choice->multiple, value - choice->multiple, value * 2,
              value / 2};
  std::vector<int64_t> allowed;
  for (int64_t each : values)
    if (each != value && choice->allows(each) &&
        !llvm::is_contained(allowed, each))
      allowed.push_back(each);
  return allowed;
}
