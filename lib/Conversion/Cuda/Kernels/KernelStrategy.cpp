//===- KernelStrategy.cpp - The strategies that there are -----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelStrategy.h"

using namespace fastk;

static constexpr KernelStrategyEntry kStrategies[] = {
#define FASTK_KERNEL_STRATEGY(NAME, MATCH) {NAME, MATCH},
#include "KernelStrategies.def"
};

llvm::ArrayRef<KernelStrategyEntry> fastk::kernelStrategies() {
  return kStrategies;
}

const KernelStrategyEntry *fastk::findKernelStrategy(llvm::StringRef name) {
  for (const KernelStrategyEntry &entry : kStrategies)
    if (entry.name == name)
      return &entry;
  return nullptr;
}
