//===- TorchFunctions.h - PyTorch's C ABI, found at run time ----*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is used of PyTorch is its stable C ABI, looked up in the torch of the
// process: libfastk_torch is built without one.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_TORCH_TORCHFUNCTIONS_H
#define FASTK_LIB_TORCH_TORCHFUNCTIONS_H

#include <cstdint>
#include <dlfcn.h>
#include <string>

namespace fastk::torch {

/// A function of a library that is loaded. False: there is none of that name.
template <typename Function>
bool find(void *library, const std::string &name, Function *&function) {
  function = reinterpret_cast<Function *>(dlsym(library, name.c_str()));
  return function != nullptr;
}

using Tensor = struct TensorOpaque *;
using DeviceGuard = struct DeviceGuardOpaque *;
using OpLibrary = struct OpLibraryOpaque *;
/// Arguments, which it owns, and then results, in the same places.
using Kernel = void(uint64_t *stack, uint64_t numInputs, uint64_t numOutputs);

struct TorchFunctions {
#define FASTK_TORCH_FUNCTION(NAME, RESULT, ...) RESULT (*NAME)(__VA_ARGS__);
#include "TorchFunctions.def"
  /// Of libtorch_cuda; null where torch has no CUDA.
  int32_t (*aoti_torch_get_current_cuda_stream)(int32_t device, void **stream);

  /// The functions of the process's torch. Null, with a reason, where there is
  /// no torch, or one too old.
  static const TorchFunctions *get(std::string &error);

  /// Torch's number of a type; -1 for a name that it does not know.
  static int32_t typeNamed(const std::string &name);
};

} // namespace fastk::torch

#endif // FASTK_LIB_TORCH_TORCHFUNCTIONS_H
