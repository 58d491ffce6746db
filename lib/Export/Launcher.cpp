//===- Launcher.cpp - Device code and the host code that launches it ------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The host code comes first, the device code last: macros of a program reach to
// the end of its file. It is in a namespace, for its prelude declares names
// that CUDA's headers have, too.
//
//===----------------------------------------------------------------------===//

#include "LauncherParts.h"
#include "fastk/Cuda/Nvrtc.h"
#include "fastk/Export/Writers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace fastk;
using worker::BufferRef;
using worker::PlanScalar;
using worker::TensorMap;

static bool usesDriver(const LaunchRecipe &recipe) {
  return recipe.kind == LaunchRecipe::Code::PTX ||
         !recipe.plan.tensorMaps.empty();
}

/// The headers that a program may include, as far as it does: they go before
/// the namespace.
static std::string includesOf(const LaunchRecipe &recipe) {
  std::string text;
  if (recipe.kind == LaunchRecipe::Code::PTX)
    return text;
  for (llvm::StringRef line : llvm::split(recipe.code, '\n')) {
    line = line.trim();
    if (!line.consume_front("#") || !(line = line.ltrim(), true) ||
        !line.consume_front("include"))
      continue;
    for (const std::string &header : cuda::allowedHeaders) {
      std::string include = "#include <" + header + ">\n";
      if (line.contains(header) && !llvm::StringRef(text).contains(include))
        text += include;
    }
  }
  return text;
}

/// "in0 + 4096" as an address; inputs are read through the pointers given.
static std::string addressOf(const BufferRef &ref,
                             const std::vector<int64_t> &workspaces) {
  int64_t offset = ref.offset;
  std::string base;
  switch (ref.space) {
  case BufferRef::Space::Input:
    base = llvm::formatv("inputs[{0}]", ref.index);
    break;
  case BufferRef::Space::Output:
    base = llvm::formatv("outputs[{0}]", ref.index);
    break;
  case BufferRef::Space::Workspace:
    base = "workspace";
    offset += workspaces[size_t(ref.index)];
    break;
  }
  return llvm::formatv("address({0}, {1})", base, offset);
}

/// A number in its own bits: no reader of decimals changes it.
static std::string valueOf(const PlanScalar &scalar) {
  switch (scalar.type) {
  case PlanScalar::Type::I32:
    return llvm::formatv("int({0})", scalar.integer);
  case PlanScalar::Type::I64:
    // The least number has no literal of its own.
    return llvm::formatv("(long long)({0}ull)", uint64_t(scalar.integer));
  case PlanScalar::Type::F32:
    return llvm::formatv("numberOf<float>({0}u)",
                         llvm::bit_cast<uint32_t>(float(scalar.real)));
  case PlanScalar::Type::F64:
    return llvm::formatv("numberOf<double>({0}ull)",
                         llvm::bit_cast<uint64_t>(scalar.real));
  }
  return "0";
}

static std::string listOf(const std::vector<int64_t> &numbers) {
  std::string text = "{";
  for (int64_t number : numbers)
    text += (text.size() > 1 ? ", " : "") + std::to_string(number);
  return text + "}";
}

/// The words of cuda.h.
static llvm::StringRef driverType(TensorMap::Type type) {
  switch (type) {
  case TensorMap::Type::U8:
    return "UINT8";
  case TensorMap::Type::U16:
    return "UINT16";
  case TensorMap::Type::U32:
    return "UINT32";
  case TensorMap::Type::I32:
    return "INT32";
  case TensorMap::Type::U64:
    return "UINT64";
  case TensorMap::Type::I64:
    return "INT64";
  case TensorMap::Type::F16:
    return "FLOAT16";
  case TensorMap::Type::F32:
    return "FLOAT32";
  case TensorMap::Type::F64:
    return "FLOAT64";
  case TensorMap::Type::BF16:
    return "BFLOAT16";
  case TensorMap::Type::TF32:
    return "TFLOAT32";
  }
  return "UINT8";
}

static std::string encodeMap(size_t number, const TensorMap &map,
                             const std::vector<int64_t> &workspaces) {
  std::vector<int64_t> steps = map.elementStrides;
  steps.resize(map.dims.size(), 1);
  auto word = [](std::string_view ours) {
    return ours == "none" ? std::string("NONE") : std::string(ours);
  };
  std::string promotion = word(worker::toString(map.promotion));
  if (promotion != "NONE")
    promotion = "L2_" + promotion;
  llvm::StringRef fill =
      map.fill == TensorMap::Fill::Zero ? "NONE" : "NAN_REQUEST_ZERO_FMA";
  return llvm::formatv(
      "  CUtensorMap map{0};\n"
      "  if (!encodeTiled(map{0}, CU_TENSOR_MAP_DATA_TYPE_{1},\n"
      "                   {2}, {3}, {4},\n"
      "                   {5}, {6},\n"
      "                   CU_TENSOR_MAP_INTERLEAVE_{7},\n"
      "                   CU_TENSOR_MAP_SWIZZLE_{8},\n"
      "                   CU_TENSOR_MAP_L2_PROMOTION_{9},\n"
      "                   CU_TENSOR_MAP_FLOAT_OOB_FILL_{10}))\n"
      "    return problem;\n",
      number, driverType(map.type), addressOf(map.buffer, workspaces),
      listOf(map.dims), listOf(map.strides), listOf(map.box), listOf(steps),
      word(worker::toString(map.interleave)),
      word(worker::toString(map.swizzle)), promotion, fill);
}

static std::string dim3Of(const worker::Dim3 &extents) {
  return llvm::formatv("dim3({0}, {1}, {2})", extents[0], extents[1],
                       extents[2]);
}

static std::string launchOf(const worker::Launch &launch, size_t kernel,
                            const std::vector<int64_t> &workspaces) {
  std::string arguments;
  for (const worker::PlanArgument &argument : launch.arguments) {
    arguments += ",\n              ";
    if (const auto *buffer = std::get_if<BufferRef>(&argument))
      arguments += addressOf(*buffer, workspaces);
    else if (const auto *map = std::get_if<worker::TensorMapRef>(&argument))
      arguments += "map" + std::to_string(map->index);
    else
      arguments += valueOf(std::get<PlanScalar>(argument));
  }
  return llvm::formatv(
      "  // {0}\n"
      "  if (!launch({1}, {2}, {3}, {4}, {5}, /*cooperative=*/{6},\n"
      "              /*overlapsPrevious=*/{7}, stream{8}))\n"
      "    return problem;\n",
      commentOf(launch.kernel), kernel, dim3Of(launch.grid),
      dim3Of(launch.block), dim3Of(launch.cluster), launch.sharedBytes,
      launch.cooperative, launch.overlapsPrevious, arguments);
}

static std::string memsetOf(const std::string &address, int64_t bytes,
                            unsigned value) {
  return llvm::formatv("  if (!fill({0}, {1}, {2}, stream))\n"
                       "    return problem;\n",
                       address, value, bytes);
}

/// The function that enqueues a call: the plan, step by step.
static std::string enqueueOf(const LaunchRecipe &recipe) {
  std::vector<int64_t> workspaces = recipe.workspaceOffsets();
  std::vector<std::string> kernels = recipe.kernels();
  std::string body;
  for (auto [index, map] : llvm::enumerate(recipe.plan.tensorMaps))
    body += encodeMap(index, map, workspaces);
  for (auto [index, workspace] : llvm::enumerate(recipe.plan.workspaces))
    if (workspace.zero)
      body += memsetOf(
          addressOf({BufferRef::Space::Workspace, int64_t(index), 0, {}},
                    workspaces),
          workspace.bytes, 0);
  for (const worker::PlanStep &step : recipe.plan.steps) {
    if (const auto *memset = std::get_if<worker::Memset>(&step))
      body += memsetOf(addressOf(memset->target, workspaces), memset->bytes,
                       memset->value);
    else if (const auto *launch = std::get_if<worker::Launch>(&step))
      body += launchOf(
          *launch,
          size_t(llvm::find(kernels, launch->kernel) - kernels.begin()),
          workspaces);
  }
  return llvm::formatv(parts::kEnqueue, recipe.module, recipe.workspaceBytes(),
                       body);
}

/// The most dynamic shared memory that a launch of each kernel asks for.
static std::string sharedBytesOf(const LaunchRecipe &recipe) {
  std::vector<int64_t> most;
  for (const std::string &kernel : recipe.kernels()) {
    most.push_back(0);
    for (const worker::PlanStep &step : recipe.plan.steps)
      if (const auto *launch = std::get_if<worker::Launch>(&step))
        if (launch->kernel == kernel)
          most.back() = std::max(most.back(), launch->sharedBytes);
  }
  return listOf(most);
}

/// PTX as literals that every compiler takes, which are one text.
static std::string quotePTX(llvm::StringRef ptx) {
  constexpr size_t kPiece = 8000;
  std::string text;
  for (size_t at = 0; at < ptx.size(); at += kPiece)
    text += "\n    R\"ptx(" + ptx.substr(at, kPiece).str() + ")ptx\"";
  return text;
}

static std::string deviceCodeOf(const LaunchRecipe &recipe) {
  std::string list;
  if (recipe.kind == LaunchRecipe::Code::PTX) {
    for (const std::string &kernel : recipe.kernels())
      list += "\"" + kernel + "\", ";
    return llvm::formatv(parts::kPTXCode, quotePTX(recipe.code), list);
  }
  std::string renames;
  for (const std::string &kernel : recipe.kernels()) {
    renames += "#define " + kernel + " " + recipe.symbolOf(kernel) + "\n";
    list += "(const void *)fastk_device::" + recipe.symbolOf(kernel) + ", ";
  }
  std::string code = recipe.code;
  if (!llvm::StringRef(code).ends_with("\n"))
    code += "\n";
  std::string number = llvm::StringRef(recipe.chip)
                           .drop_front(3)
                           .take_while(llvm::isDigit)
                           .str();
  // As nvcc defines for the device, as sm_90a.
  std::string feature = " __CUDA_ARCH_FEAT_SM" + number + "_ALL\n";
  bool isAlone = recipe.chip.back() == 'a';
  std::string define = isAlone ? "#define" + feature : "";
  std::string undefine = isAlone ? "#undef" + feature : "";
  // Texts with braces of their own are no format strings.
  return llvm::formatv(parts::kPreludeBegin, number + "0", define).str() +
         cuda::preludeText() + parts::kProgramBegin.str() + renames + "\n" +
         code + llvm::formatv(parts::kProgramEnd, list, undefine).str();
}

std::string fastk::writeLauncher(const LaunchRecipe &recipe, bool hasMain) {
  std::string text = "#include <cuda.h>\n#include <cuda_runtime.h>\n";
  if (usesDriver(recipe))
    text += "#include <dlfcn.h>\n";
  text += "#include <atomic>\n#include <cstdio>\n#include <cstring>\n"
          "#include <initializer_list>\n" +
          includesOf(recipe) +
          llvm::formatv(parts::kKernels, recipe.kernels().size(),
                        sharedBytesOf(recipe))
              .str();
  if (usesDriver(recipe))
    text += parts::kDriver;
  if (!recipe.plan.tensorMaps.empty())
    text += parts::kTensorMaps;
  text += recipe.kind == LaunchRecipe::Code::PTX ? parts::kPTXKernel
                                                 : parts::kCudaKernel;
  text += parts::kLaunch;
  text += enqueueOf(recipe);
  if (hasMain)
    text += parts::writeMain(recipe);
  return text + deviceCodeOf(recipe);
}
