//===- TorchFunctions.cpp - PyTorch's C ABI, found at run time ------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TorchFunctions.h"

using namespace fastk::torch;

/// A library that the process has loaded, or null.
static void *loaded(const char *name) {
  return dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
}

static std::string load(TorchFunctions &functions) {
  void *cpu = loaded("libtorch_cpu.so");
  if (!cpu)
    return "there is no torch in this process: import torch first";
#define FASTK_TORCH_FUNCTION(NAME, RESULT, ...)                                \
  if (!find(cpu, #NAME, functions.NAME))                                       \
    return "this torch has no " #NAME ": torch 2.10 or newer is needed";
#include "TorchFunctions.def"
  if (void *cuda = loaded("libtorch_cuda.so"))
    find(cuda, "aoti_torch_get_current_cuda_stream",
         functions.aoti_torch_get_current_cuda_stream);
  return {};
}

const TorchFunctions *TorchFunctions::get(std::string &error) {
  static TorchFunctions functions;
  static const std::string problem = load(functions);
  error = problem;
  return error.empty() ? &functions : nullptr;
}

int32_t TorchFunctions::typeNamed(const std::string &name) {
  int32_t (*type)() = nullptr;
  return find(loaded("libtorch_cpu.so"), "aoti_torch_dtype_" + name, type)
             ? type()
             : -1;
}
