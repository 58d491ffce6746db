//===- ShippedFolder.cpp - What fastk brings beside its programs ----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Support/ShippedFolder.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace fastk;

std::optional<std::string> fastk::shippedFolder(StringRef name,
                                                StringRef executable) {
  // argv[0] may be a bare name or a symbolic link; the running program is not.
  std::string program = sys::fs::getMainExecutable(
      executable.str().c_str(), reinterpret_cast<void *>(&shippedFolder));
  // Of an installation, and of a build or a folder that was copied.
  for (StringRef parent : {"share/fastk", ""}) {
    SmallString<256> shipped(sys::path::parent_path(program));
    sys::path::append(shipped, "..", parent, name);
    sys::path::remove_dots(shipped, /*remove_dot_dot=*/true);
    if (sys::fs::is_directory(shipped))
      return shipped.str().str();
  }
  return std::nullopt;
}
