//===- Sha256.h - Digests of texts ------------------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_SUPPORT_SHA256_H
#define FASTK_SUPPORT_SHA256_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace fastk {

/// SHA-256 as 64 lower-case hex digits: of keys, digests and seals.
std::string sha256(llvm::StringRef text);

} // namespace fastk

#endif // FASTK_SUPPORT_SHA256_H
