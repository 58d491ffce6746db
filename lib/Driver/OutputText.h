//===- OutputText.h - Text for a file or standard output --------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_DRIVER_OUTPUTTEXT_H
#define FASTK_LIB_DRIVER_OUTPUTTEXT_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace fastk {

/// Writes text to `path`, all of it or nothing; "-" is standard output. A
/// ToldError where the reader of standard output has had enough.
llvm::Error
writeOutputText(llvm::StringRef path,
                llvm::function_ref<void(llvm::raw_ostream &)> write);

} // namespace fastk

#endif // FASTK_LIB_DRIVER_OUTPUTTEXT_H
