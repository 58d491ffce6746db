//===- TensorCoreContraction.cpp - Tiles on tensor cores ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileEmitter.h"

using namespace mlir;
using namespace fastk;

bool fastk::fitsTensorCores(const Contraction &) { return false; }

FailureOr<DeviceKernel>
fastk::buildTensorCoreContraction(gpu::GPUModuleOp, const Contraction &,
                                  StringRef) {
  return failure();
}
