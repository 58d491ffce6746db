//===- Sha256.cpp - Digests of texts --------------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Support/Sha256.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

using namespace llvm;

std::string fastk::sha256(StringRef text) {
  SHA256 hash;
  hash.update(text);
  return toHex(hash.final(), /*LowerCase=*/true);
}
