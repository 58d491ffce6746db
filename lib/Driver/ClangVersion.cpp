//===- ClangVersion.cpp - The clang that compiles C programs --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Conversion/HostCodegen.h"
#include "fastk/Driver/FamilySamples.h"
#include "fastk/System/ProcessFolder.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"

using namespace fastk;

/// Seconds that clang may take to say it.
static constexpr unsigned kSeconds = 20;

std::string fastk::clangVersionHere() {
  auto clang = llvm::sys::findProgramByName(kCCompiler);
  ProcessFolder folder;
  if (!clang || folder.create("fastk-clang"))
    return "";
  std::string file = folder.file("version");
  std::optional<llvm::StringRef> redirects[] = {
      llvm::StringRef(""), llvm::StringRef(file), llvm::StringRef("")};
  llvm::StringRef command[] = {kCCompiler, "-dumpversion"};
  if (llvm::sys::ExecuteAndWait(*clang, command, std::nullopt, redirects,
                                kSeconds) != 0)
    return "";
  auto text = llvm::MemoryBuffer::getFile(file);
  return text ? (*text)->getBuffer().trim().str() : "";
}
