//===- Devices.h - Where winners are measured again -------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_TOOLS_FASTK_BANK_DEVICES_H
#define FASTK_TOOLS_FASTK_BANK_DEVICES_H

#include "Tool.h"
#include "fastk/Evaluate/Evaluator.h"
#include "fastk/Target/TargetDescription.h"
#include "llvm/ADT/StringMap.h"
#include <memory>
#include <string>

namespace fastk::bank {

/// A device of this machine.
struct Device {
  TargetDescription description;
  Machine machine;
  std::unique_ptr<Evaluator> evaluator;
  /// Why nothing can be measured for this target here; empty when it can.
  std::string problem;
};

/// The devices of this machine, each prepared when it is first asked for.
class Devices {
public:
  explicit Devices(const MergeOptions &options) : options(options) {}
  Device &of(llvm::StringRef target);

private:
  const MergeOptions &options;
  llvm::StringMap<Device> devices;
};

} // namespace fastk::bank

#endif // FASTK_TOOLS_FASTK_BANK_DEVICES_H
