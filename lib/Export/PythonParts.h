//===- PythonParts.h - What exports in Python share -------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_EXPORT_PYTHONPARTS_H
#define FASTK_LIB_EXPORT_PYTHONPARTS_H

#include "fastk/Export/LaunchRecipe.h"

namespace fastk {

/// C++ that hands the launcher to Python: `launch(inputs, outputs, workspace,
/// stream)` takes addresses as integers.
std::string bindingText(const LaunchRecipe &recipe);

/// Python: the tables INPUTS, OUTPUTS and WORKSPACE_BYTES, and `run(extension,
/// operands)`, which checks the operands, makes the results and launches on the
/// current stream.
std::string pythonCall(const LaunchRecipe &recipe);

/// A list of nvcc's flags in Python, for torch.utils.cpp_extension.
std::string pythonNvccFlags(const LaunchRecipe &recipe);

} // namespace fastk

#endif // FASTK_LIB_EXPORT_PYTHONPARTS_H
