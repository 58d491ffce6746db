//===- Writers.h - The formats of exports -----------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_EXPORT_WRITERS_H
#define FASTK_EXPORT_WRITERS_H

#include "fastk/Export/FlashInfer.h"
#include "fastk/Export/LaunchRecipe.h"
#include "fastk/Export/ModelFit.h"

namespace fastk {

/// The launcher and the device code in CUDA C++: `const char
/// *fastk_MODULE(void *const *inputs, void *const *outputs, void *workspace,
/// cudaStream_t stream)` enqueues one call and returns null, or what is wrong.
/// \p hasMain: with FASTK_MAIN it is a program that fills operands, runs and
/// times it.
std::string writeLauncher(const LaunchRecipe &recipe, bool hasMain);

/// MODULE.cu, for nvcc.
std::vector<ExportedFile> writeCu(const LaunchRecipe &recipe);

/// MODULE, a Python package that builds itself by torch.utils.cpp_extension
/// when it is first called.
std::vector<ExportedFile> writeTorch(const LaunchRecipe &recipe);

/// MODULE.py, with a ModelNew for KernelBench's harness. \p reference is the
/// problem's model in Python as a class `Reference`, without its forward().
/// Fails where it has what KernelBench's static checker refuses.
llvm::Expected<std::vector<ExportedFile>>
writeKernelBench(const LaunchRecipe &recipe, const ModelFit &fit,
                 llvm::StringRef reference);

/// MODULE.json, a Solution of FlashInfer-Bench. Fails where the fit needs what
/// a Definition does not hand over.
llvm::Expected<std::vector<ExportedFile>>
writeFlashInfer(const LaunchRecipe &recipe, const ModelFit &fit,
                const FlashInferDefinition &definition);

} // namespace fastk

#endif // FASTK_EXPORT_WRITERS_H
