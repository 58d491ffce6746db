//===- QueryDevice.h - The GPU of this machine ------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_CUDA_QUERYDEVICE_H
#define FASTK_CUDA_QUERYDEVICE_H

#include "fastk/Target/DeviceDescription.h"

namespace fastk::cuda {

/// Describes device \p ordinal by what its driver says; peaks by the datasheet
/// where DeviceDescription.cpp has the model, else by its capability and clock.
/// Creates no context. Returns why it could not, or nothing.
std::string queryCudaDevice(DeviceDescription &device, int ordinal = 0);

/// How many GPUs this process sees; 0 where \p problem says why nobody knows.
int countCudaDevices(std::string &problem);

} // namespace fastk::cuda

#endif // FASTK_CUDA_QUERYDEVICE_H
