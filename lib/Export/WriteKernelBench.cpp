//===- WriteKernelBench.cpp - A winner as an answer to KernelBench --------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Description.h"
#include "PythonParts.h"
#include "StaticChecker.h"
#include "fastk/Export/Writers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace fastk;

/// Description, reference, kernel, binding, module, flags, tables and checks.
static const char kFile[] = R"text({0}
import inspect

import torch
from torch.utils.cpp_extension import load_inline

# ------------------------------------------------------------------------------
# The problem's own model, without its forward(): weights are drawn alike.
# ------------------------------------------------------------------------------
{1}

# ------------------------------------------------------------------------------
# The kernel, and how Python calls it.
# ------------------------------------------------------------------------------
KERNEL = {2}

BINDING = {3}

NVCC_FLAGS = {5}
{6}

# PyTorch's own headers are not needed; from 2.6 on they can be left out.
_WITHOUT_HEADERS = (
    {{"no_implicit_headers": True}
    if "no_implicit_headers" in inspect.signature(load_inline).parameters
    else {{}
)
extension = load_inline(
    name="{4}_extension",
    cpp_sources=[BINDING],
    cuda_sources=[KERNEL],
    extra_cuda_cflags=NVCC_FLAGS,
    with_cuda=True,
    **_WITHOUT_HEADERS,
)


class ModelNew(Reference):
    def forward(self, *inputs):
        operands = {7}
        results = run(extension, operands)
        return {8}
)text";

static std::string viewed(std::string value, const ModelFit::Value &of,
                          bool mustBeContiguous) {
  if (mustBeContiguous)
    value += ".contiguous()";
  if (of.view)
    value += ".view" + (of.view->empty() ? "(())" : pythonTuple(*of.view));
  return value;
}

static std::string operandsOf(const ModelFit &fit) {
  std::string text = "[\n";
  for (const ModelFit::Value &operand : fit.operands) {
    const ModelArgument &argument = fit.arguments[operand.index];
    std::string value;
    switch (argument.role) {
    case ModelArgument::Role::Input:
      value = "inputs[" + std::to_string(argument.input) + "]";
      break;
    case ModelArgument::Role::Parameter:
      value = "self.get_parameter(\"" + argument.name + "\")";
      break;
    case ModelArgument::Role::Buffer:
      value = "self.get_buffer(\"" + argument.name + "\")";
      break;
    }
    text += "            " + viewed(value, operand, true) + ",\n";
  }
  return text + "        ]";
}

static std::string resultsOf(const ModelFit &fit) {
  std::vector<std::string> results;
  for (const ModelFit::Value &result : fit.results)
    results.push_back(
        viewed("results[" + std::to_string(result.index) + "]", result, false));
  return results.size() == 1 ? results.front()
                             : "(" + llvm::join(results, ", ") + ")";
}

llvm::Expected<std::vector<ExportedFile>>
fastk::writeKernelBench(const LaunchRecipe &recipe, const ModelFit &fit,
                        llvm::StringRef reference) {
  std::string kernel =
      avoidRefusedWords(writeLauncher(recipe, /*hasMain=*/false));
  std::string text = llvm::formatv(
      kFile, describe(recipe, "# "), reference.trim(), pythonText(kernel),
      pythonText(bindingText(recipe)), recipe.module, pythonNvccFlags(recipe),
      pythonCall(recipe), operandsOf(fit), resultsOf(fit));
  if (std::string word = findRefusedWord(text); !word.empty())
    return llvm::createStringError(
        "KernelBench's static checker would refuse the file for '" + word +
        "', which the reference has: it refuses try, except and pass wherever "
        "they stand");
  return std::vector<ExportedFile>{{recipe.module + ".py", text}};
}
