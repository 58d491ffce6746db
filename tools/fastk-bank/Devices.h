//===- Devices.h - Where winners are measured again -------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_TOOLS_FASTK_BANK_DEVICES_H
#define FASTK_TOOLS_FASTK_BANK_DEVICES_H

#include "fastk/Bank/Machine.h"
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
  /// `executable` is this program; `threads` 0 for all processors.
  Devices(std::string executable, unsigned threads)
      : executable(std::move(executable)), threads(threads) {}
  Device &of(llvm::StringRef target);

private:
  std::string executable;
  unsigned threads;
  llvm::StringMap<Device> devices;
};

} // namespace fastk::bank

#endif // FASTK_TOOLS_FASTK_BANK_DEVICES_H
