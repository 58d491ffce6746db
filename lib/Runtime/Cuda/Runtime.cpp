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

static int fail(const fastk_function &function,
                const DescribedFunction *described, const std::string &error) {
  const std::string name = described       ? described->function().name
                           : function.name ? function.name
                                           : "";
  recordError(
      name +
      (described ? " (compiled for " + described->file->target + ")" : "") +
      (name.empty() ? "" : ": ") + error);
  return 1;
}

static std::string checkVersion(const fastk_function &function) {
  if (function.version == FASTK_FUNCTION_VERSION)
    return {};
  return "its library has format " + std::to_string(function.version) +
         ", this libfastk_runtime reads format " +
         std::to_string(FASTK_FUNCTION_VERSION) +
         ": compile the model with the fastk-opt of this runtime, or run it "
         "with the libfastk_runtime of that which compiled it";
}

/// What its file says; null with an error.
static const DescribedFunction *describe(fastk_function &function,
                                         std::string &error) {
  error = checkVersion(function);
  return error.empty() ? FunctionState::of(function).describe(function, error)
                       : nullptr;
}

static std::string checkBuffers(const worker::PlanFile::Function &function,
                                void *const *buffers) {
  size_t numInputs = function.inputBytes.size();
  for (size_t i = 0; i < numInputs + function.outputBytes.size(); ++i) {
    bool isInput = i < numInputs;
    size_t number = isInput ? i : i - numInputs;
    int64_t size =
        isInput ? function.inputBytes[number] : function.outputBytes[number];
    auto describe = [&] {
      return (isInput ? "input " : "output ") + std::to_string(number);
    };
    if (!buffers[i] && size)
      return describe() + " is a null pointer; it needs " +
             std::to_string(size) + " bytes of the GPU's memory";
    if (reinterpret_cast<uintptr_t>(buffers[i]) % bufferAlignment)
      return describe() +
             " is not 16-byte aligned: pass the beginning of an allocation, or "
             "a copy of what lies inside one";
  }
  return {};
}

static std::string checkWorkspace(const DescribedFunction &function,
                                  const void *workspace) {
  auto address = reinterpret_cast<uintptr_t>(workspace);
  if (function.arenaBytes == 0 ||
      (workspace && address % workspaceAlignment == 0))
    return {};
  return std::string("the workspace ") +
         (workspace ? "is not 256-byte aligned" : "is a null pointer") +
         "; the function needs " + std::to_string(function.arenaBytes) +
         " bytes of the GPU's memory, see fastk_workspace_bytes()";
}

/// The function in the current context, with an arena where one is wanted.
static int prepare(fastk_function &function, CUdeviceptr *arena) {
  std::string error;
  const DescribedFunction *described = describe(function, error);
  cuda::CUcontext context = nullptr;
  const cuda::Driver *driver = described ? enter(error, context) : nullptr;
  LoadedFunction *loaded = nullptr;
  if (driver)
    error = FunctionState::of(function).prepare(*driver, context,
                                                currentStream(), loaded, arena);
  return error.empty() ? 0 : fail(function, described, error);
}

int fastk_prepare(fastk_function *function) {
  CUdeviceptr arena = 0;
  return prepare(*function, &arena);
}

int fastk_load(fastk_function *function) { return prepare(*function, nullptr); }

static std::string enqueue(const DescribedFunction &described,
                           LoadedFunction &loaded, void *const *buffers,
                           CUdeviceptr arena) {
  cuda::DeviceBuffers memory;
  auto address = [&](size_t number) {
    return CUdeviceptr(reinterpret_cast<uintptr_t>(buffers[number]));
  };
  size_t numInputs = described.function().inputBytes.size();
  for (size_t i = 0; i < numInputs; ++i)
    memory.inputs.push_back(address(i));
  memory.inputs.insert(memory.inputs.end(), loaded.constants.begin(),
                       loaded.constants.end());
  for (size_t i = 0; i < described.function().outputBytes.size(); ++i)
    memory.outputs.push_back(address(numInputs + i));
  for (size_t offset : described.offsets)
    memory.workspaces.push_back(arena + offset);
  return loaded.replayed.run(
      memory, currentStream(), [&](cuda::CUstream stream) {
        cuda::BoundProgram bound;
        std::string error = loaded.program.bind(memory, bound);
        return error.empty() ? loaded.program.enqueue(bound, stream) : error;
      });
}

/// A call in \p workspace, or in the stream's own where \p isOwn.
static int call(fastk_function &function, void *const *buffers, bool isOwn,
                void *workspace) {
  std::string error;
  const DescribedFunction *described = describe(function, error);
  if (described)
    error = checkBuffers(described->function(), buffers);
  if (error.empty() && !isOwn)
    error = checkWorkspace(*described, workspace);
  cuda::CUcontext context = nullptr;
  const cuda::Driver *driver = nullptr;
  if (error.empty())
    driver = enter(error, context);
  if (!error.empty())
    return fail(function, described, error);
  LoadedFunction *loaded = nullptr;
  auto arena = CUdeviceptr(reinterpret_cast<uintptr_t>(workspace));
  error = FunctionState::of(function).prepare(*driver, context, currentStream(),
                                              loaded, isOwn ? &arena : nullptr);
  if (error.empty())
    error = enqueue(*described, *loaded, buffers, arena);
  return error.empty() ? 0 : fail(function, described, error);
}

int fastk_call(fastk_function *function, void *const *buffers) {
  return call(*function, buffers, /*isOwn=*/true, nullptr);
}

int fastk_call_with(fastk_function *function, void *const *buffers,
                    void *workspace) {
  return call(*function, buffers, /*isOwn=*/false, workspace);
}

void fastk_release(fastk_function *function) {
  std::string ignored;
  if (!function->state)
    return;
  if (const cuda::Driver *driver = cuda::Driver::get(ignored))
    FunctionState::of(*function).release(*driver);
}

const char *fastk_signature(fastk_function *function) {
  std::string error;
  const DescribedFunction *described = describe(*function, error);
  if (described)
    return described->function().signature.c_str();
  fail(*function, described, error);
  return nullptr;
}

uint64_t fastk_workspace_bytes(fastk_function *function) {
  std::string error;
  const DescribedFunction *described = describe(*function, error);
  if (described)
    return described->arenaBytes;
  fail(*function, described, error);
  return UINT64_MAX;
}
