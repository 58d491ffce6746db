//===- JobFiles.cpp - The programs of a job as files beside each other ----===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Evaluate/JobMaker.h"
#include "fastk/Support/DurableFile.h"
#include <fcntl.h>

using namespace mlir;
using namespace fastk;

/// Far above any program; a bound for a stray file.
static constexpr size_t kFileLimit = 64 << 20;

llvm::Error
fastk::takeFiles(worker::Job &job,
                 std::vector<std::pair<std::string, std::string>> &files) {
  auto add = [&](const char *name, worker::Program &program) -> llvm::Error {
    llvm::Expected<std::string> content =
        readRegularFile(AT_FDCWD, program.path, program.path, kFileLimit);
    if (!content)
      return content.takeError();
    program.path = name + StringRef(program.path)
                              .drop_front(StringRef(program.path).rfind('.'))
                              .str();
    files.emplace_back(program.path, std::move(*content));
    return llvm::Error::success();
  };
  bool compares = job.mode == worker::Mode::Compare;
  auto of = [](std::optional<worker::Program> &program) {
    return program ? &*program : nullptr;
  };
  for (auto [name, program] :
       {std::pair("oracle", &job.oracle),
        std::pair("baseline", compares ? nullptr : &job.baseline),
        std::pair("condition", of(job.condition)),
        std::pair("incumbent", of(job.incumbent)),
        std::pair("candidate", compares ? nullptr : &job.candidate),
        std::pair("host_oracle", of(job.hostOracle)),
        std::pair("host_condition", of(job.hostCondition))})
    if (program)
      if (llvm::Error error = add(name, *program))
        return error;
  return llvm::Error::success();
}
