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

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace fastk {

/// Of a folder: a file that an object has or may have.
struct ObjectFile {
  enum Need {
    Needed,     ///< An error where it cannot be read.
    IfThere,    ///< The same, but where there is none.
    IfReadable, ///< Left out where it cannot be read.
  };
  llvm::StringRef name;
  Need need;
};

/// The texts of a folder's files as one object of such a kind ("winner",
/// "family"). An error says what is wrong with the folder.
llvm::Expected<std::string> packFiles(llvm::StringRef kind,
                                      llvm::StringRef folder,
                                      llvm::ArrayRef<ObjectFile> files);

/// Makes `folder` of such an object, which has a file `needed`; untrusted. The
/// sizes of the files, a line each, for who wants to see later that all are
/// there. An error of the code bad_message says what is wrong with the object,
/// others that the folder cannot be written.
llvm::Expected<std::string> unpackFiles(llvm::StringRef kind,
                                        llvm::StringRef needed,
                                        llvm::StringRef text,
                                        llvm::StringRef folder);

/// Whether a name of a file or folder may come from others: letters, digits and
/// ". _ -", and no dot at its beginning.
bool isPlainName(llvm::StringRef name);

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
