//===- FunctionState.h - A model's function on the GPU ----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_RUNTIME_CUDA_FUNCTIONSTATE_H
#define FASTK_LIB_RUNTIME_CUDA_FUNCTIONSTATE_H

#include "ReplayedCalls.h"
#include "fastk/Cuda/LoadedProgram.h"
#include "fastk/Protocol/PlanFile.h"
#include "fastk/Runtime/fastk_runtime.h"
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace fastk::runtime {

/// Of every workspace, as a plan may rely on.
inline constexpr size_t workspaceAlignment = 256;

/// What a plan file says of one function.
struct DescribedFunction {
  /// \p file outlives what is made of it. Null, with \p error, where it has no
  /// such function; of "" it is the only one.
  static std::unique_ptr<DescribedFunction>
  make(std::shared_ptr<const worker::PlanFile> file, std::string_view name,
       std::string &error);

  const worker::PlanFile::Function &function() const {
    return file->functions[number];
  }

  std::shared_ptr<const worker::PlanFile> file;
  size_t number = 0;
  /// Where each workspace of the plan begins in an arena.
  std::vector<size_t> offsets;
  size_t arenaBytes = 0;
};

/// A function in one context: its code, its constants, and a workspace for each
/// stream that calls it without one, since calls on different streams may
/// overlap.
struct LoadedFunction {
  LoadedFunction(const cuda::Driver &driver, const worker::LaunchPlan &plan)
      : program(driver), replayed(driver, countLaunches(plan)) {}
  cuda::LoadedProgram program;
  ReplayedCalls replayed;
  std::vector<cuda::CUdeviceptr> constants;
  std::map<cuda::CUstream, cuda::CUdeviceptr> arenas;
};

/// What `fastk_function::state` points to. Errors are texts.
class FunctionState {
public:
  /// That of `function`, made when there is none.
  static FunctionState &of(fastk_function &function);

  /// What its file says, read the first time. Null with \p error.
  const DescribedFunction *describe(const fastk_function &function,
                                    std::string &error);
  /// For a file that somebody has read.
  void setDescribed(std::unique_ptr<DescribedFunction> described);

  /// The described function in this context. It is loaded unless it is there,
  /// which is an error while the stream captures; with \p arena, so is a
  /// workspace for this stream.
  std::string prepare(const cuda::Driver &driver, cuda::CUcontext context,
                      cuda::CUstream stream, LoadedFunction *&loaded,
                      cuda::CUdeviceptr *arena);
  void release(const cuda::Driver &driver);

private:
  std::string load(const cuda::Driver &driver, LoadedFunction &loaded) const;

  std::mutex mutex;
  std::atomic<const DescribedFunction *> ready = nullptr;
  std::unique_ptr<DescribedFunction> described;
  std::map<cuda::CUcontext, std::unique_ptr<LoadedFunction>> contexts;
};

} // namespace fastk::runtime

#endif // FASTK_LIB_RUNTIME_CUDA_FUNCTIONSTATE_H
