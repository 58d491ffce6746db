//===- DeviceModel.h - From models to programs for a GPU --------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A model for a GPU is device code and, for each function, one plan: the plans
// of the lowerings that the function calls, one after the other, on buffers
// whose places are known when it is compiled. libfastk_runtime loads the code
// and follows the plan (fastk/Runtime/fastk_runtime.h).
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_CONVERSION_DEVICEMODEL_H
#define FASTK_CONVERSION_DEVICEMODEL_H

#include "fastk/Conversion/CudaCodegen.h"
#include <string>
#include <vector>

namespace fastk {

/// Device code of one lowering, or of what a function does between them.
struct DeviceImage {
  /// Launches name its entries `name::entry`.
  std::string name;
  /// A cubin, or PTX.
  std::string code;
};

struct DeviceFunction {
  std::string name;
  /// JSON, as in a library for the host, with target and workspace bytes.
  std::string signature;
  std::vector<int64_t> inputBytes, outputBytes;
  worker::LaunchPlan plan;
  /// Data of the model, which the plan takes as inputs behind the function's.
  std::vector<std::string> constants;
};

struct DeviceModel {
  /// As "cuda:sm_90a".
  std::string target;
  std::vector<DeviceImage> images;
  std::vector<DeviceFunction> functions;

  /// The bytes of a plan file: docs/formats/plan-file.md.
  std::string planFile() const;
};

/// Compiles a module of functions on tensors and the lowerings they call. The
/// input is left as it was. Every tensor must have a static shape, and what the
/// functions do must not depend on data. A winner that does not compile here is
/// replaced by its default lowering, with a warning.
/// The role is that of compileModel().
mlir::FailureOr<DeviceModel>
compileDeviceModel(mlir::ModuleOp model, const CudaTarget &target,
                   KernelRole role = KernelRole::Program);

/// The model as a module of host code: its plan file as a constant, and for
/// each function f what fastk_runtime.h says a library exports. It calls
/// libfastk_runtime.
std::unique_ptr<llvm::Module> emitDeviceModel(const DeviceModel &model,
                                              llvm::LLVMContext &context,
                                              const HostTarget &target);

/// The machine code of a lowering in language `cuda`: what embedCode() has put
/// beside it, if that is of the same program and chip, else what NVRTC makes of
/// its source. Errors, NVRTC missing among them, are diagnostics at the
/// lowering.
mlir::FailureOr<std::string> compileCubin(LoweringOp lowering,
                                          const CudaTarget &target);

/// Puts the machine code of each lowering in language `cuda` beside it, as
/// `gpu.binary @<symbol>_code`. Where it cannot be made a warning says so, and
/// the lowering stays without.
void embedCode(mlir::ModuleOp module, const CudaTarget &target);

/// What an object of emitDeviceModel is linked with: a folder and the name of
/// the library in it. The error says where it was looked for.
mlir::FailureOr<std::vector<std::string>> findDeviceRuntime(mlir::Location loc);

} // namespace fastk

#endif // FASTK_CONVERSION_DEVICEMODEL_H
