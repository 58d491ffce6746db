//===- ModelInterface.h - A compiled model from outside ---------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What models for the host and for a GPU have in common.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CONVERSION_HOST_MODEL_MODELINTERFACE_H
#define FASTK_LIB_CONVERSION_HOST_MODEL_MODELINTERFACE_H

#include "fastk/Conversion/HostCodegen.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <map>
#include <string>

namespace fastk {

/// Marks an argument or result of rank 0 that is a number in the model.
inline constexpr llvm::StringLiteral kScalarAttr = "fastk.scalar";

/// The number of the calling convention; 1 had neither errors nor dynamic
/// shapes.
inline constexpr int kInterfaceVersion = 2;

/// Named metadata with the texts of a function's errors, followed by its name.
inline constexpr llvm::StringLiteral kErrorsMetadata = "fastk.errors.";

/// Lets the public functions take and return tensors of rank 0 where the model
/// has numbers, for the calling convention has pointers only.
void boxScalars(mlir::ModuleOp model);

/// Refuses what the calling convention cannot express, before anything is
/// changed. The host's has dynamic shapes, that of a GPU has not.
mlir::LogicalResult checkModelInterface(mlir::ModuleOp model,
                                        bool allowDynamic);

/// The lowerings that a model calls, in the order of their symbols. A call of
/// something else is an error there.
mlir::FailureOr<std::map<std::string, LoweringOp>>
findCalledLowerings(mlir::ModuleOp model);

/// Refuses names that a library cannot export beside what fastk adds.
mlir::LogicalResult checkExportedName(mlir::func::FuncOp func,
                                      const HostTarget &target);

/// The JSON text of `fastk_signature_<func>`, of a function on tensors, with -1
/// for dimensions that are known at run time only. That of
/// a GPU's library also says the target and the bytes of workspace.
std::string describeSignature(mlir::func::FuncOp func,
                              llvm::StringRef target = "",
                              int64_t workspaceBytes = 0);

/// `f_packed(void **pointers)`, which returns what f returns, and what is known
/// of f: fastk_signature_f, fastk_version_f and fastk_interface_f. Where the
/// model itself has a function of the name f_packed, ours is fastk_packed_f.
void addPackedEntry(llvm::Module &module, llvm::StringRef name,
                    const std::string &signature);

/// The first error that `run` emits, and no diagnostic; empty when it emits
/// none.
std::string collectError(mlir::MLIRContext *context,
                         llvm::function_ref<void()> run);

/// The lowering without its program: what a winner that does not compile here
/// is replaced by. Warns at the winner, which failed for `reason`.
mlir::OwningOpRef<LoweringOp> replaceByDefault(LoweringOp lowering,
                                               llvm::StringRef reason);

/// What `compile` makes of a lowering. A winner that does not compile here
/// (another clang, a rule that is newer than the winner) is as good as none:
/// the model gets the default lowering of its pattern, and a warning says so.
template <typename Code>
mlir::FailureOr<Code> compileWinnerOrDefault(
    LoweringOp lowering,
    llvm::function_ref<mlir::FailureOr<Code>(LoweringOp)> compile) {
  if (lowering.getLanguage() == Language::generic)
    return compile(lowering);
  mlir::FailureOr<Code> code = mlir::failure();
  std::string reason =
      collectError(lowering.getContext(), [&] { code = compile(lowering); });
  if (mlir::succeeded(code))
    return code;
  return compile(*replaceByDefault(lowering, reason));
}

} // namespace fastk

#endif // FASTK_LIB_CONVERSION_HOST_MODEL_MODELINTERFACE_H
