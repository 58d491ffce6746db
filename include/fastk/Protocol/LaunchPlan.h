//===- LaunchPlan.h - How a GPU program is launched -------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The vocabulary's plan: launches and memsets in order, the scratch memory and
// the tensor maps they use; for a model, repeats of them. Data, never host
// code: whoever proposes a kernel cannot make the host do anything else. Its
// JSON form (format 1) is described in docs/formats/plan.md; in a
// `fastk.lowering` it is a region of plan ops.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_PROTOCOL_LAUNCHPLAN_H
#define FASTK_PROTOCOL_LAUNCHPLAN_H

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace fastk::worker {

/// The only plan format there is.
inline constexpr int64_t planFormat = 1;

/// Whose plan it is. That of a whole model is made by fastk itself: it may
/// repeat steps, have as many as the model needs, and do nothing where the
/// results have no elements.
enum class PlanOf { Program, Model };

/// How far a place lies beyond its offset in an iteration of a repeat around
/// it: `each` bytes for every iteration before, and `odd` bytes in every second
/// one. So loops go through a tensor, and use two buffers alternately.
struct Motion {
  int64_t each = 0, odd = 0;
  int64_t at(int64_t iteration) const {
    return each * iteration + odd * (iteration % 2);
  }
};

/// A place in the memory a program is given: an operand, a result or a
/// workspace of its own. Written "in0", "out0", "ws0", with "+BYTES" behind it
/// where an offset is meant.
struct BufferRef {
  enum class Space { Input, Output, Workspace };
  Space space = Space::Input;
  int64_t index = 0;
  /// In bytes from the buffer's start.
  int64_t offset = 0;
  /// In the repeats around it, the outermost first; it stands still in those
  /// that are not mentioned.
  std::vector<Motion> motions = {};
};

/// A number passed by value, in the type's own bits.
struct PlanScalar {
  enum class Type { I32, I64, F32, F64 };
  Type type = Type::I32;
  int64_t integer = 0;
  double real = 0;
};

/// The tensor map of that number in LaunchPlan::tensorMaps, by value (128
/// bytes).
struct TensorMapRef {
  int64_t index = 0;
};

using PlanArgument = std::variant<BufferRef, PlanScalar, TensorMapRef>;

/// x, y, z.
using Dim3 = std::array<int64_t, 3>;

/// One kernel launch. Launches run in order on one stream: each sees what the
/// ones before it wrote.
struct Launch {
  /// The entry's name in the program.
  std::string kernel;
  /// Blocks, threads of a block, and blocks of a cluster.
  Dim3 grid = {1, 1, 1};
  Dim3 block = {1, 1, 1};
  Dim3 cluster = {1, 1, 1};
  /// Dynamic shared memory in bytes; above 48 KB it is opted into.
  int64_t sharedBytes = 0;
  /// All blocks are resident at once, so they may wait for each other.
  bool cooperative = false;
  /// May start while the launch before it ends (programmatic stream
  /// serialisation); the kernel waits by griddepcontrol.wait.
  bool overlapsPrevious = false;
  std::vector<PlanArgument> arguments;
};

/// Sets `bytes` bytes from `target` to `value`.
struct Memset {
  BufferRef target;
  int64_t bytes = 0;
  uint8_t value = 0;
};

/// The `size` steps behind it, `count` times, repeats among them. Only the plan
/// of a model has one.
struct Repeat {
  int64_t count = 1;
  int64_t size = 0;
};

using PlanStep = std::variant<Launch, Memset, Repeat>;

/// Scratch memory, 256-byte aligned. What it holds from an earlier call is
/// undefined; with `zero` it is zeroed before the first step of every call.
struct Workspace {
  int64_t bytes = 0;
  bool zero = false;
};

/// The fields of cuTensorMapEncodeTiled, dimension 0 innermost.
struct TensorMap {
  enum class Type { U8, U16, U32, I32, U64, I64, F16, F32, F64, BF16, TF32 };
  enum class Interleave { None, B16, B32 };
  enum class Swizzle { None, B32, B64, B128 };
  enum class Promotion { None, B64, B128, B256 };
  enum class Fill { Zero, NaN };

  BufferRef buffer;
  Type type = Type::F32;
  /// 1 to 5 extents, in elements.
  std::vector<int64_t> dims;
  /// In bytes, of dimensions 1 and up: one fewer than `dims`.
  std::vector<int64_t> strides;
  std::vector<int64_t> box;
  /// Empty: all 1.
  std::vector<int64_t> elementStrides;
  Interleave interleave = Interleave::None;
  Swizzle swizzle = Swizzle::None;
  Promotion promotion = Promotion::None;
  Fill fill = Fill::Zero;
};

/// The most entries of each list of a plan. A model has a launch or more for
/// every op that is not part of another's kernel.
constexpr size_t mostPlanEntries(PlanOf whose) {
  return whose == PlanOf::Model ? size_t(1) << 20 : 4096;
}

/// The most repeats within each other.
inline constexpr size_t mostRepeatDepth = 8;

struct LaunchPlan {
  std::vector<Workspace> workspaces;
  std::vector<TensorMap> tensorMaps;
  std::vector<PlanStep> steps;
};

/// The entries that a plan launches, without the name of their image; they
/// point into \p plan.
std::vector<std::string_view> launchedKernels(const LaunchPlan &plan);

/// The most that the format knows: of all workspaces of a plan together.
inline constexpr int64_t mostWorkspaceBytes = int64_t(1) << 40;

/// What the workspaces of a plan may take together of a device with
/// \p memoryBytes of memory: a quarter, for oracle, baseline, incumbent and
/// candidate are there at the same time. Where the memory is not known (0), and
/// beyond it, what the format knows.
int64_t workspaceLimit(int64_t memoryBytes);

/// What a device can take, as far as a plan may ask for it. The defaults are
/// those of sm_90, of whatever memory.
struct PlanLimits {
  int64_t threadsPerBlock = 1024;
  Dim3 block = {1024, 1024, 64};
  Dim3 grid = {2147483647, 65535, 65535};
  /// Blocks of a portable cluster.
  int64_t clusterBlocks = 8;
  /// Dynamic shared memory of one block after opting in, in bytes.
  int64_t sharedBytes = 232448;
  /// Bytes of one launch's arguments.
  int64_t argumentBytes = 4096;
  int64_t multiprocessors = 132;
  /// Of all workspaces of a plan together.
  int64_t workspaceBytes = mostWorkspaceBytes;
  /// Compute capability, as 90 for sm_90; clusters and tensor maps need 90.
  int64_t capability = 90;
};

/// Bytes of an element of that type.
int64_t byteSize(TensorMap::Type type);

/// The words of the JSON form.
std::string_view toString(TensorMap::Type type);
std::string_view toString(TensorMap::Interleave interleave);
std::string_view toString(TensorMap::Swizzle swizzle);
std::string_view toString(TensorMap::Promotion promotion);
std::string_view toString(TensorMap::Fill fill);
std::optional<TensorMap::Type> parseTensorMapType(std::string_view text);
std::optional<TensorMap::Interleave> parseInterleave(std::string_view text);
std::optional<TensorMap::Swizzle> parseSwizzle(std::string_view text);
std::optional<TensorMap::Promotion> parsePromotion(std::string_view text);
std::optional<TensorMap::Fill> parseFill(std::string_view text);

/// What is wrong with the name of a kernel, as the rest of a sentence; empty
/// where it is one that PTX can spell, `ENTRY` or `IMAGE::ENTRY`, of at most
/// 1024 characters.
std::string checkKernelName(std::string_view name);

/// Reads a plan, in time that grows with its length and no faster. On failure
/// returns nothing and sets \p error to one sentence that names the place in
/// the JSON (as `$.steps[0].grid`) and the remedy.
std::optional<LaunchPlan> parseLaunchPlan(std::string_view text,
                                          std::string &error,
                                          PlanOf whose = PlanOf::Program);

/// The plan as JSON over several lines, one step or map a line, as people read
/// it; parseLaunchPlan gives the same plan back.
std::string toJSON(const LaunchPlan &plan);

/// What in \p plan breaks a rule, each as one sentence that begins with its
/// place (as `$.steps[0].block`; steps in a repeat are counted from its first)
/// and ends with the rule: all there is, or the first 64. \p inputBytes and
/// \p outputBytes are the sizes of the program's operands and results. Empty:
/// the plan may be run.
std::vector<std::string>
verifyLaunchPlan(const LaunchPlan &plan, const std::vector<int64_t> &inputBytes,
                 const std::vector<int64_t> &outputBytes,
                 const PlanLimits &limits, PlanOf whose = PlanOf::Program);

} // namespace fastk::worker

#endif // FASTK_PROTOCOL_LAUNCHPLAN_H
