//===- Resources.cpp - What the code of a winner needs --------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Resources.h"
#include "fastk/Evaluate/Subprocess.h"
#include "fastk/System/WholeFile.h"
#include "fastk/Target/Occupancy.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace fastk;
using namespace fastk::bank;

std::vector<LaunchResources>
fastk::bank::resourcesOf(const LaunchRecipe &recipe,
                         const cuda::CompileResult &code) {
  std::vector<LaunchResources> list;
  std::optional<DeviceDescription> device = describeDevice(recipe.chip);
  for (const worker::PlanStep &step : recipe.plan.steps) {
    const auto *launch = std::get_if<worker::Launch>(&step);
    if (!launch || llvm::any_of(list, [&](const LaunchResources &each) {
          return each.launch.kernel == launch->kernel;
        }))
      continue;
    LaunchResources resources;
    resources.launch = *launch;
    if (const cuda::KernelFacts *facts = code.kernel(launch->kernel))
      resources.facts = *facts;
    if (device) {
      const worker::Dim3 &block = launch->block;
      Occupancy occupancy = computeOccupancy(
          *device, block[0] * block[1] * block[2], resources.facts.registers,
          resources.facts.staticSharedBytes + launch->sharedBytes);
      resources.blocks = occupancy.blocks;
      resources.warps = occupancy.warps;
      resources.share = occupancy.share;
      resources.limiter = occupancy.limiter;
    }
    list.push_back(std::move(resources));
  }
  return list;
}

void fastk::bank::printResources(
    const std::vector<LaunchResources> &resources,
    llvm::function_ref<void(llvm::StringRef, const llvm::Twine &)> line) {
  for (const LaunchResources &each : resources) {
    const cuda::KernelFacts &facts = each.facts;
    std::string text = llvm::formatv(
        "{0}: {1} registers, {2} bytes spilled by stores and {3} by loads, "
        "stack {4} bytes, shared memory {5} static + {6} dynamic, {7} {8}",
        each.launch.kernel, facts.registers, facts.spillStoreBytes,
        facts.spillLoadBytes, facts.stackBytes, facts.staticSharedBytes,
        each.launch.sharedBytes, facts.barriers,
        facts.barriers == 1 ? "barrier" : "barriers");
    if (!each.limiter.empty())
      text += llvm::formatv("; {0} {1} a multiprocessor ({2} warps, {3:f0} %), "
                            "limited by {4}",
                            each.blocks, each.blocks == 1 ? "block" : "blocks",
                            each.warps, 100 * each.share, each.limiter);
    line("resources", text);
  }
}

llvm::json::Array
fastk::bank::toJson(const std::vector<LaunchResources> &resources) {
  llvm::json::Array list;
  for (const LaunchResources &each : resources) {
    const cuda::KernelFacts &facts = each.facts;
    llvm::json::Object object{
        {"kernel", each.launch.kernel},
        {"registers", facts.registers},
        {"spill_store_bytes", facts.spillStoreBytes},
        {"spill_load_bytes", facts.spillLoadBytes},
        {"stack_bytes", facts.stackBytes},
        {"static_shared_bytes", facts.staticSharedBytes},
        {"dynamic_shared_bytes", each.launch.sharedBytes},
        {"barriers", facts.barriers},
    };
    if (!each.limiter.empty()) {
      object["blocks_per_multiprocessor"] = each.blocks;
      object["warps_per_multiprocessor"] = each.warps;
      object["occupancy"] = each.share;
      object["limited_by"] = each.limiter;
    }
    list.push_back(std::move(object));
  }
  return list;
}

llvm::Expected<std::string> fastk::bank::disassemble(const std::string &cubin) {
  std::string tool = cuda::findDisassembler();
  if (tool.empty())
    return llvm::createStringError(
        "--sass needs nvdisasm or cuobjdump of the CUDA toolkit, which were "
        "not "
        "found: install them (pip install nvidia-cuda-cuobjdump or "
        "nvidia-cuda-nvdisasm, or the toolkit) and let FASTK_CUDA_PATH, "
        "CUDA_HOME or PATH name where they are; --ptx and --resources need "
        "neither");
  ProcessFolder folder;
  std::error_code code = folder.create("fastk-sass");
  std::string file = folder.file("kernel.cubin");
  if (!code)
    code = writeWholeFile(file, cubin);
  if (code)
    return llvm::createStringError(code, explainTemporaryFileError(code));
  bool isNvdisasm = llvm::sys::path::filename(tool) == "nvdisasm";
  llvm::Expected<ProcessResult> result =
      runProcess(tool, {isNvdisasm ? "--print-code" : "-sass", file}, "", {},
                 folder.path());
  if (!result)
    return result.takeError();
  if (result->exitCode != 0)
    return llvm::createStringError(tool + " cannot read it: " +
                                   llvm::StringRef(result->diagnostics).trim());
  return std::move(result->output);
}
