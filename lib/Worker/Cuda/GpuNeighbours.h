//===- GpuNeighbours.h - Who else is on the GPU -----------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_CUDA_GPUNEIGHBOURS_H
#define FASTK_LIB_WORKER_CUDA_GPUNEIGHBOURS_H

#include <string>
#include <sys/types.h>
#include <vector>

namespace fastk::worker {

/// Of processes on the GPU by their numbers, those that are neither this one,
/// nor of its family: started by it, or waiting for it. Nothing where this
/// process, which is on the GPU, is not among them: then the numbers are those
/// of another namespace of processes, as in a container, and nobody can tell.
/// One that has ended, or is hidden, is none.
std::vector<pid_t> strangersAmong(const std::vector<pid_t> &processes);

/// "python3 (process 4711)".
std::string describeProcess(pid_t process);

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_CUDA_GPUNEIGHBOURS_H
