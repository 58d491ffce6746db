//===- PythonParts.cpp - What exports in Python share ---------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Python checks and allocates; what is compiled knows addresses alone, so it
// needs neither PyTorch's headers nor its ABI.
//
//===----------------------------------------------------------------------===//

#include "PythonParts.h"
#include "Description.h"
#include "llvm/Support/FormatVariadic.h"

using namespace fastk;

/// The module's name.
static const char kBinding[] = R"text(#include <cstdint>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <stdexcept>
#include <vector>

struct CUstream_st;
extern "C" const char *fastk_{0}(void *const *inputs, void *const *outputs,
                                 void *workspace, CUstream_st *stream);

static std::vector<void *> pointers(const std::vector<std::uintptr_t> &addresses) {{
  std::vector<void *> result;
  for (std::uintptr_t address : addresses)
    result.push_back(reinterpret_cast<void *>(address));
  return result;
}

static void launch(const std::vector<std::uintptr_t> &inputs,
                   const std::vector<std::uintptr_t> &outputs,
                   std::uintptr_t workspace, std::uintptr_t stream) {{
  const char *wrong = fastk_{0}(pointers(inputs).data(), pointers(outputs).data(),
                                reinterpret_cast<void *>(workspace),
                                reinterpret_cast<CUstream_st *>(stream));
  if (wrong)
    throw std::runtime_error(std::string("{0}: ") + wrong);
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) {{
  module.def("launch", &launch, "Enqueues one call; all are addresses.");
}
)text";

std::string fastk::bindingText(const LaunchRecipe &recipe) {
  return llvm::formatv(kBinding, recipe.module);
}

/// Tables of inputs and of outputs, scratch bytes, the module's name, the
/// capability that the code is for.
static const char kCall[] = R"text(
#: What a call takes and gives: (shape, dtype) of each tensor, contiguous.
INPUTS = {0}
OUTPUTS = {1}
#: Scratch memory of a call.
WORKSPACE_BYTES = {2}


def check_operands(operands):
    """Raises what is wrong with the operands; returns their device."""
    if len(operands) != len(INPUTS):
        raise TypeError(f"{3} takes {{len(INPUTS)} tensors, not {{len(operands)}")
    for index, (operand, (shape, dtype)) in enumerate(zip(operands, INPUTS)):
        what = f"{3}: operand {{index}"
        if not isinstance(operand, torch.Tensor):
            raise TypeError(f"{{what} is a {{type(operand).__name__}, not a tensor")
        if tuple(operand.shape) != shape:
            raise ValueError(
                f"{{what} has shape {{tuple(operand.shape)}; the kernel is for {{shape} alone"
            )
        if operand.dtype != dtype:
            raise TypeError(f"{{what} is {{operand.dtype}, not {{dtype}: convert it with .to()")
        if operand.device.type != "cuda":
            raise ValueError(f"{{what} is on {{operand.device}: move it with .cuda()")
        if operand.device != operands[0].device:
            raise ValueError(
                f"{{what} is on {{operand.device}, operand 0 on {{operands[0].device}: "
                "a call is for one device"
            )
        if not operand.is_contiguous():
            raise ValueError(
                f"{{what} has strides {{operand.stride()}: make it contiguous with .contiguous()"
            )
        if operand.data_ptr() % 16:
            raise ValueError(
                f"{{what} does not begin at a multiple of 16 bytes: copy it with .clone()"
            )
    return operands[0].device


def run(extension, operands):
    """The results of one call, as a list, on the current stream of the operands' device."""
    device = check_operands(operands)
    results = [torch.empty(shape, dtype=dtype, device=device) for shape, dtype in OUTPUTS]
    workspace = torch.empty(WORKSPACE_BYTES, dtype=torch.uint8, device=device)
    with torch.cuda.device(device):
        extension.launch(
            [operand.data_ptr() for operand in operands],
            [result.data_ptr() for result in results],
            workspace.data_ptr(),
            torch.cuda.current_stream(device).cuda_stream,
        )
    return results
)text";

std::string fastk::pythonCall(const LaunchRecipe &recipe) {
  return llvm::formatv(kCall, pythonTensors(recipe.inputs),
                       pythonTensors(recipe.outputs), recipe.workspaceBytes(),
                       recipe.module);
}

std::string fastk::pythonNvccFlags(const LaunchRecipe &recipe) {
  std::string flags = "[\n    \"-O3\",\n";
  if (std::string arch = nvccArch(recipe); !arch.empty())
    flags += "    \"" + arch + "\",\n";
  // PyTorch takes the operators of half types away.
  for (const char *macro :
       {"__CUDA_NO_HALF_OPERATORS__", "__CUDA_NO_HALF_CONVERSIONS__",
        "__CUDA_NO_HALF2_OPERATORS__", "__CUDA_NO_BFLOAT16_CONVERSIONS__"})
    flags += std::string("    \"-U") + macro + "\",\n";
  return flags + "]";
}
