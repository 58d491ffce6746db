//===- Resources.h - What the code of a winner needs ------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_TOOLS_FASTK_BANK_RESOURCES_H
#define FASTK_TOOLS_FASTK_BANK_RESOURCES_H

#include "DeviceCode.h"
#include "llvm/Support/JSON.h"

namespace fastk::bank {

/// One launch of a plan, and what ptxas says of its kernel.
struct LaunchResources {
  worker::Launch launch;
  cuda::KernelFacts facts;
  /// Of one multiprocessor of the target; no blocks where the target has no
  /// description, or where it does not fit.
  int64_t blocks = 0, warps = 0;
  double share = 0;
  std::string limiter;
};

/// Of each kernel's first launch.
std::vector<LaunchResources> resourcesOf(const LaunchRecipe &recipe,
                                         const cuda::CompileResult &code);

void printResources(
    const std::vector<LaunchResources> &resources,
    llvm::function_ref<void(llvm::StringRef, const llvm::Twine &)> line);
llvm::json::Array toJson(const std::vector<LaunchResources> &resources);

/// Machine code as text, by nvdisasm or cuobjdump. Fails where neither is
/// found, saying how to get them.
llvm::Expected<std::string> disassemble(const std::string &cubin);

} // namespace fastk::bank

#endif // FASTK_TOOLS_FASTK_BANK_RESOURCES_H
