//===- FunctionState.h - A model's function on the GPU ----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_RUNTIME_CUDA_FUNCTIONSTATE_H
#define FASTK_LIB_RUNTIME_CUDA_FUNCTIONSTATE_H

#include "fastk/Cuda/LoadedProgram.h"
#include "fastk/Runtime/fastk_runtime.h"
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace fastk::runtime {

/// A function in one context: its code, its constants, and a workspace for each
/// stream that calls it, since calls on different streams may overlap.
struct LoadedFunction {
  explicit LoadedFunction(const cuda::Driver &driver) : program(driver) {}
  cuda::LoadedProgram program;
  /// Where each workspace of the plan begins in an arena.
  std::vector<size_t> offsets;
  size_t arenaBytes = 0;
  std::vector<cuda::CUdeviceptr> constants;
  std::map<cuda::CUstream, cuda::CUdeviceptr> arenas;
};

/// What `fastk_function::state` points to. Errors are texts.
class FunctionState {
public:
  /// That of `function`, made when there is none.
  static FunctionState &of(fastk_function &function);

  /// The function in this context with a workspace for this stream. It is
  /// loaded unless it is there, which is an error while the stream captures.
  std::string prepare(const fastk_function &function,
                      const cuda::Driver &driver, cuda::CUcontext context,
                      cuda::CUstream stream, LoadedFunction *&loaded,
                      cuda::CUdeviceptr &arena);
  void release(const cuda::Driver &driver);

private:
  std::string load(const fastk_function &function, const cuda::Driver &driver,
                   LoadedFunction &loaded);

  std::mutex mutex;
  std::map<cuda::CUcontext, std::unique_ptr<LoadedFunction>> contexts;
};

} // namespace fastk::runtime

#endif // FASTK_LIB_RUNTIME_CUDA_FUNCTIONSTATE_H
