//===- LoadedProgram.cpp - A GPU program, loaded and launched -------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Cuda/LoadedProgram.h"
#include "fastk/Cuda/Cubin.h"
#include <algorithm>

using namespace fastk;
using namespace fastk::cuda;
using worker::BufferRef;
using worker::PlanScalar;
using worker::TensorMap;

LoadedProgram::~LoadedProgram() {
  for (auto &[name, module] : modules)
    driver.cuModuleUnload(module);
}

static Launch toLaunch(const worker::Launch &launch) {
  auto dim = [](const worker::Dim3 &extents) {
    return Dim3{unsigned(extents[0]), unsigned(extents[1]),
                unsigned(extents[2])};
  };
  Launch result;
  result.grid = dim(launch.grid);
  result.block = dim(launch.block);
  result.cluster = dim(launch.cluster);
  result.dynamicSharedBytes = unsigned(launch.sharedBytes);
  result.cooperative = launch.cooperative;
  result.programmaticStreamSerialization = launch.overlapsPrevious;
  return result;
}

/// A cooperative grid that does not fit would wait for itself.
std::string LoadedProgram::checkResidency(const worker::Launch &launch,
                                          CUfunction function) const {
  if (!launch.cooperative)
    return {};
  int blocks = 0, multiprocessors = 0;
  CUdevice device = 0;
  int64_t threads = launch.block[0] * launch.block[1] * launch.block[2];
  std::string error = driver.call(driver.cuCtxGetDevice, &device);
  if (error.empty())
    error = driver.call(driver.cuDeviceGetAttribute, &multiprocessors,
                        CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
  if (error.empty())
    error =
        driver.call(driver.cuOccupancyMaxActiveBlocksPerMultiprocessor, &blocks,
                    function, int(threads), size_t(launch.sharedBytes));
  int64_t grid = launch.grid[0] * launch.grid[1] * launch.grid[2];
  if (!error.empty() || grid <= int64_t(blocks) * multiprocessors)
    return error;
  return "the cooperative launch of " + launch.kernel + " has " +
         std::to_string(grid) + " blocks, but only " +
         std::to_string(int64_t(blocks) * multiprocessors) +
         " are resident at once";
}

std::string LoadedProgram::findFunction(const std::string &kernel,
                                        CUfunction &function) {
  size_t colons = kernel.find("::");
  std::string image = colons == kernel.npos ? "" : kernel.substr(0, colons);
  std::string entry =
      colons == kernel.npos ? kernel : kernel.substr(colons + 2);
  auto module = modules.find(image);
  if (module == modules.end())
    return "kernel '" + kernel + "': the program has no image '" + image + "'";
  return getFunction(driver, module->second, entry.c_str(), function);
}

CUmodule LoadedProgram::module(std::string_view image) const {
  auto at = modules.find(image);
  return at == modules.end() ? nullptr : at->second;
}

std::string LoadedProgram::load(const std::vector<CodeImage> &images,
                                worker::LaunchPlan thePlan) {
  plan = std::move(thePlan);
  std::string error;
  for (const CodeImage &image : images) {
    CUmodule module = nullptr;
    if (error = loadModule(driver, image.code, module); !error.empty())
      return image.name.empty() ? error
                                : std::string(image.name) + ": " + error;
    modules.emplace(image.name, module);
  }
  // The most that any launch of an entry asks for, and what it takes.
  std::map<CUfunction, int64_t> shared;
  std::map<CUfunction, std::optional<std::vector<uint64_t>>> parameters;
  for (const worker::PlanStep &step : plan.steps) {
    const auto *launch = std::get_if<worker::Launch>(&step);
    CUfunction function = nullptr;
    if (launch && error.empty())
      error = findFunction(launch->kernel, function);
    functions.push_back(function);
    if (!launch || !error.empty())
      continue;
    auto [most, isNew] = shared.try_emplace(function, 0);
    // Code that the driver loads when it is first asked for is there after
    // this.
    FunctionAttributes attributes;
    if (isNew) {
      error = getAttributes(driver, function, attributes);
      // What needs no leave includes the kernel's static shared memory.
      most->second = std::max(0, 48 * 1024 - attributes.staticSharedBytes);
    }
    if (error.empty() && launch->sharedBytes > most->second) {
      most->second = launch->sharedBytes;
      error =
          setMaxDynamicShared(driver, function, unsigned(launch->sharedBytes));
    }
    // The driver reads as much behind each pointer as the kernel takes.
    if (isNew && error.empty())
      error = getParameters(driver, function, parameters[function]);
    if (error.empty() && parameters[function])
      error = compareArguments(*launch, *parameters[function]);
    if (error.empty())
      error = checkResidency(*launch, function);
  }
  return error;
}

std::string LoadedProgram::setVariable(const std::string &name,
                                       std::string_view bytes) {
  std::string error = "the program has no image";
  for (const auto &[image, module] : modules) {
    CUdeviceptr address = 0;
    size_t size = 0;
    error = driver.call(driver.cuModuleGetGlobal, &address, &size, module,
                        name.c_str());
    if (error.empty() && size < bytes.size())
      error = "the variable '" + name + "' is too small";
    if (error.empty())
      error =
          driver.call(driver.cuMemcpyHtoD, address,
                      static_cast<const void *>(bytes.data()), bytes.size());
    if (!error.empty())
      break;
  }
  return error;
}

static CUdeviceptr addressOf(const BufferRef &ref,
                             const DeviceBuffers &buffers) {
  const std::vector<CUdeviceptr> &group =
      ref.space == BufferRef::Space::Input    ? buffers.inputs
      : ref.space == BufferRef::Space::Output ? buffers.outputs
                                              : buffers.workspaces;
  return group.at(size_t(ref.index)) + CUdeviceptr(ref.offset);
}

static CUtensorMapDataType toDriver(TensorMap::Type type) {
  switch (type) {
  case TensorMap::Type::U8:
    return CU_TENSOR_MAP_DATA_TYPE_UINT8;
  case TensorMap::Type::U16:
    return CU_TENSOR_MAP_DATA_TYPE_UINT16;
  case TensorMap::Type::U32:
    return CU_TENSOR_MAP_DATA_TYPE_UINT32;
  case TensorMap::Type::I32:
    return CU_TENSOR_MAP_DATA_TYPE_INT32;
  case TensorMap::Type::U64:
    return CU_TENSOR_MAP_DATA_TYPE_UINT64;
  case TensorMap::Type::I64:
    return CU_TENSOR_MAP_DATA_TYPE_INT64;
  case TensorMap::Type::F16:
    return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  case TensorMap::Type::F32:
    return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  case TensorMap::Type::F64:
    return CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
  case TensorMap::Type::BF16:
    return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  case TensorMap::Type::TF32:
    return CU_TENSOR_MAP_DATA_TYPE_TFLOAT32;
  }
  return CU_TENSOR_MAP_DATA_TYPE_UINT8;
}

std::string LoadedProgram::encodeMap(size_t number, CUdeviceptr address,
                                     CUtensorMap &encoded) const {
  const TensorMap &map = plan.tensorMaps[number];
  std::vector<cuuint64_t> dims(map.dims.begin(), map.dims.end());
  std::vector<cuuint64_t> strides(map.strides.begin(), map.strides.end());
  std::vector<cuuint32_t> box(map.box.begin(), map.box.end());
  std::vector<cuuint32_t> steps(map.elementStrides.begin(),
                                map.elementStrides.end());
  steps.resize(dims.size(), 1);
  strides.resize(std::max<size_t>(dims.size() - 1, 1), 0);
  // The driver numbers these enumerations in the order of ours.
  std::string error = driver.call(
      driver.cuTensorMapEncodeTiled, &encoded, toDriver(map.type),
      cuuint32_t(dims.size()), reinterpret_cast<void *>(address),
      const_cast<const cuuint64_t *>(dims.data()),
      const_cast<const cuuint64_t *>(strides.data()),
      const_cast<const cuuint32_t *>(box.data()),
      const_cast<const cuuint32_t *>(steps.data()),
      CUtensorMapInterleave(map.interleave), CUtensorMapSwizzle(map.swizzle),
      CUtensorMapL2promotion(map.promotion), CUtensorMapFloatOOBfill(map.fill));
  return error.empty() ? error
                       : "tensor map " + std::to_string(number) + ": " + error;
}

std::string LoadedProgram::encodeMaps(const DeviceBuffers &buffers,
                                      std::vector<CUtensorMap> &maps) const {
  maps.resize(plan.tensorMaps.size());
  std::string error;
  for (size_t i = 0; i < maps.size() && error.empty(); ++i)
    error =
        encodeMap(i, addressOf(plan.tensorMaps[i].buffer, buffers), maps[i]);
  return error;
}

static BoundProgram::Step memsetOf(CUdeviceptr target, int64_t bytes,
                                   int64_t value) {
  BoundProgram::Step step;
  step.target = target;
  step.bytes = size_t(bytes);
  step.value = static_cast<unsigned char>(value);
  return step;
}

static BoundProgram::Value valueOf(const PlanScalar &scalar) {
  BoundProgram::Value value = {};
  switch (scalar.type) {
  case PlanScalar::Type::I32:
    value.i32 = int32_t(scalar.integer);
    break;
  case PlanScalar::Type::I64:
    value.i64 = scalar.integer;
    break;
  case PlanScalar::Type::F32:
    value.f32 = float(scalar.real);
    break;
  case PlanScalar::Type::F64:
    value.f64 = scalar.real;
    break;
  }
  return value;
}

std::string LoadedProgram::bind(const DeviceBuffers &buffers,
                                BoundProgram &bound) const {
  if (std::string error = encodeMaps(buffers, bound.maps); !error.empty())
    return error;
  for (size_t i = 0; i < plan.workspaces.size(); ++i)
    if (plan.workspaces[i].zero)
      bound.steps.push_back(
          memsetOf(buffers.workspaces[i], plan.workspaces[i].bytes, 0));
  for (size_t number = 0; number < plan.steps.size(); ++number) {
    const worker::PlanStep &planned = plan.steps[number];
    BoundProgram::Step step;
    using Moving = BoundProgram::Moving;
    auto addMoving = [&](const BufferRef &ref, Moving::What what,
                         size_t index) {
      if (!ref.motions.empty())
        step.moving.push_back(
            {what, index, addressOf(ref, buffers), &ref.motions});
    };
    if (const auto *repeat = std::get_if<worker::Repeat>(&planned)) {
      step.count = repeat->count;
      step.size = size_t(repeat->size);
      bound.steps.push_back(std::move(step));
      continue;
    }
    if (const auto *memset = std::get_if<worker::Memset>(&planned)) {
      step = memsetOf(addressOf(memset->target, buffers), memset->bytes,
                      memset->value);
      addMoving(memset->target, Moving::What::Target, 0);
      bound.steps.push_back(std::move(step));
      continue;
    }
    const auto &launch = std::get<worker::Launch>(planned);
    step.function = functions[number];
    step.launch = toLaunch(launch);
    // Sized before pointers into it are taken; moving a step leaves it in
    // place.
    step.values.resize(launch.arguments.size());
    for (size_t i = 0; i < step.values.size(); ++i) {
      const worker::PlanArgument &argument = launch.arguments[i];
      step.arguments.push_back(&step.values[i]);
      if (const auto *buffer = std::get_if<BufferRef>(&argument)) {
        step.values[i].address = addressOf(*buffer, buffers);
        addMoving(*buffer, Moving::What::Argument, i);
      } else if (const auto *map =
                     std::get_if<worker::TensorMapRef>(&argument)) {
        auto which = size_t(map->index);
        step.arguments.back() = &bound.maps[which];
        addMoving(plan.tensorMaps[which].buffer, Moving::What::Map, which);
      } else {
        step.values[i] = valueOf(std::get<PlanScalar>(argument));
      }
    }
    bound.steps.push_back(std::move(step));
  }
  return {};
}

std::string LoadedProgram::move(BoundProgram &bound, BoundProgram::Step &step,
                                const std::vector<int64_t> &iterations) const {
  using What = BoundProgram::Moving::What;
  for (const BoundProgram::Moving &moving : step.moving) {
    CUdeviceptr address = moving.start;
    size_t depth = std::min(moving.motions->size(), iterations.size());
    for (size_t i = 0; i < depth; ++i)
      address += CUdeviceptr((*moving.motions)[i].at(iterations[i]));
    if (moving.what == What::Argument)
      step.values[moving.index].address = address;
    else if (moving.what == What::Target)
      step.target = address;
    // A launch takes a copy of the map.
    else if (std::string error =
                 encodeMap(moving.index, address, bound.maps[moving.index]);
             !error.empty())
      return error;
  }
  return {};
}

std::string LoadedProgram::enqueue(BoundProgram &bound, size_t first,
                                   size_t last,
                                   std::vector<int64_t> &iterations,
                                   CUstream stream) const {
  std::string error;
  for (size_t i = first; i < last && error.empty(); ++i) {
    BoundProgram::Step &step = bound.steps[i];
    if (step.count) {
      size_t depth = iterations.size();
      iterations.push_back(0);
      for (; iterations[depth] < step.count && error.empty();
           ++iterations[depth])
        error = enqueue(bound, i + 1, i + 1 + step.size, iterations, stream);
      iterations.pop_back();
      i += step.size;
      continue;
    }
    error = move(bound, step, iterations);
    if (!error.empty())
      break;
    if (!step.function) {
      error = driver.call(driver.cuMemsetD8Async, step.target, step.value,
                          step.bytes, stream);
      continue;
    }
    step.launch.stream = stream;
    error =
        cuda::launch(driver, step.function, step.launch, step.arguments.data());
  }
  return error;
}

std::string LoadedProgram::enqueue(BoundProgram &bound, CUstream stream) const {
  std::vector<int64_t> iterations;
  return enqueue(bound, 0, bound.steps.size(), iterations, stream);
}
