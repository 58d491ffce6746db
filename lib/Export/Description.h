//===- Description.h - What the head of an export says ----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_EXPORT_DESCRIPTION_H
#define FASTK_LIB_EXPORT_DESCRIPTION_H

#include "fastk/Export/LaunchRecipe.h"

namespace fastk {

/// What the winner is and what it takes, as lines of comments that begin with
/// \p prefix.
std::string describe(const LaunchRecipe &recipe, llvm::StringRef prefix);

/// The architecture that nvcc has to be told; empty for PTX, which it only
/// stores.
std::string nvccArch(const LaunchRecipe &recipe);

/// How many kernels a call launches.
size_t launchCount(const LaunchRecipe &recipe);

/// "torch.float32".
std::string torchType(worker::ElementType type);

/// "(4096, 65536)", "(8,)", "()".
std::string pythonTuple(llvm::ArrayRef<int64_t> numbers);

/// A list of [(shape, dtype), ...] in Python.
std::string pythonTensors(llvm::ArrayRef<RecipeTensor> tensors);

/// \p text as a literal of Python over several lines: raw where that can hold
/// it.
std::string pythonText(llvm::StringRef text);

} // namespace fastk

#endif // FASTK_LIB_EXPORT_DESCRIPTION_H
