//===- WriteTorch.cpp - A winner as an extension of PyTorch ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Description.h"
#include "PythonParts.h"
#include "fastk/Export/Writers.h"
#include "llvm/Support/FormatVariadic.h"

using namespace fastk;

/// Description, module, flags, tables and checks.
static const char kPackage[] =
    R"text({0}"""{1}(*operands) computes on CUDA tensors what the winner of that name does.

    from {1} import {1}
    result = {1}({2})

The first call compiles kernel.cu, which needs nvcc and a C++ compiler; build() does
so before. A call enqueues on the current stream of the operands' device and does not
wait. What is wrong with an operand is a TypeError or a ValueError.
"""

import functools
import os

import torch

__all__ = ["{1}", "build"]

_FOLDER = os.path.dirname(os.path.abspath(__file__))
_NVCC_FLAGS = {3}
{4}

@functools.lru_cache(maxsize=None)
def build(verbose=False):
    """Compiles the extension, or loads what was compiled before."""
    from torch.utils import cpp_extension

    return cpp_extension.load(
        name="{1}_extension",
        sources=[os.path.join(_FOLDER, file) for file in ("binding.cpp", "kernel.cu")],
        extra_cuda_cflags=_NVCC_FLAGS,
        with_cuda=True,
        verbose=verbose,
    )


def {1}(*operands):
    """{5}"""
    # What is wrong with them is said before anything is compiled.
    check_operands(operands)
    results = run(build(), operands)
    return results[0] if len(results) == 1 else tuple(results)
)text";

std::vector<ExportedFile> fastk::writeTorch(const LaunchRecipe &recipe) {
  std::string operands;
  for (size_t i = 0; i < recipe.inputs.size(); ++i)
    operands += (i ? ", in" : "in") + std::to_string(i);
  std::string package = llvm::formatv(
      kPackage, describe(recipe, "# "), recipe.module, operands,
      pythonNvccFlags(recipe), pythonCall(recipe),
      recipe.outputs.size() == 1 ? "The result, a new tensor."
                                 : "The results, new tensors, as a tuple.");
  std::string kernel =
      describe(recipe, "// ") + "\n" + writeLauncher(recipe, /*hasMain=*/false);
  return {{recipe.module + "/__init__.py", package},
          {recipe.module + "/binding.cpp", bindingText(recipe)},
          {recipe.module + "/kernel.cu", kernel}};
}
