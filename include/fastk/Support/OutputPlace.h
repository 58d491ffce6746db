//===- OutputPlace.h - Where a file that a user names goes ------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_SUPPORT_OUTPUTPLACE_H
#define FASTK_SUPPORT_OUTPUTPLACE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace fastk {

/// The file that is written for the name `path`. All outputs are written to it,
/// whatever writes them: a link stays and what it names gets the new content,
/// as a shell's redirection does it; a link to what is not there makes that.
/// Files are renamed into their place, which would replace the link otherwise.
///
/// `path` itself where its links lead through /proc, as /dev/stdout does: that
/// is an open file, and no name.
std::string outputPlace(llvm::StringRef path);

/// Whether that place is written as it is, for it cannot be replaced by a file:
/// a device, a pipe, the name of an open file.
bool isWrittenInPlace(llvm::StringRef place);

/// Whether two outputs would be written to the same file, whatever it is called
/// and whether or not it is there. Nothing ("", "-") and what is written in its
/// place, as /dev/null, is never the same.
bool isSamePlace(llvm::StringRef path, llvm::StringRef other);

/// `error` with `named` in the place of `written`: what a user named instead of
/// what is written first, and renamed.
llvm::Error nameInstead(llvm::Error error, llvm::StringRef written,
                        llvm::StringRef named);

/// Writes an output that a user named, at its place: a file all of it or
/// nothing, another one as it is.
llvm::Error writeOutput(llvm::StringRef path, llvm::StringRef content);

} // namespace fastk

#endif // FASTK_SUPPORT_OUTPUTPLACE_H
