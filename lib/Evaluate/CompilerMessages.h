//===- CompilerMessages.h - What of a compiler's output tells ---*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_EVALUATE_COMPILERMESSAGES_H
#define FASTK_LIB_EVALUATE_COMPILERMESSAGES_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace fastk {

/// The first line that says "error", without the place in the temporary file.
/// Of a line that only announces another program's diagnostics ("C program does
/// not compile:"), the first of those.
std::string firstError(llvm::StringRef diagnostics);

} // namespace fastk

#endif // FASTK_LIB_EVALUATE_COMPILERMESSAGES_H
