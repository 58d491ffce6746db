//===- FindPython.cpp - The Python that has fastk -------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Support/FindPython.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"
#include <cstdlib>

using namespace llvm;

Expected<std::string> fastk::findPython(const Twine &remedy) {
  const char *named = std::getenv("FASTK_PYTHON");
  std::string name = named && *named ? named : "python3";
  ErrorOr<std::string> found = sys::findProgramByName(name);
  if (found && sys::fs::can_execute(*found))
    return *found;
  return createStringError(name + ": no such program; " + remedy);
}
