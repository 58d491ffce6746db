//===- LaunchPlanVerify.cpp - What a plan may not ask for -----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rules are those of the CUDA driver API for cuLaunchKernelEx and
// cuTensorMapEncodeTiled, checked before anything runs, so that every violation
// has a message of its own instead of CUDA_ERROR_INVALID_VALUE.
//
//===----------------------------------------------------------------------===//

#include "fastk/Protocol/LaunchPlan.h"
#include <algorithm>

using namespace fastk::worker;

namespace {

class Verifier {
public:
  Verifier(const LaunchPlan &plan, const std::vector<int64_t> &inputBytes,
           const std::vector<int64_t> &outputBytes, const PlanLimits &limits,
           PlanOf whose)
      : plan(plan), inputBytes(inputBytes), outputBytes(outputBytes),
        limits(limits), whose(whose) {}

  std::vector<std::string> run();

private:
  void complain(const std::string &problem, const std::string &rule) {
    if (problems.size() < mostProblems)
      problems.push_back(path + problem + " (" + rule + ")");
  }
  /// The buffer that a place is in, and the largest offset that it has there.
  struct Place {
    int64_t bytes, offset;
  };
  /// Where \p ref is in the repeats around it, or nothing with a complaint.
  std::optional<Place> placeOf(const BufferRef &ref, const std::string &field);
  void checkWorkspaces();
  /// Those from \p first to before \p last, which are in `repeats`.
  void checkSteps(size_t first, size_t last, const std::string &list);
  void check(const Repeat &repeat, size_t first, size_t last);
  void check(const Launch &launch, bool isFirst);
  void check(const Memset &memset);
  void check(const TensorMap &map);
  void checkBox(const TensorMap &map);
  void checkExtent(const TensorMap &map);
  void checkMotions(const TensorMap &map, const std::string &field);

  /// Nobody reads more of them.
  static constexpr size_t mostProblems = 64;
  const LaunchPlan &plan;
  const std::vector<int64_t> &inputBytes, &outputBytes;
  const PlanLimits &limits;
  const PlanOf whose;
  /// How often each of those around what is checked runs, the outermost first.
  std::vector<int64_t> repeats;
  std::string path;
  std::vector<std::string> problems;
};

} // namespace

int64_t fastk::worker::workspaceLimit(int64_t memoryBytes) {
  constexpr int64_t programs = 4;
  return memoryBytes > 0 ? std::min(memoryBytes / programs, mostWorkspaceBytes)
                         : mostWorkspaceBytes;
}

static std::string text(int64_t number) { return std::to_string(number); }

static std::string text(const Dim3 &dims) {
  return text(dims[0]) + "x" + text(dims[1]) + "x" + text(dims[2]);
}

/// Saturates: extents come from outside.
static int64_t product(const Dim3 &dims) {
  int64_t result = 1;
  for (int64_t extent : dims)
    if (__builtin_mul_overflow(result, extent, &result))
      return INT64_MAX;
  return result;
}

/// Adds the least and the most of a motion of \p count iterations. False where
/// that is beyond what an offset may be.
static bool addReach(const Motion &motion, int64_t count, int64_t &least,
                     int64_t &most) {
  // It is linear in the even iterations, and in the odd ones.
  int64_t low = 0, high = 0;
  for (int64_t iteration : {int64_t(1), count - 2, count - 1}) {
    int64_t bytes = 0;
    if (iteration < 0 || iteration >= count)
      continue;
    if (__builtin_mul_overflow(motion.each, iteration, &bytes) ||
        __builtin_add_overflow(bytes, iteration % 2 ? motion.odd : 0, &bytes))
      return false;
    low = std::min(low, bytes);
    high = std::max(high, bytes);
  }
  return !__builtin_add_overflow(least, low, &least) &&
         !__builtin_add_overflow(most, high, &most);
}

std::optional<Verifier::Place> Verifier::placeOf(const BufferRef &ref,
                                                 const std::string &field) {
  auto missing = [&](const char *what, const char *prefix, size_t count) {
    complain(field + " names " + prefix + text(ref.index) + ", but there are " +
                 text(int64_t(count)) + " " + what,
             std::string("a buffer is an operand, a result or a workspace of "
                         "the plan, counted from 0"));
    return std::nullopt;
  };
  size_t index = size_t(ref.index);
  int64_t bytes = -1;
  switch (ref.space) {
  case BufferRef::Space::Input:
    if (index >= inputBytes.size())
      return missing("operands", "in", inputBytes.size());
    bytes = inputBytes[index];
    break;
  case BufferRef::Space::Output:
    if (index >= outputBytes.size())
      return missing("results", "out", outputBytes.size());
    bytes = outputBytes[index];
    break;
  case BufferRef::Space::Workspace:
    if (index >= plan.workspaces.size())
      return missing("workspaces", "ws", plan.workspaces.size());
    bytes = plan.workspaces[index].bytes;
    break;
  }
  if (ref.motions.size() > repeats.size()) {
    complain(field + " moves in " + text(int64_t(ref.motions.size())) +
                 " repeats, but is in " + text(int64_t(repeats.size())),
             "a place moves with the iterations of the repeats around it");
    return std::nullopt;
  }
  int64_t least = ref.offset, most = ref.offset;
  bool overflow = false;
  for (size_t i = 0; i < ref.motions.size(); ++i)
    overflow |= !addReach(ref.motions[i], repeats[i], least, most);
  if (overflow || least < 0 || most >= bytes) {
    std::string where = overflow ? "2^63 and beyond"
                        : least == most
                            ? "byte " + text(least)
                            : "bytes " + text(least) + " to " + text(most);
    complain(field + " begins at " + where + " of a buffer of " + text(bytes),
             "an offset lies within its buffer");
    return std::nullopt;
  }
  return Place{bytes, most};
}

void Verifier::checkWorkspaces() {
  int64_t total = 0;
  for (const Workspace &workspace : plan.workspaces)
    if (__builtin_add_overflow(total, workspace.bytes, &total))
      total = INT64_MAX;
  if (total > limits.workspaceBytes) {
    path = "$.workspaces";
    complain(
        ": take " +
            (total == INT64_MAX ? std::string("far too many") : text(total)) +
            " bytes together",
        "all workspaces of a plan hold at most " + text(limits.workspaceBytes) +
            " bytes" +
            (limits.workspaceBytes < mostWorkspaceBytes ? " on this device"
                                                        : ""));
  }
}

void Verifier::check(const Launch &launch, bool isFirst) {
  if (std::string problem = checkKernelName(launch.kernel); !problem.empty())
    complain(".launch: " + problem, "a launch names an entry of the program");
  if (product(launch.block) > limits.threadsPerBlock)
    complain(".block: " + text(launch.block) + " is " +
                 text(product(launch.block)) + " threads",
             "a block has at most " + text(limits.threadsPerBlock) +
                 " threads on this device");
  for (size_t i = 0; i < 3; ++i) {
    const char axis = "xyz"[i];
    if (launch.block[i] > limits.block[i])
      complain(".block: " + text(launch.block[i]) + " threads in " + axis,
               std::string("a block has at most ") + text(limits.block[i]) +
                   " threads in " + axis);
    if (launch.grid[i] > limits.grid[i])
      complain(".grid: " + text(launch.grid[i]) + " blocks in " + axis,
               std::string("a grid has at most ") + text(limits.grid[i]) +
                   " blocks in " + axis);
    if (launch.grid[i] % launch.cluster[i] != 0)
      complain(".cluster: " + text(launch.cluster[i]) +
                   " does not divide the " + text(launch.grid[i]) +
                   " blocks of the grid in " + axis,
               "a grid is made of whole clusters");
  }
  if (product(launch.cluster) > limits.clusterBlocks)
    complain(".cluster: " + text(launch.cluster) + " is " +
                 text(product(launch.cluster)) + " blocks",
             "a portable cluster has at most " + text(limits.clusterBlocks) +
                 " blocks");
  if (product(launch.cluster) > 1 && limits.capability < 90)
    complain(".cluster: this device is sm_" + text(limits.capability),
             "clusters need sm_90 or later");
  if (launch.sharedBytes > limits.sharedBytes)
    complain(".shared_bytes: " + text(launch.sharedBytes),
             "a block has at most " + text(limits.sharedBytes) +
                 " bytes of dynamic shared memory on this device");
  if (launch.overlapsPrevious && isFirst)
    complain(".overlaps_previous: no launch comes before this one",
             "only a launch that directly follows another may overlap it");
  if (launch.overlapsPrevious && limits.capability < 90)
    complain(".overlaps_previous: this device is sm_" + text(limits.capability),
             "programmatic stream serialisation needs sm_90 or later");
  // At most 32 blocks live on a multiprocessor; how many of this kernel do, the
  // driver says when it is loaded.
  if (launch.cooperative && product(launch.grid) > 32 * limits.multiprocessors)
    complain(".grid: " + text(product(launch.grid)) +
                 " blocks of a cooperative launch",
             "a cooperative grid is resident as a whole, at most 32 blocks on "
             "each of " +
                 text(limits.multiprocessors) + " multiprocessors");

  int64_t bytes = 0;
  auto take = [&](int64_t size, int64_t alignment) {
    bytes = (bytes + alignment - 1) / alignment * alignment + size;
  };
  for (size_t i = 0; i < launch.arguments.size(); ++i) {
    const PlanArgument &argument = launch.arguments[i];
    std::string field = ".arguments[" + text(int64_t(i)) + "]:";
    if (const auto *buffer = std::get_if<BufferRef>(&argument)) {
      placeOf(*buffer, field);
      take(8, 8);
    } else if (const auto *map = std::get_if<TensorMapRef>(&argument)) {
      if (size_t(map->index) >= plan.tensorMaps.size())
        complain(field + " names map" + text(map->index) + ", but there are " +
                     text(int64_t(plan.tensorMaps.size())) + " tensor maps",
                 "a tensor map is one of the plan, counted from 0");
      else
        checkMotions(plan.tensorMaps[size_t(map->index)], field);
      take(128, 64);
    } else {
      PlanScalar::Type type = std::get<PlanScalar>(argument).type;
      int64_t size =
          type == PlanScalar::Type::I32 || type == PlanScalar::Type::F32 ? 4
                                                                         : 8;
      take(size, size);
    }
  }
  if (bytes > limits.argumentBytes)
    complain(".arguments: take " + text(bytes) + " bytes",
             "the arguments of a launch take at most " +
                 text(limits.argumentBytes) + " bytes");
}

void Verifier::check(const Memset &memset) {
  if (memset.target.space == BufferRef::Space::Input)
    complain(".memset: sets an operand", "operands are only read");
  std::optional<Place> place = placeOf(memset.target, ".memset:");
  if (place && memset.bytes > place->bytes - place->offset)
    complain(".bytes: sets " + text(memset.bytes) + " bytes from byte " +
                 text(place->offset) + " of a buffer of " + text(place->bytes),
             "a memset stays within its buffer");
}

/// Bytes of a swizzled row, 0 where rows are not swizzled.
static int64_t spanOf(TensorMap::Swizzle swizzle) {
  switch (swizzle) {
  case TensorMap::Swizzle::None:
    return 0;
  case TensorMap::Swizzle::B32:
    return 32;
  case TensorMap::Swizzle::B64:
    return 64;
  case TensorMap::Swizzle::B128:
    return 128;
  }
  return 0;
}

void Verifier::checkBox(const TensorMap &map) {
  int64_t size = byteSize(map.type);
  int64_t boxBytes = size;
  for (size_t i = 0; i < map.box.size(); ++i) {
    if (map.box[i] > 256)
      complain(".box[" + text(int64_t(i)) + "]: " + text(map.box[i]),
               "a box has at most 256 elements in a dimension");
    if (__builtin_mul_overflow(boxBytes, map.box[i], &boxBytes))
      boxBytes = INT64_MAX;
  }
  if (boxBytes > limits.sharedBytes)
    complain(".box: holds " + text(boxBytes) + " bytes",
             "a box fits into shared memory, " + text(limits.sharedBytes) +
                 " bytes");
  if (map.box.empty() || map.box[0] > 256)
    return;
  int64_t row = map.box[0] * size;
  if (map.interleave == TensorMap::Interleave::None && row % 16 != 0)
    complain(".box[0]: is " + text(row) + " bytes",
             "the innermost extent of a box is a multiple of 16 bytes");
  int64_t span = spanOf(map.swizzle);
  if (span && map.interleave == TensorMap::Interleave::None && row > span)
    complain(".box[0]: is " + text(row) + " bytes, the swizzle " + text(span),
             "the innermost extent of a box fits into the swizzle's span");
}

/// Bytes from where the map begins to its end; nothing for 2^63 and more.
static std::optional<int64_t> extentOf(const TensorMap &map) {
  int64_t last = 0;
  bool overflow =
      __builtin_mul_overflow(map.dims[0], byteSize(map.type), &last);
  for (size_t i = 1; i < map.dims.size(); ++i) {
    int64_t reach = 0;
    overflow |=
        __builtin_mul_overflow(map.dims[i] - 1, map.strides[i - 1], &reach) ||
        __builtin_add_overflow(last, reach, &last);
  }
  return overflow ? std::nullopt : std::optional(last);
}

/// The map stays within its buffer: device code could read beyond it otherwise.
void Verifier::checkExtent(const TensorMap &map) {
  BufferRef begin = map.buffer;
  // How it moves is the affair of the launches that it is for.
  begin.motions.clear();
  std::optional<Place> place = placeOf(begin, ".buffer:");
  if (!place)
    return;
  std::optional<int64_t> extent = extentOf(map);
  if (!extent || *extent > place->bytes - place->offset)
    complain(".dims: reach to byte " +
                 (extent ? text(*extent + place->offset)
                         : std::string("2^63 and beyond")) +
                 " of a buffer of " + text(place->bytes),
             "a tensor map stays within its buffer");
}

void Verifier::checkMotions(const TensorMap &map, const std::string &field) {
  // What is wrong with the map itself is said at the map.
  if (map.buffer.motions.empty() || map.dims.empty() ||
      map.strides.size() + 1 != map.dims.size())
    return;
  std::optional<Place> place = placeOf(map.buffer, field);
  std::optional<int64_t> extent = extentOf(map);
  if (place && extent && *extent > place->bytes - place->offset)
    complain(field + " moves its tensor map to byte " +
                 text(*extent + place->offset) + " of a buffer of " +
                 text(place->bytes),
             "a tensor map stays within its buffer");
}

void Verifier::check(const TensorMap &map) {
  if (limits.capability < 90)
    complain(": this device is sm_" + text(limits.capability),
             "tensor maps need sm_90 or later");
  size_t rank = map.dims.size();
  bool interleaved = map.interleave != TensorMap::Interleave::None;
  if (rank < (interleaved ? 3 : 1) || rank > 5) {
    complain(".dims: has " + text(int64_t(rank)) + " dimensions",
             "a tensor map has 1 to 5 dimensions, with interleave 3 to 5");
    return;
  }
  auto sameRank = [&](const char *field, size_t count, size_t wanted,
                      const char *rule) {
    if (count == wanted)
      return true;
    complain(std::string(field) + ": has " + text(int64_t(count)) +
                 " entries for " + text(int64_t(rank)) + " dimensions",
             rule);
    return false;
  };
  bool whole =
      sameRank(".strides", map.strides.size(), rank - 1,
               "strides are given for every dimension but the innermost");
  sameRank(".box", map.box.size(), rank,
           "a box has an extent for every dimension");
  if (!map.elementStrides.empty())
    sameRank(".element_strides", map.elementStrides.size(), rank,
             "element strides are given for every dimension or for none");
  bool wide = map.interleave == TensorMap::Interleave::B32;
  int64_t alignment = wide ? 32 : 16;
  bool isAligned = map.buffer.offset % alignment == 0;
  for (const Motion &motion : map.buffer.motions)
    isAligned &= motion.each % alignment == 0 && motion.odd % alignment == 0;
  if (!isAligned)
    complain(".buffer: begins at byte " + text(map.buffer.offset) +
                 (map.buffer.motions.empty() ? "" : " and moves"),
             "a tensor map begins at a multiple of " + text(alignment) +
                 " bytes");
  for (size_t i = 0; i < rank; ++i)
    if (map.dims[i] > int64_t(1) << 32)
      complain(".dims[" + text(int64_t(i)) + "]: " + text(map.dims[i]),
               "an extent is at most 2^32");
  for (size_t i = 0; i < map.strides.size(); ++i) {
    if (map.strides[i] % alignment != 0)
      complain(".strides[" + text(int64_t(i)) + "]: " + text(map.strides[i]) +
                   " bytes",
               "a stride is a multiple of " + text(alignment) + " bytes");
    if (map.strides[i] >= int64_t(1) << 40)
      complain(".strides[" + text(int64_t(i)) + "]: " + text(map.strides[i]) +
                   " bytes",
               "a stride is less than 2^40 bytes");
  }
  for (size_t i = 0; i < map.elementStrides.size(); ++i)
    if (map.elementStrides[i] > 8)
      complain(".element_strides[" + text(int64_t(i)) +
                   "]: " + text(map.elementStrides[i]),
               "an element stride is 1 to 8");
  if (wide && map.swizzle != TensorMap::Swizzle::B32)
    complain(".swizzle: does not fit interleave 32B",
             "interleave 32B goes with swizzle 32B");
  bool isFloat =
      map.type == TensorMap::Type::F16 || map.type == TensorMap::Type::BF16 ||
      map.type == TensorMap::Type::F32 || map.type == TensorMap::Type::TF32 ||
      map.type == TensorMap::Type::F64;
  if (map.fill == TensorMap::Fill::NaN && !isFloat)
    complain(".oob_fill: is nan for an integer type",
             "only float tensor maps are filled with NaN");
  checkBox(map);
  if (whole)
    checkExtent(map);
}

void Verifier::check(const Repeat &repeat, size_t first, size_t last) {
  if (whose != PlanOf::Model)
    complain(": repeats steps", "only the plan of a whole model repeats steps");
  if (repeats.size() == mostRepeatDepth)
    complain(": is in " + text(int64_t(repeats.size())) + " others",
             "at most " + text(int64_t(mostRepeatDepth)) +
                 " repeats are within each other");
  if (repeat.count < 1 || repeat.size < 1)
    complain(": repeats " + text(repeat.size) + " steps " + text(repeat.count) +
                 " times",
             "a repeat has steps, and runs");
  if (repeat.size > int64_t(last - first)) {
    complain(": repeats " + text(repeat.size) + " steps, but " +
                 text(int64_t(last - first)) + " come behind it",
             "a repeat ends where the list does that it is in");
    return;
  }
  if (repeats.size() == mostRepeatDepth || repeat.size < 1)
    return;
  repeats.push_back(repeat.count);
  checkSteps(first, first + size_t(repeat.size), path + ".steps");
  repeats.pop_back();
}

void Verifier::checkSteps(size_t first, size_t last, const std::string &list) {
  int64_t number = 0;
  // What comes before the first step of a repeat is another step in the first
  // iteration than in the others: nothing may overlap it.
  bool followsLaunch = false;
  for (size_t i = first; i < last && problems.size() < mostProblems; ++i) {
    path = list + "[" + text(number++) + "]";
    const auto *launch = std::get_if<Launch>(&plan.steps[i]);
    if (launch) {
      check(*launch, !followsLaunch);
    } else if (const auto *memset = std::get_if<Memset>(&plan.steps[i])) {
      check(*memset);
    } else {
      const auto &repeat = std::get<Repeat>(plan.steps[i]);
      check(repeat, i + 1, last);
      i += size_t(std::clamp<int64_t>(repeat.size, 0, int64_t(last - i - 1)));
    }
    followsLaunch = launch != nullptr;
  }
}

std::vector<std::string> Verifier::run() {
  checkWorkspaces();
  for (size_t i = 0; i < plan.tensorMaps.size(); ++i) {
    path = "$.tensor_maps[" + text(int64_t(i)) + "]";
    check(plan.tensorMaps[i]);
  }
  // A longer list is refused where it is read.
  if (whose == PlanOf::Model && plan.steps.size() > mostPlanEntries(whose)) {
    path = "$.steps";
    complain(": has " + text(int64_t(plan.steps.size())) + " entries",
             "a model's plan has at most " +
                 text(int64_t(mostPlanEntries(whose))) + " steps");
  }
  checkSteps(0, plan.steps.size(), "$.steps");
  return std::move(problems);
}

std::vector<std::string>
fastk::worker::verifyLaunchPlan(const LaunchPlan &plan,
                                const std::vector<int64_t> &inputBytes,
                                const std::vector<int64_t> &outputBytes,
                                const PlanLimits &limits, PlanOf whose) {
  return Verifier(plan, inputBytes, outputBytes, limits, whose).run();
}
