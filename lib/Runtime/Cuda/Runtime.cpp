//===- Runtime.cpp - Calls of a model on the GPU --------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FunctionState.h"
#include "RuntimeContext.h"

using namespace fastk;
using namespace fastk::runtime;
using cuda::CUdeviceptr;

/// What vector accesses and tensor maps take.
static constexpr uintptr_t bufferAlignment = 16;

static int fail(const fastk_function &function, const std::string &error) {
  recordError(std::string(function.name) + " (compiled for " + function.target +
              "): " + error);
  return 1;
}

static std::string checkVersion(const fastk_function &function) {
  if (function.version >= 1 && function.version <= FASTK_FUNCTION_VERSION)
    return {};
  return "its library has format " + std::to_string(function.version) +
         ", this libfastk_runtime reads formats 1 to " +
         std::to_string(FASTK_FUNCTION_VERSION) +
         ": compile the model with the fastk-opt of this runtime, or run it "
         "with the libfastk_runtime of that which compiled it";
}

static std::string checkBuffers(const fastk_function &function,
                                void *const *buffers) {
  for (uint32_t i = 0; i < function.num_inputs + function.num_outputs; ++i) {
    bool isInput = i < function.num_inputs;
    auto describe = [&] {
      return (isInput ? "input " : "output ") +
             std::to_string(isInput ? i : i - function.num_inputs);
    };
    if (!buffers[i] && function.bytes[i])
      return describe() + " is a null pointer; it needs " +
             std::to_string(function.bytes[i]) + " bytes of the GPU's memory";
    if (reinterpret_cast<uintptr_t>(buffers[i]) % bufferAlignment)
      return describe() +
             " is not 16-byte aligned: pass the beginning of an allocation, or "
             "a copy of what lies inside one";
  }
  return {};
}

int fastk_prepare(fastk_function *function) {
  std::string error = checkVersion(*function);
  cuda::CUcontext context = nullptr;
  const cuda::Driver *driver = nullptr;
  if (error.empty())
    driver = enter(error, context);
  LoadedFunction *loaded = nullptr;
  CUdeviceptr arena = 0;
  if (error.empty())
    error = FunctionState::of(*function).prepare(
        *function, *driver, context, currentStream(), loaded, arena);
  return error.empty() ? 0 : fail(*function, error);
}

int fastk_call(fastk_function *function, void *const *buffers) {
  std::string error = checkVersion(*function);
  cuda::CUcontext context = nullptr;
  const cuda::Driver *driver = nullptr;
  if (error.empty())
    error = checkBuffers(*function, buffers);
  if (error.empty())
    driver = enter(error, context);
  if (!error.empty())
    return fail(*function, error);
  LoadedFunction *loaded = nullptr;
  CUdeviceptr arena = 0;
  error = FunctionState::of(*function).prepare(*function, *driver, context,
                                               currentStream(), loaded, arena);
  if (!error.empty())
    return fail(*function, error);
  cuda::DeviceBuffers memory;
  auto address = [&](uint32_t number) {
    return CUdeviceptr(reinterpret_cast<uintptr_t>(buffers[number]));
  };
  for (uint32_t i = 0; i < function->num_inputs; ++i)
    memory.inputs.push_back(address(i));
  memory.inputs.insert(memory.inputs.end(), loaded->constants.begin(),
                       loaded->constants.end());
  for (uint32_t i = 0; i < function->num_outputs; ++i)
    memory.outputs.push_back(address(function->num_inputs + i));
  for (size_t offset : loaded->offsets)
    memory.workspaces.push_back(arena + offset);
  cuda::BoundProgram bound;
  error = loaded->program.bind(memory, bound);
  if (error.empty())
    error = loaded->program.enqueue(bound, currentStream());
  return error.empty() ? 0 : fail(*function, error);
}

void fastk_release(fastk_function *function) {
  std::string ignored;
  if (!function->state)
    return;
  if (const cuda::Driver *driver = cuda::Driver::get(ignored))
    FunctionState::of(*function).release(*driver);
}
