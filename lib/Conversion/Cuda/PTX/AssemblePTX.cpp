//===- AssemblePTX.cpp - PTX to a cubin -----------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Conversion/CudaCodegen.h"
#include "fastk/Cuda/Nvrtc.h"
#include "fastk/System/ProcessFolder.h"
#include "fastk/System/WholeFile.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"

using namespace mlir;
using namespace fastk;

/// Kernels of hundreds of kilobytes take a few seconds.
static constexpr unsigned kSeconds = 60;
static constexpr unsigned kMegabytes = 8192;

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
                      "to a CUDA of version 12.4 or later; beside the wheel "
                      "pip install 'fastk[cuda]' brings it (required by "
                      "'fastk.ptxas')";
    return failure();
  }
  ProcessFolder folder;
  std::error_code code = folder.create("fastk-ptx");
  std::string source = folder.file("kernel.ptx"),
              cubin = folder.file("kernel.cubin"), log = folder.file("log");
  if (!code)
    code = writeWholeFile(source, ptx);
  if (code) {
    emitError(loc) << explainTemporaryFileError(code);
    return failure();
  }
  std::string arch = "-arch=" + target.chip;
  std::string problem;
  int status = llvm::sys::ExecuteAndWait(
      ptxas, {ptxas, arch, source, "-o", cubin}, /*Env=*/std::nullopt,
      /*Redirects=*/{StringRef(), StringRef(log), StringRef(log)}, kSeconds,
      kMegabytes, &problem);
  std::string machineCode = status == 0 ? readAll(cubin) : "";
  if (!machineCode.empty())
    return machineCode;
  std::string said = StringRef(readAll(log)).trim().split('\n').first.str();
  emitError(loc) << "ptxas could not assemble it: "
                 << (said.empty() ? problem : said)
                 << " (required by 'fastk.ptxas')";
  return failure();
}
