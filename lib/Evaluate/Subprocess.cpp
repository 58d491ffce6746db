//===- Subprocess.cpp - Run a program under limits ------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Evaluate/Subprocess.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace fastk;
using llvm::StringRef;

static llvm::Error writeFile(StringRef path, StringRef text) {
  std::error_code ec;
  llvm::raw_fd_ostream os(path, ec);
  if (!ec) {
    os << text;
    os.close();
    ec = os.error();
    os.clear_error();
  }
  if (ec)
    return llvm::createStringError(ec, "cannot write " + path + ": " +
                                           ec.message());
  return llvm::Error::success();
}

/// The text of a file, its first `limit` bytes; empty when it cannot be read.
static std::string readFile(StringRef path, uint64_t limit) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return "";
  return (*buffer)->getBuffer().take_front(limit).str();
}

llvm::Expected<ProcessResult>
fastk::runProcess(StringRef program, llvm::ArrayRef<std::string> arguments,
                  StringRef input, const ProcessLimits &limits,
                  StringRef scratch) {
  llvm::SmallString<128> directory(scratch);
  llvm::sys::path::append(directory, "run");
  if (std::error_code ec =
          llvm::sys::fs::createUniqueDirectory(directory, directory))
    return llvm::createStringError(ec, "cannot make a folder under " + scratch +
                                           ": " + ec.message());
  auto inside = [&](StringRef name) {
    llvm::SmallString<128> path(directory);
    llvm::sys::path::append(path, name);
    return std::string(path);
  };
  std::string in = inside("in"), out = inside("out"), err = inside("err");
  if (llvm::Error error = writeFile(in, input))
    return error;

  llvm::SmallVector<StringRef> argv = {program};
  argv.append(arguments.begin(), arguments.end());
  std::optional<StringRef> redirects[] = {StringRef(in), StringRef(out),
                                          StringRef(err)};
  ProcessResult result;
  std::string message;
  bool failedToStart = false;
  result.exitCode = llvm::sys::ExecuteAndWait(
      program, argv, /*Env=*/std::nullopt, redirects, limits.seconds,
      limits.memoryMegabytes, &message, &failedToStart);
  result.output = readFile(out, uint64_t(64) << 20);
  result.diagnostics = readFile(err, 64 << 10);
  llvm::sys::fs::remove_directories(directory);
  if (failedToStart)
    return llvm::createStringError("cannot start " + program + ": " + message);
  // ExecuteAndWait says -2 for a crash and for a time-out; only the text tells.
  result.timedOut =
      result.exitCode < 0 && StringRef(message).contains("timed out");
  if (result.exitCode < 0 && result.diagnostics.empty())
    result.diagnostics = message;
  return result;
}
