//===- Passes.td - The phases of code generation -----------*- tablegen -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_CONVERSION_PASSES_TD
#define FASTK_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

include "fastk/Conversion/TensorPasses.td"
include "fastk/Conversion/BufferPasses.td"
include "fastk/Conversion/HostLoopPasses.td"
include "fastk/Conversion/HostLLVMPasses.td"
include "fastk/Conversion/GPUPasses.td"

#endif // FASTK_CONVERSION_PASSES_TD
