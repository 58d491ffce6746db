//===- CalibrateKernels.h - The kernels of a calibration --------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_CUDA_CALIBRATE_CALIBRATEKERNELS_H
#define FASTK_LIB_WORKER_CUDA_CALIBRATE_CALIBRATEKERNELS_H

namespace fastk::worker {

/// calibrate.cu, as NVRTC compiles it behind the prelude.
extern const char *const calibrateKernels;

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_CUDA_CALIBRATE_CALIBRATEKERNELS_H
