//===- ProfileCalls.h - Time each kernel of a model -------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_CONVERSION_PROFILECALLS_H
#define FASTK_CONVERSION_PROFILECALLS_H

#include "llvm/ADT/ArrayRef.h"
#include <string>

namespace llvm {
class Module;
} // namespace llvm

namespace fastk {

/// What profileCalls exports: two doubles for each kernel.
inline constexpr char kProfileSymbol[] = "fastk_profile";

/// Makes every call of the functions that `kernels` names, in a model of
/// compileModel, add the seconds that it took and 1 to the kernel's two
/// elements of `double fastk_profile[2 * kernels.size()]`, which the module
/// then exports. It costs two readings of the clock a call.
void profileCalls(llvm::Module &model, llvm::ArrayRef<std::string> kernels);

} // namespace fastk

#endif // FASTK_CONVERSION_PROFILECALLS_H
