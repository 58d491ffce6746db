//===- RuntimeContext.h - Errors, stream and context of a thread *- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the C API and the mgpu* entry points share.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_RUNTIME_CUDA_RUNTIMECONTEXT_H
#define FASTK_LIB_RUNTIME_CUDA_RUNTIMECONTEXT_H

#include "fastk/Cuda/Driver.h"
#include <string>

namespace fastk::runtime {

/// Keeps the first error of this thread, for fastk_last_error().
void recordError(const std::string &error);

/// The stream of this thread's calls.
cuda::CUstream currentStream();

/// The driver, with a context current on this thread: what the caller has made
/// current, else the primary context of the device that setDefaultDevice()
/// named. Null, with \p error, where there is none.
const cuda::Driver *enter(std::string &error, cuda::CUcontext &context);

/// Of this thread, for when no context is current.
void setDefaultDevice(int ordinal);

} // namespace fastk::runtime

#endif // FASTK_LIB_RUNTIME_CUDA_RUNTIMECONTEXT_H
