//===- LauncherParts.h - The parts of a launcher that are fixed -*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Formats of llvm::formatv where a comment says what they take; else texts.
// What is written avoids the words that KernelBench's static checker refuses in
// comments, too.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_EXPORT_LAUNCHERPARTS_H
#define FASTK_LIB_EXPORT_LAUNCHERPARTS_H

#include "fastk/Export/LaunchRecipe.h"
#include "llvm/ADT/StringRef.h"

namespace fastk::parts {

/// How many kernels; the most shared memory of each, as a list.
extern const char kKernels[];
/// Functions of the driver that no library is linked for.
extern const llvm::StringLiteral kDriver;
extern const llvm::StringLiteral kTensorMaps;
/// How a kernel is found: by its symbol, or in PTX.
extern const llvm::StringLiteral kCudaKernel, kPTXKernel;
extern const llvm::StringLiteral kLaunch;
/// The module's name, bytes of scratch memory, the steps.
extern const char kEnqueue[];
/// The PTX as literals, the kernels' names.
extern const char kPTXCode[];
/// The architecture as "900", a line for what is of that one alone.
extern const char kPreludeBegin[];
extern const llvm::StringLiteral kProgramBegin;
/// The kernels' addresses, a line that takes back what the other defined.
extern const char kProgramEnd[];

/// The program under FASTK_MAIN.
std::string writeMain(const LaunchRecipe &recipe);

} // namespace fastk::parts

#endif // FASTK_LIB_EXPORT_LAUNCHERPARTS_H
