//===- WriteCu.cpp - A winner as one file for nvcc ------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Description.h"
#include "fastk/Export/Writers.h"
#include "llvm/Support/FormatVariadic.h"

using namespace fastk;

std::vector<ExportedFile> fastk::writeCu(const LaunchRecipe &recipe) {
  std::string kernels;
  for (const std::string &kernel : recipe.kernels())
    kernels +=
        (kernels.empty() ? "" : "|") + (recipe.kind == LaunchRecipe::Code::PTX
                                            ? kernel
                                            : recipe.symbolOf(kernel));
  std::string nvcc = llvm::formatv("nvcc -std=c++17 -O3 {0}", nvccArch(recipe));
  std::string text = describe(recipe, "// ");
  text += llvm::formatv(
      "//\n"
      "// As a library, which exports fastk_{0}:\n"
      "//   {1} -shared -Xcompiler=-fPIC {0}.cu -o lib{0}.so\n"
      "// As a program, which fills the inputs, runs the kernels and times "
      "them:\n"
      "//   {1} -DFASTK_MAIN {0}.cu -o {0} && ./{0}\n"
      "// Under Nsight Compute (-lineinfo for the lines of the source):\n"
      "//   {1} -lineinfo -DFASTK_MAIN {0}.cu -o {0}\n"
      "//   ncu --set full --import-source yes --kernel-name "
      "regex:'^({2})$' --launch-skip {3} --launch-count {3} -o {0} ./{0} "
      "20\n\n",
      recipe.module, nvcc, kernels, launchCount(recipe));
  return {
      {recipe.module + ".cu", text + writeLauncher(recipe, /*hasMain=*/true)}};
}
