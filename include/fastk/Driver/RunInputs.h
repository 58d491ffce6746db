//===- RunInputs.h - Tensors for a run --------------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_DRIVER_RUNINPUTS_H
#define FASTK_DRIVER_RUNINPUTS_H

#include "fastk/Analysis/WorkloadKind.h"
#include "fastk/Runtime/Signature.h"
#include "fastk/Transforms/PassChoices.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <vector>

namespace fastk {

/// What each argument of `function` is used for, from the workloads that read
/// it, so that generated values are legal: variances positive, indices in
/// range. `model` is a module on tensors, not formed yet; it is not changed.
llvm::SmallVector<InputFeatures>
analyzeArguments(mlir::ModuleOp model, llvm::StringRef function, Fusion fusion);

/// Inputs for a function: the first ones from `files`, the others generated.
/// Generated floats are N(0,1) times `scale`; without it, times the inverse
/// root of the last extent where a tensor has two dimensions or more, as
/// weights are, so that deep models stay in range. Positive ones are in
/// [0.5, 1.5]; indices are in range, other integers 0 or 1. `features` may be
/// shorter than the inputs. The same seed gives the same inputs on every
/// machine. Dimensions that the signature leaves open are `openSize`. Errors
/// name the file and the type it should have.
llvm::Expected<std::vector<HostTensor>>
makeInputs(const Signature &signature, llvm::ArrayRef<std::string> files,
           llvm::ArrayRef<InputFeatures> features, uint64_t seed,
           int64_t openSize, std::optional<double> scale = std::nullopt);

} // namespace fastk

#endif // FASTK_DRIVER_RUNINPUTS_H
