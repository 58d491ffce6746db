//===- FileDigest.cpp - What a file holds, as a digest --------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FileDigest.h"
#include "fastk/Support/Sha256.h"
#include "llvm/Support/MemoryBuffer.h"

llvm::Expected<std::string> fastk::digestOfFile(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return llvm::createStringError(buffer.getError(),
                                   "cannot read " + path + ": " +
                                       buffer.getError().message());
  return sha256((*buffer)->getBuffer());
}
