//===- FakeDriver.h - A driver that loads anything --------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_UNITTESTS_CUDA_FAKEDRIVER_H
#define FASTK_UNITTESTS_CUDA_FAKEDRIVER_H

#include "fastk/Cuda/Driver.h"

namespace fastk::cuda {

/// Lets every module load, with functions that need nothing; what else is
/// called a test adds.
inline void loadAnything(Driver &driver) {
  driver.cuModuleLoadDataEx.pointer = [](CUmodule *module, const void *,
                                         unsigned, CUjit_option *, void **) {
    *module = reinterpret_cast<CUmodule>(8);
    return CUDA_SUCCESS;
  };
  driver.cuModuleUnload.pointer = [](CUmodule) { return CUDA_SUCCESS; };
  driver.cuFuncGetAttribute.pointer = [](int *value, CUfunction_attribute,
                                         CUfunction) {
    *value = 0;
    return CUDA_SUCCESS;
  };
}

} // namespace fastk::cuda

#endif // FASTK_UNITTESTS_CUDA_FAKEDRIVER_H
