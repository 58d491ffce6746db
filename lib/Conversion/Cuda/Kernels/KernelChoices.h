//===- KernelChoices.h - What a schedule decides for kernels ----*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The default lowering for GPUs decides tile sizes, threads of a row, stages
// and the like by a model. A schedule may decide them itself, by attributes of
// the function; what it leaves out the model decides. Every decision is noted,
// so that a search knows where it starts from.
//
// What was decided stands at each op when kernels are emitted (ChosenKernel.h).
// It is followed as it is; what somebody has changed there counts as given, and
// is held against the limits again.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CONVERSION_CUDA_KERNELS_KERNELCHOICES_H
#define FASTK_LIB_CONVERSION_CUDA_KERNELS_KERNELCHOICES_H

#include "fastk/Conversion/CudaCodegen.h"
#include <set>

namespace fastk {

class KernelChoices {
public:
  KernelChoices() = default;
  explicit KernelChoices(std::map<std::string, int64_t> given)
      : given(std::move(given)) {}

  /// The choices that stand at `func`. Errors name the attribute and the rule.
  static mlir::FailureOr<KernelChoices> read(mlir::Operation *func);
  /// Takes them off `func`.
  static void remove(mlir::Operation *func);
  /// Puts those that are given to `func`.
  void write(mlir::Operation *func) const;
  /// Whether every name is known and every number allowed; an error at `op`.
  mlir::LogicalResult verify(mlir::Operation *op) const;

  /// What follows is decided for kernels of that kind.
  void begin(llvm::StringRef kind);
  /// Until the next kind: what was decided before, by name, and what of it
  /// somebody has changed since.
  void settle(std::map<std::string, int64_t> decided,
              std::set<std::string> changed);
  /// The number for `name`: what is settled or given, or else what the model
  /// says.
  int64_t decide(llvm::StringRef name, int64_t byModel);
  /// What is settled or given, without a note: for what depends on it.
  std::optional<int64_t> find(llvm::StringRef name) const;
  /// Whether somebody wants the number, other than the model.
  bool isGiven(llvm::StringRef name) const {
    return given.count(name.str()) || changed.count(name.str());
  }
  /// Whether any of a family ("row_") is given.
  bool hasAny(llvm::StringRef prefix) const;

  /// The choices break a rule of the target or of the workload: the kernel is
  /// not made. The first reason is kept.
  void refuse(const llvm::Twine &reason);
  /// Refuses when `value` is larger than `most`; `what` says of what.
  bool fits(int64_t value, int64_t most, const llvm::Twine &what);
  llvm::StringRef problem() const { return reason; }
  /// An error where something was given that no kernel has asked for.
  mlir::LogicalResult checkAllUsed(mlir::Operation *op) const;

  const std::vector<KernelDescription> &kernels() const { return noted; }

private:
  std::map<std::string, int64_t> given, settled;
  std::set<std::string> changed;
  std::vector<KernelDescription> noted;
  std::string reason;
};

} // namespace fastk

#endif // FASTK_LIB_CONVERSION_CUDA_KERNELS_KERNELCHOICES_H
