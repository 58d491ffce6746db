//===- OutputText.cpp - Text for a file or standard output ----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OutputText.h"
#include "fastk/Conversion/WriteFile.h"
#include "fastk/Driver/ToldError.h"
#include "fastk/Support/DurableFile.h"

using namespace fastk;

llvm::Error
fastk::writeOutputText(llvm::StringRef path,
                       llvm::function_ref<void(llvm::raw_ostream &)> write) {
  std::error_code ec = writeFileAtomically(
      path, [&](llvm::raw_pwrite_stream &os) { write(os); });
  if (!ec)
    return llvm::Error::success();
  // Who reads standard output may have had enough.
  if (path == "-" && ec == std::errc::broken_pipe)
    return toldError();
  return fileError(path == "-" ? "standard output" : path, "write", ec.value());
}
