//===- Telemetry.h - Clocks, power and temperature of the GPU ---*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// By NVML, which comes with the driver and is loaded when it is there: a log,
// never a reason to refuse. What disturbs calls is left out of the times.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_WORKER_CUDA_TELEMETRY_H
#define FASTK_LIB_WORKER_CUDA_TELEMETRY_H

#include "fastk/Cuda/Driver.h"
#include "fastk/Protocol/Verdict.h"

namespace fastk::worker {

/// Reads all gauges of CUDA device 0 into \p report, unless the last reading is
/// so recent that nothing can have changed.
void readTelemetry(const cuda::Driver &driver, GpuReport &report);

/// What disturbed the GPU at the last reading: work of other processes, or that
/// it held itself back for another reason than the power it may draw, which
/// belongs to the work itself. As a list of things that were; empty when
/// nothing did, or nobody can tell.
const std::string &gpuDisturbance();

/// Processes of others that are at work on CUDA device 0, as a list; empty
/// where there are none, or nobody can tell: while this process has no context
/// there, or its number is of another namespace.
std::string gpuNeighbours();

} // namespace fastk::worker

#endif // FASTK_LIB_WORKER_CUDA_TELEMETRY_H
