//===- Machine.cpp - Where a time was measured ----------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Bank/Machine.h"
#include "fastk/Target/DeviceDescription.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/TargetParser/Host.h"

using namespace fastk;
using llvm::StringRef;

static std::string describeCpu(const TargetDescription &host) {
  return (llvm::sys::getHostCPUName() + ", " +
          std::to_string(8 * host.vectorBytes) + "-bit vectors")
      .str();
}

std::string fastk::hostCpu() { return describeCpu(identifyHost()); }

Machine Machine::host(unsigned threads) {
  TargetDescription host = identifyHost();
  return {host.model, describeCpu(host), threads ? threads : host.threads};
}

Machine Machine::of(const std::string &target, unsigned threads) {
  if (target == "host")
    return host(threads);
  StringRef arch = StringRef(target).split(':').second;
  std::optional<DeviceDescription> device = describeDevice(arch.str());
  return {device ? device->model : "", "", 0};
}

bool Machine::isComparable(const Machine &other) const {
  // "Intel(R) Xeon(R) CPU @ 2.30GHz" is sold at several clock rates.
  auto withoutClock = [](StringRef model) {
    return model.take_front(model.find(" @ ")).rtrim();
  };
  return !model.empty() && withoutClock(model) == withoutClock(other.model) &&
         threads == other.threads &&
         (cpu.empty() || other.cpu.empty() || cpu == other.cpu);
}

std::string Machine::str() const {
  std::string text = model.empty() ? "an unknown machine" : model;
  if (!cpu.empty())
    text += " (" + cpu + ")";
  if (threads == 0)
    return text;
  return text + " with " + std::to_string(threads) +
         (threads == 1 ? " thread" : " threads");
}
