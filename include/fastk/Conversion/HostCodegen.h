//===- HostCodegen.h - From lowerings and models to host code ---*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything between a `fastk.lowering`, or a module of functions that call
// lowerings, and a shared library for the host.
//
// Kernel ABI: `void symbol(const T *in0, ..., T *out0, ..., void *workspace)`;
// operands, then results, in canonical order; contiguous row-major, 64-byte
// aligned, no aliasing. i1 takes a byte.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_CONVERSION_HOSTCODEGEN_H
#define FASTK_CONVERSION_HOSTCODEGEN_H

#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"
#include <memory>
#include <string>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace fastk {

/// The processor that code is made for.
struct HostTarget {
  /// Target triple, CPU and features as LLVM names them.
  std::string triple, cpu, features;
  /// Width of the widest SIMD register in bytes: 16, 32 or 64.
  unsigned vectorBytes = 16;
  /// Whether loops run on several threads where it pays, by OpenMP's library.
  bool hasThreads = true;

  /// The machine this process runs on. How many processors it has, or may use,
  /// is no part of the target: code is cut for any number of threads, and how
  /// many run is found out when it is called.
  static HostTarget detect();
  /// Any machine of this one's architecture: for code whose speed does not
  /// matter, and which may be compiled on one machine and run on another.
  static HostTarget baseline();
};

/// What a kernel is compiled for.
enum class KernelRole {
  /// The lowering's own program.
  Program,
  /// The lowering's pattern, promoted to f64 and lowered without
  /// approximations: every float result is `double *`.
  Oracle,
  /// As the oracle, but of each float result its condition: how far rounding
  /// may move it (fastk-derive-condition).
  Condition,
  /// The same for kernels of class tf32.
  ConditionOfTF32,
};

/// Registers the dialects that host code generation makes ops of.
void registerHostDialects(mlir::DialectRegistry &registry);

/// Registers these, and the external models and translations that host code
/// generation needs. Call it before the context is made.
void registerHostCodegen(mlir::DialectRegistry &registry);

/// Compiles one lowering to LLVM IR: a module with the one exported function
/// `symbol` (the kernel ABI above), not yet optimised. Errors are diagnostics
/// at the lowering.
///
/// With `workspaceBytes` all but what each thread has for itself lies in the
/// kernel's workspace, and that is set to how many bytes the caller must give,
/// aligned to 64. Without, only a C program has a workspace, of as many bytes
/// as the lowering says, and other kernels allocate what they need.
mlir::FailureOr<std::unique_ptr<llvm::Module>>
compileKernel(LoweringOp lowering, KernelRole role, llvm::StringRef symbol,
              llvm::LLVMContext &context, const HostTarget &target,
              int64_t *workspaceBytes = nullptr);

/// Refuses, with an error at `loc` that says why, a C program that does what a
/// variant may not do: includes that are not on the allow-list, inline
/// assembly, constructors, mutable static data, external symbols that are not
/// on the allow-list, a signature that does not take `numPointers` pointers.
/// Nothing of the program is run. On success the compiled, unoptimised module
/// is returned, its `fastk_kernel` named `symbol`.
mlir::FailureOr<std::unique_ptr<llvm::Module>>
compileCProgram(mlir::Location loc, llvm::StringRef source,
                unsigned numPointers, llvm::StringRef symbol,
                llvm::LLVMContext &context, const HostTarget &target);

/// Compiles a module of functions on tensors and the lowerings they call to one
/// LLVM module. Each public function `f` becomes
///   `void f(const T *in0, ..., T *out0, ...)` and
///   `void f_packed(void **pointers)`, the same pointers in an array, with
///   `const char fastk_signature_f[]`: JSON, `{"inputs": [{"dtype": "f32",
///   "shape": [4, 8]}, ...], "outputs": [...]}`.
/// The input is left as it was. Every tensor must have a static shape. A model
/// that was promoted to f64 is compiled with the role of an oracle: it shares
/// no polynomial and no product of powers with the program.
mlir::FailureOr<std::unique_ptr<llvm::Module>>
compileModel(mlir::ModuleOp model, llvm::LLVMContext &context,
             const HostTarget &target, KernelRole role = KernelRole::Program);

/// Optimises `module` at O3 for `target`. Call it once, before the emitters.
mlir::LogicalResult optimizeModule(llvm::Module &module,
                                   const HostTarget &target);

/// Writes an object file of an optimised module. Equal modules give equal
/// bytes. Errors go to `loc`.
mlir::LogicalResult emitObject(mlir::Location loc, llvm::Module &module,
                               const HostTarget &target, llvm::StringRef path);

/// The text of `module`.
std::string emitLLVMText(const llvm::Module &module);

/// What code for the host is linked with: OpenMP, where it has threads, and
/// libm.
llvm::ArrayRef<std::string> hostLibraries(bool hasThreads = true);

/// The compiler of C variants, and whether there is something to link with: a
/// diagnostic with the remedy where it is missing on this machine.
inline constexpr llvm::StringLiteral kCCompiler = "clang-22";
mlir::FailureOr<std::string> findCCompiler(mlir::Location loc);
mlir::LogicalResult checkLinker(mlir::Location loc);

/// Optimises `module` and links it to a shared library, by clang-22 and lld or,
/// where that is missing, by cc; `libraries` are options of the linker. Errors
/// go to `loc` and name `path`, or `what` it is where nobody named it: "the
/// model". \p object, if given, receives the bytes of the object: those of the
/// library are also its linker's.
mlir::LogicalResult
emitSharedLibrary(mlir::Location loc, llvm::Module &module,
                  const HostTarget &target, llvm::StringRef path,
                  llvm::ArrayRef<std::string> libraries = hostLibraries(),
                  llvm::StringRef what = {}, std::string *object = nullptr);

} // namespace fastk

#endif // FASTK_CONVERSION_HOSTCODEGEN_H
