//===- FuzzJob.cpp - Jobs from anywhere -----------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FuzzTargets.h"
#include "fastk/Protocol/Job.h"

using namespace fastk::worker;

void fastk::fuzz::fuzzJob(std::string_view data) {
  std::string error;
  std::optional<Job> job = parseJob(data, error);
  if (!job) {
    if (error.empty())
      fail("a refused job has a reason");
    return;
  }
  std::vector<int64_t> inputBytes, outputBytes;
  for (const Tensor &tensor : job->inputs)
    inputBytes.push_back(tensor.bytes() + 0 * tensor.rowLength());
  for (const Tensor &tensor : job->outputs)
    outputBytes.push_back(tensor.bytes());
  for (const Program *program :
       {&job->oracle, &job->baseline, &job->candidate,
        job->incumbent ? &*job->incumbent : &job->oracle})
    if (program->plan)
      (void)verifyLaunchPlan(*program->plan, inputBytes, outputBytes, {});

  std::string text = toJSON(*job);
  std::optional<Job> again = parseJob(text, error);
  if (!again)
    fail("a job that was written can be read", error + "\n" + text);
  if (std::string twice = toJSON(*again); twice != text)
    fail("a job is the same after a round trip", text + "\n" + twice);
}
