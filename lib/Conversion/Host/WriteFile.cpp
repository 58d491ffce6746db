//===- WriteFile.cpp - Files that are whole or not there ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Conversion/WriteFile.h"
#include "fastk/Support/OutputPlace.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Signals.h"

using namespace fastk;

static std::error_code closeStream(llvm::raw_fd_ostream &stream) {
  stream.close();
  std::error_code code = stream.error();
  stream.clear_error();
  return code;
}

std::error_code fastk::writeFileAtomically(
    llvm::StringRef path,
    llvm::function_ref<void(llvm::raw_pwrite_stream &)> write) {
  std::error_code code;
  if (path == "-" || isWrittenInPlace(outputPlace(path))) {
    llvm::raw_fd_ostream stream(path, code, llvm::sys::fs::OF_None);
    if (code)
      return code;
    write(stream);
    if (path != "-")
      return closeStream(stream);
    stream.flush();
    code = stream.error();
    stream.clear_error();
    return code;
  }
  FileBeside beside(path);
  llvm::raw_fd_ostream stream(beside.name(), code, llvm::sys::fs::OF_None);
  if (code)
    return code;
  write(stream);
  if ((code = closeStream(stream)))
    return code;
  return beside.keep();
}

FileBeside::FileBeside(llvm::StringRef given) : path(outputPlace(given)) {
  if (isWrittenInPlace(path)) {
    temporary = path;
    return;
  }
  // A name only: whoever writes makes the file, with the permissions it wants.
  llvm::sys::fs::createUniquePath(path + ".%%%%%%%%.tmp", temporary,
                                  /*MakeAbsolute=*/false);
  llvm::sys::RemoveFileOnSignal(temporary);
}

FileBeside::~FileBeside() {
  if (temporary.empty() || temporary == path)
    return;
  (void)llvm::sys::fs::remove(temporary);
  llvm::sys::DontRemoveFileOnSignal(temporary);
}

std::error_code FileBeside::keep() {
  if (temporary == path)
    return {};
  if (std::error_code code = llvm::sys::fs::rename(temporary, path))
    return code;
  llvm::sys::DontRemoveFileOnSignal(temporary);
  temporary.clear();
  return {};
}
