//===- StandardOutput.cpp - What becomes of printed results ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Support/StandardOutput.h"
#include "fastk/Support/DurableFile.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>
#include <unistd.h>

using namespace llvm;
using namespace fastk;

static const char *toolName;

static void tellErrors() {
  raw_fd_ostream &stream = outs();
  stream.flush();
  std::error_code code = stream.error();
  stream.clear_error();
  if (code && code != std::errc::broken_pipe)
    errs() << toolName << ": error: "
           << toString(fileError("standard output", "write", code.value()))
           << "\n";
  // Nobody can be told that messages are lost.
  errs().clear_error();
  if (code)
    ::_exit(1);
}

void fastk::watchStandardOutput(const char *tool) {
  toolName = tool;
  // Made now, so that they are there when the function runs.
  (void)outs();
  (void)errs();
  std::atexit(tellErrors);
}
