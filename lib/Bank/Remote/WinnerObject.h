//===- WinnerObject.h - A winner as one object ------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// {"fastk": "winner", "format": 1, "files": {"lowering.mlir": TEXT, ...}}: the
// files of a winner's folder, in a form that LLVM reads and writes. Its name is
// its digest.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_BANK_REMOTE_WINNEROBJECT_H
#define FASTK_LIB_BANK_REMOTE_WINNEROBJECT_H

#include "llvm/Support/Error.h"
#include <string>

namespace fastk {

/// What a remote winner has at most, in bytes.
constexpr size_t kRemoteWinnerLimit = size_t(8) << 20;

/// The object of the winner in `folder`, whose program is `program` ("" for
/// none). Files that are none of a winner's are left out.
llvm::Expected<std::string> packWinner(llvm::StringRef folder,
                                       llvm::StringRef program);

/// Writes the files into `folder`, which must not be there. Names that are not
/// plain are refused, and so is what has no lowering.mlir. Flushes nothing to
/// the disk: after a power cut isWholeWinner() tells what is left.
llvm::Error unpackWinner(llvm::StringRef text, llvm::StringRef folder);
/// Whether the folder has all that was unpacked there.
bool isWholeWinner(llvm::StringRef folder);

} // namespace fastk

#endif // FASTK_LIB_BANK_REMOTE_WINNEROBJECT_H
