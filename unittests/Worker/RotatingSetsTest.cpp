//===- RotatingSetsTest.cpp - How many sets of buffers fit on a GPU -------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cuda/CudaDevice.h"
#include <gtest/gtest.h>

using namespace fastk::worker;

static constexpr int64_t gigabyte = 1000000000;

static Program programWith(int64_t workspaceBytes) {
  Program program;
  program.code = Code::PTX;
  program.plan.emplace();
  if (workspaceBytes)
    program.plan->workspaces = {{workspaceBytes, false}, {1000, true}};
  return program;
}

/// Operands of 1 MB and 2 MB, results of 4 MB and, in integers, 8 MB.
static Job smallJob(int64_t workspaceBytes) {
  Job job;
  job.inputs = {{ElementType::F32, {250000}, Role::Data, {}},
                {ElementType::F16, {1000, 1000}, Role::Data, {}}};
  job.outputs = {{ElementType::F32, {1000000}, Role::Data, {}},
                 {ElementType::I64, {1000000}, Role::Data, {}}};
  job.oracle = programWith(2 * workspaceBytes);
  job.baseline = programWith(workspaceBytes);
  job.candidate = programWith(workspaceBytes / 2);
  return job;
}

TEST(RotatingSets, WhatIsCounted) {
  Job job = smallJob(10000000);
  // The worker's operands; then those of each process, its results, the
  // worker's copy of them, its workspaces.
  EXPECT_EQ(CudaDevice::bytesOfSet(job, {}), 3000000);
  EXPECT_EQ(CudaDevice::bytesOfSet(job, {ProgramRole::Candidate}),
            3000000 + 3000000 + 2 * 12000000 + 5001000);
  EXPECT_EQ(CudaDevice::bytesOfSet(
                job, {ProgramRole::Candidate, ProgramRole::Baseline}),
            CudaDevice::bytesOfSet(job, {ProgramRole::Candidate}) + 27000000 +
                10001000);
  // The control is the baseline once more.
  EXPECT_EQ(CudaDevice::bytesOfSet(job, {ProgramRole::Control}),
            CudaDevice::bytesOfSet(job, {ProgramRole::Baseline}));
  // The oracle's float results are double.
  EXPECT_EQ(CudaDevice::bytesOfOracle(job),
            20001000 + 3000000 + 2 * (8000000 + 8000000));
}

TEST(RotatingSets, WorkspacesOfAllProgramsCount) {
  std::vector<ProgramRole> parts = {
      ProgramRole::Candidate, ProgramRole::Baseline, ProgramRole::Incumbent};
  auto sets = [&](int64_t workspaceBytes, int64_t available) {
    Job job = smallJob(0);
    job.oracle = programWith(2 * workspaceBytes);
    job.baseline = job.candidate = programWith(workspaceBytes);
    job.incumbent = job.candidate;
    return CudaDevice::fittingSets(job, 3, parts, available);
  };
  EXPECT_EQ(sets(0, 140 * gigabyte), 3u);
  EXPECT_EQ(sets(4 * gigabyte, 140 * gigabyte), 3u);
  // Two sets of three programs take 103 GB, the oracle 34.
  EXPECT_EQ(sets(17 * gigabyte, 140 * gigabyte), 1u);
  EXPECT_EQ(sets(17 * gigabyte, 180 * gigabyte), 2u);
  // One is tried whatever there is; what is missing then the driver says.
  EXPECT_EQ(sets(17 * gigabyte, 10 * gigabyte), 1u);
  EXPECT_EQ(sets(17 * gigabyte, 0), 1u);
}
