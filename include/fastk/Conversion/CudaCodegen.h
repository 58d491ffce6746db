//===- CudaCodegen.h - From lowerings to programs for a GPU -----*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program for a GPU is device code and a plan that launches it. Neither a GPU
// nor CUDA is needed to make one; libdevice is, where the workload has math
// functions.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_CONVERSION_CUDACODEGEN_H
#define FASTK_CONVERSION_CUDACODEGEN_H

#include "fastk/Conversion/HostCodegen.h"
#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "fastk/Protocol/LaunchPlan.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/ADT/StringRef.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace fastk {

/// The device that code is made for.
struct CudaTarget {
  /// "sm_90a", as in the target "cuda:sm_90a".
  std::string chip = "sm_90a";
  /// libdevice.10.bc, LLVM bitcode of CUDA's math functions. Empty: not found.
  std::string libdevice;
  worker::PlanLimits limits;

  /// The target of that name, with libdevice looked for where docs/cuda.md
  /// says; nothing for names that are no CUDA target.
  static std::optional<CudaTarget> parse(llvm::StringRef target);
};

/// What the code of a DeviceProgram is.
enum class DeviceCode { PTX, CudaC };

struct DeviceProgram {
  DeviceCode kind = DeviceCode::PTX;
  /// The text of the program.
  std::string code;
  worker::LaunchPlan plan;
};

/// Registers the dialects that CUDA code generation makes ops of, beside those
/// for the host.
void registerCudaDialects(mlir::DialectRegistry &registry);

/// Registers the dialects and translations that CUDA code generation needs, on
/// top of registerHostCodegen.
void registerCudaCodegen(mlir::DialectRegistry &registry);

/// The memory that a plan can name, for checks: bytes of each operand and
/// result.
struct ProgramBuffers {
  std::vector<int64_t> inputs, outputs;
};

/// Compiles a gpu.module that may have come from anywhere, and the plan that
/// launches its kernels, to PTX. What device code may not do is refused, as
/// are kernels that do not take what the plan passes (docs/cuda.md says how a
/// kernel takes it). Lowers `module` in place. Errors are diagnostics where
/// they were found, and end in the rule.
mlir::FailureOr<DeviceProgram> compileGPUModule(mlir::gpu::GPUModuleOp module,
                                                const worker::LaunchPlan &plan,
                                                const ProgramBuffers &buffers,
                                                const CudaTarget &target);

/// The same for a program in language `gpu`, the text of one gpu.module, which
/// is read into a context of its own that knows the allowed dialects alone.
/// Errors are one diagnostic at `loc`, which names the place in the text, as
/// "kernel.mlir:12:5" for a `name` of "kernel.mlir".
mlir::FailureOr<DeviceProgram>
compileGPUProgram(mlir::Location loc, llvm::StringRef text,
                  llvm::StringRef name, const worker::LaunchPlan &plan,
                  const ProgramBuffers &buffers, const CudaTarget &target);

/// A program in language `ptx` as it is, when it may be launched by the plan:
/// what device code may not do is refused, as is a program for another device,
/// or with other entries (fastk/Cuda/PTXProgram.h). Neither an assembler nor a
/// GPU is asked. Errors are one diagnostic at `loc`, which names the line, as
/// "kernel.ptx:12: ..." for a `name` of "kernel.ptx".
mlir::FailureOr<DeviceProgram> compilePTXProgram(mlir::Location loc,
                                                 llvm::StringRef text,
                                                 llvm::StringRef name,
                                                 const worker::LaunchPlan &plan,
                                                 const CudaTarget &target);

/// Makes the PTX of others in `program` a cubin, by ptxas in a process that is
/// confined. Where there is none, or one that is older than the PTX, nothing
/// changes: the driver assembles it. Errors are diagnostics at `loc`.
mlir::LogicalResult assembleProgram(mlir::Location loc, llvm::StringRef name,
                                    DeviceProgram &program,
                                    const CudaTarget &target);

/// Compiles one lowering for a GPU. For the role Oracle, and for a lowering in
/// language `default`, the pattern is lowered by the compiler; a program in
/// language `gpu` is compiled as compileGPUProgram does, one in language `ptx`
/// is checked, one in language `cuda` is passed on as it is. The oracle's float
/// results are f64. Errors are diagnostics at the lowering. `kernels` is given
/// the gpu.module that PTX is made of, where there is one.
mlir::FailureOr<DeviceProgram>
compileDeviceKernel(LoweringOp lowering, KernelRole role,
                    const CudaTarget &target, std::string *kernels = nullptr);

/// A number that the default lowering decides by a model and a schedule may
/// decide instead: by an attribute of the function, kChoicePrefix and its name.
struct KernelChoice {
  llvm::StringLiteral name;
  int64_t least, most;
  /// What values are multiples of; 0: powers of two.
  int64_t multiple;
  llvm::StringLiteral meaning;

  bool allows(int64_t value) const;
};
inline constexpr llvm::StringLiteral kChoicePrefix = "fastk.";

/// All there are; docs/schedules.md lists them.
llvm::ArrayRef<KernelChoice> kernelChoices();
/// Null for a name that is not among them.
const KernelChoice *findKernelChoice(llvm::StringRef name);

/// One or more kernels of the default lowering that were decided together.
struct KernelDescription {
  /// The strategy that makes them, "vectors" as an example; docs/cuda.md lists
  /// them all.
  std::string kind;
  /// What was decided, by name.
  std::map<std::string, int64_t> choices;
};

/// What kernels compileDeviceKernel would make of the pattern with these
/// choices, in order, without compiling them. Errors, among them choices that
/// break a rule of the target, are diagnostics at the lowering.
mlir::FailureOr<std::vector<KernelDescription>>
planDeviceKernels(LoweringOp lowering, const CudaTarget &target,
                  const std::map<std::string, int64_t> &choices = {});

/// The cubin of a program's PTX, by CUDA's ptxas: what the driver would make of
/// it when it is loaded. Errors, ptxas missing among them, are diagnostics at
/// `loc`.
mlir::FailureOr<std::string>
assemblePTX(mlir::Location loc, llvm::StringRef ptx, const CudaTarget &target);

} // namespace fastk

#endif // FASTK_CONVERSION_CUDACODEGEN_H
