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
#include "llvm/Support/Program.h"
#include <dlfcn.h>

using namespace llvm;
using namespace fastk;

/// The folder beside a program's, or a library's.
static std::optional<std::string> folderBeside(StringRef file, StringRef name) {
  // Of an installation, and of a build or a folder that was copied.
  for (StringRef parent : {"share/fastk", ""}) {
    SmallString<256> shipped(sys::path::parent_path(file));
    sys::path::append(shipped, "..", parent, name);
    sys::path::remove_dots(shipped, /*remove_dot_dot=*/true);
    if (sys::fs::is_directory(shipped))
      return shipped.str().str();
  }
  return std::nullopt;
}

std::optional<std::string> fastk::shippedFolder(StringRef name,
                                                StringRef executable) {
  void *here = reinterpret_cast<void *>(&shippedFolder);
  // argv[0] may be a bare name or a symbolic link; the running program is not.
  std::string program =
      sys::fs::getMainExecutable(executable.str().c_str(), here);
  if (auto folder = folderBeside(program, name))
    return folder;
  // In another program: the plugin lies in lib.
  Dl_info library = {};
  SmallString<256> path;
  if (dladdr(here, &library) && library.dli_fname &&
      !sys::fs::real_path(library.dli_fname, path))
    if (auto folder = folderBeside(path, name))
      return folder;
  // In a program of somebody else's with fastk's libraries in it: what
  // fastk-opt has. A program of fastk's that was copied alone has nothing.
  if (sys::path::filename(program).starts_with("fastk-"))
    return std::nullopt;
  auto tool = sys::findProgramByName("fastk-opt");
  if (!tool || sys::fs::real_path(*tool, path))
    return std::nullopt;
  return folderBeside(path, name);
}
