//===- JudgeKernels.h - The text of judge.cu --------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_CUDA_JUDGEKERNELS_H
#define FASTK_LIB_WORKER_CUDA_JUDGEKERNELS_H

namespace fastk::worker {

extern const char *const judgeKernels;

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_CUDA_JUDGEKERNELS_H
