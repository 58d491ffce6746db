//===- DeviceCode.h - The code of winners for GPUs --------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_TOOLS_FASTK_BANK_DEVICECODE_H
#define FASTK_TOOLS_FASTK_BANK_DEVICECODE_H

#include "Tool.h"
#include "fastk/Cuda/CompileInChild.h"
#include "fastk/Evaluate/KernelCompiler.h"
#include "fastk/Export/LaunchRecipe.h"
#include "fastk/System/ProcessFolder.h"
#include <optional>

namespace fastk::bank {

/// The plan of a verified winner; nothing for languages without.
std::optional<worker::LaunchPlan> planOf(LoweringOp lowering);

/// A program beside the one at \p executable.
std::string siblingOf(llvm::StringRef executable, llvm::StringRef name);

/// Makes the code of winners with fastk-opt beside this program, in child
/// processes: a bank's program is not trusted.
class DeviceCode {
public:
  explicit DeviceCode(llvm::StringRef executable);

  /// The winner's program in CUDA-C, or PTX of what is in another language,
  /// with the plan.
  llvm::Expected<LaunchRecipe> recipeOf(const Winner &winner);
  /// Its machine code, PTX and what ptxas says of it. The error names the fix.
  llvm::Expected<cuda::CompileResult> compile(const LaunchRecipe &recipe);

private:
  llvm::Expected<CompiledKernel> lower(const Winner &winner);

  std::string compiler;
  ProcessFolder folder;
  std::optional<KernelCompiler> kernels;
};

} // namespace fastk::bank

#endif // FASTK_TOOLS_FASTK_BANK_DEVICECODE_H
