//===- Devices.cpp - Where winners are measured again ---------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Devices.h"
#include "DeviceCode.h"
#include "fastk/Cuda/QueryDevice.h"
#include "fastk/Evaluate/LocalPool.h"

using namespace fastk;
using namespace fastk::bank;

Device &Devices::of(llvm::StringRef target) {
  auto [entry, isNew] = devices.try_emplace(target);
  Device &device = entry->second;
  if (!isNew)
    return device;
  JobMakerOptions jobs;
  jobs.compiler = siblingOf(options.executable, "fastk-opt");
  jobs.threads = options.threads;
  jobs.requireDeterministic = options.requireDeterministic;
  if (target == "host") {
    device.description = hostDescription();
    if (options.threads)
      device.description.threads = options.threads;
    device.machine = Machine::host(options.threads);
  } else {
    DeviceDescription here;
    device.problem = cuda::queryCudaDevice(here);
    if (device.problem.empty() && "cuda:" + here.arch != target)
      device.problem = "the GPU here is " + here.model + " (cuda:" + here.arch +
                       "), not one of " + target.str();
    if (!device.problem.empty())
      return device;
    device.description = here.target();
    device.description.target = target.str();
    device.machine = {here.model, "", 0};
    jobs.target = device.description;
  }
  llvm::Expected<std::unique_ptr<Evaluator>> evaluator =
      createLocalPool({jobs, siblingOf(options.executable, "fastk-worker")});
  if (evaluator)
    device.evaluator = std::move(*evaluator);
  else
    device.problem = llvm::toString(evaluator.takeError());
  return device;
}
