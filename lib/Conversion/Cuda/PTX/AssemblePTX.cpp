//===- AssemblePTX.cpp - PTX to a cubin -----------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Conversion/CudaCodegen.h"
#include "fastk/Cuda/Nvrtc.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace fastk;

/// Kernels of hundreds of kilobytes take a few seconds.
static constexpr unsigned kSeconds = 60;
static constexpr unsigned kMegabytes = 8192;

namespace {
/// A temporary file that goes with the object.
struct Scratch {
  explicit Scratch(StringRef suffix) {
    error = llvm::sys::fs::createTemporaryFile("fastk", suffix, path);
    remover.setFile(path, !error);
  }
  std::error_code error;
  SmallString<128> path;
  llvm::FileRemover remover;
};
} // namespace

static std::string readAll(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  return buffer ? (*buffer)->getBuffer().str() : "";
}

FailureOr<std::string> fastk::assemblePTX(Location loc, StringRef ptx,
                                          const CudaTarget &target) {
  std::string ptxas = cuda::findPtxas();
  if (ptxas.empty()) {
    emitError(loc) << "a cubin needs ptxas, which was not found: run "
                      "scripts/install-deps.sh --cuda, or set FASTK_CUDA_PATH "
                      "to a CUDA of version 12.4 or later (required by "
                      "'fastk.ptxas')";
    return failure();
  }
  Scratch source("ptx"), cubin("cubin"), log("log");
  for (const Scratch *file : {&source, &cubin, &log})
    if (file->error) {
      emitError(loc) << "cannot make a temporary file: "
                     << file->error.message();
      return failure();
    }
  std::error_code ec;
  llvm::raw_fd_ostream os(source.path, ec);
  os << ptx;
  os.close();
  if (ec || os.has_error()) {
    os.clear_error();
    emitError(loc) << "cannot write " << source.path;
    return failure();
  }
  std::string arch = "-arch=" + target.chip;
  std::string problem;
  int code = llvm::sys::ExecuteAndWait(
      ptxas, {ptxas, arch, source.path, "-o", cubin.path}, /*Env=*/std::nullopt,
      /*Redirects=*/{StringRef(), StringRef(log.path), StringRef(log.path)},
      kSeconds, kMegabytes, &problem);
  std::string machineCode = code == 0 ? readAll(cubin.path) : "";
  if (!machineCode.empty())
    return machineCode;
  std::string said =
      StringRef(readAll(log.path)).trim().split('\n').first.str();
  emitError(loc) << "ptxas could not assemble it: "
                 << (said.empty() ? problem : said)
                 << " (required by 'fastk.ptxas')";
  return failure();
}
