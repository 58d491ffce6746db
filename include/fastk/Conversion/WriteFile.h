//===- WriteFile.h - Files that are whole or not there ----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_CONVERSION_WRITEFILE_H
#define FASTK_CONVERSION_WRITEFILE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"
#include <system_error>

namespace fastk {

/// Writes `path` under another name in the same folder and renames it when all
/// of it is on disk: whoever looks finds the old file or the new one, also
/// after a full disk or a kill. A link stays, and what it names is replaced
/// (fastk/Support/OutputPlace.h). "-" is standard output; what is there and is
/// no plain file (a device, a pipe) is written as it is.
std::error_code
writeFileAtomically(llvm::StringRef path,
                    llvm::function_ref<void(llvm::raw_pwrite_stream &)> write);

/// The same for a file that another program writes: a name beside `path` to
/// have it write to, and what to do when it is done. Without keep() what is
/// there under that name is removed.
class FileBeside {
public:
  explicit FileBeside(llvm::StringRef path);
  ~FileBeside();
  FileBeside(const FileBeside &) = delete;
  FileBeside &operator=(const FileBeside &) = delete;

  llvm::StringRef name() const { return temporary; }
  /// Gives the file its name.
  std::error_code keep();

private:
  std::string path;
  llvm::SmallString<128> temporary;
};

} // namespace fastk

#endif // FASTK_CONVERSION_WRITEFILE_H
