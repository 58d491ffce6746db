//===- ChildContext.h - The GPU of a program's process ----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_CUDA_CHILD_CHILDCONTEXT_H
#define FASTK_LIB_WORKER_CUDA_CHILD_CHILDCONTEXT_H

#include "fastk/Cuda/Driver.h"

namespace fastk::worker {

/// Loads the driver and makes what a process that runs programs has of the GPU:
/// a context, a stream, and the events that time them. Returns a text, empty
/// for success.
std::string createChildContext(const cuda::Driver *&driver,
                               cuda::CUcontext &context, cuda::CUstream &stream,
                               const std::vector<cuda::CUevent *> &events);

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_CUDA_CHILD_CHILDCONTEXT_H
