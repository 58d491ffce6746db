//===- SplicePlan.cpp - A lowering's plan within its caller's -------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cuda/Kernels/DeviceKernels.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fastk;
using worker::BufferRef;

int64_t fastk::workspaceBytes(const worker::LaunchPlan &plan) {
  int64_t bytes = 0;
  for (const worker::Workspace &workspace : plan.workspaces)
    bytes += llvm::alignTo(workspace.bytes, kWorkspaceAlignment);
  return bytes;
}

LogicalResult DeviceKernels::splice(CallOp call) {
  const worker::LaunchPlan &spliced =
      programs->find(call.getLowering())->second.plan;
  SmallVector<BufferRef> places;
  for (Value operand : call->getOperands()) {
    FailureOr<BufferRef> place = locate(operand);
    if (failed(place))
      return call.emitError()
             << "works on a buffer whose place is not known when it is "
                "compiled (required by 'fastk.device_kernels')";
    places.push_back(*place);
  }
  // Behind the results stands the memory of all workspaces together.
  SmallVector<BufferRef> workspaces;
  int64_t offset = 0;
  for (const worker::Workspace &workspace : spliced.workspaces) {
    BufferRef place = places.back();
    place.offset += offset;
    workspaces.push_back(place);
    offset += llvm::alignTo(workspace.bytes, kWorkspaceAlignment);
    // In a plan of its own it would be zeroed before the first step.
    if (workspace.zero)
      plan.steps.push_back(worker::Memset{place, workspace.bytes, 0});
  }
  auto translate = [&](const BufferRef &ref) {
    BufferRef place = ref.space == BufferRef::Space::Input ? places[ref.index]
                      : ref.space == BufferRef::Space::Output
                          ? places[call.getInputs().size() + ref.index]
                          : workspaces[ref.index];
    place.offset += ref.offset;
    return place;
  };
  int64_t firstMap = plan.tensorMaps.size();
  for (worker::TensorMap map : spliced.tensorMaps) {
    map.buffer = translate(map.buffer);
    plan.tensorMaps.push_back(std::move(map));
  }
  for (worker::PlanStep step : spliced.steps) {
    if (auto *memset = std::get_if<worker::Memset>(&step)) {
      memset->target = translate(memset->target);
    } else {
      auto &launch = std::get<worker::Launch>(step);
      launch.kernel = (call.getLowering() + "::" + launch.kernel).str();
      for (worker::PlanArgument &argument : launch.arguments)
        if (auto *ref = std::get_if<BufferRef>(&argument))
          *ref = translate(*ref);
        else if (auto *map = std::get_if<worker::TensorMapRef>(&argument))
          map->index += firstMap;
    }
    plan.steps.push_back(std::move(step));
  }
  return success();
}
