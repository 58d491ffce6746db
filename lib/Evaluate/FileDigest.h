//===- FileDigest.h - What a file holds, as a digest ------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_EVALUATE_FILEDIGEST_H
#define FASTK_LIB_EVALUATE_FILEDIGEST_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace fastk {

/// SHA-256 of a file's content.
llvm::Expected<std::string> digestOfFile(llvm::StringRef path);

} // namespace fastk

#endif // FASTK_LIB_EVALUATE_FILEDIGEST_H
