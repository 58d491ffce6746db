//===- ModelHeader.h - The C header of a compiled model ---------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_CONVERSION_MODELHEADER_H
#define FASTK_CONVERSION_MODELHEADER_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace llvm {
class Module;
} // namespace llvm

namespace fastk {

/// What a model's functions look like from outside, as C99 that C++ takes, too:
/// docs/aot.md. `model` is what compileModel or emitDeviceModel made, not yet
/// optimised; `fileName` is that of the header, for its include guard.
std::string emitCHeader(const llvm::Module &model, llvm::StringRef fileName);

} // namespace fastk

#endif // FASTK_CONVERSION_MODELHEADER_H
