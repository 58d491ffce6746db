//===- fastk-opt.cpp - mlir-opt with fastk, and the compiler driver -------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two programs in one: with pass flags, or any other option that only mlir-opt
// has, it is mlir-opt with fastk's passes and dialect; without, it is the
// compiler driver.
//
//===----------------------------------------------------------------------===//

#include "../Tools.h"
#include "Driver.h"
#include "fastk/Conversion/CudaCodegen.h"
#include "fastk/Conversion/HostCodegen.h"
#include "fastk/Conversion/Passes.h"
#include "fastk/Cuda/CompileInChild.h"
#include "fastk/Driver/LoadModel.h"
#include "fastk/Driver/RegisterMLIR.h"
#include "fastk/Driver/RunSearch.h"
#include "fastk/Support/StandardOutput.h"
#include "fastk/System/ClosedStreams.h"
#include "fastk/System/EndingSignals.h"
#include "fastk/System/VectorLimit.h"
#include "fastk/Transforms/Passes.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"
#include <csignal>
#include <unistd.h>

/// Options of mlir-opt that ask for what the driver does not do.
static bool isMlirOptOption(llvm::StringRef name) {
  static constexpr llvm::StringRef kOptions[] = {"pass-pipeline",
                                                 "split-input-file",
                                                 "verify-diagnostics",
                                                 "verify-roundtrip",
                                                 "emit-bytecode",
                                                 "show-dialects",
                                                 "load-pass-plugin",
                                                 "load-dialect-plugin",
                                                 "run-reproducer",
                                                 "irdl-file",
                                                 "dump-pass-pipeline",
                                                 "list-passes",
                                                 "help-passes",
                                                 "verify-each",
                                                 "no-implicit-module",
                                                 "output-split-marker",
                                                 "profile-actions-to",
                                                 "log-actions-to",
                                                 "allow-unregistered-dialect"};
  return llvm::is_contained(kOptions, name);
}

static bool wantsMlirOpt(int argc, char **argv) {
  for (llvm::StringRef argument : llvm::ArrayRef(argv + 1, argc - 1)) {
    if (argument == "--")
      return false;
    if (!argument.consume_front("-"))
      continue;
    argument.consume_front("-");
    llvm::StringRef name = argument.split('=').first;
    if (isMlirOptOption(name) || mlir::PassInfo::lookup(name) ||
        mlir::PassPipelineInfo::lookup(name))
      return true;
  }
  return false;
}

int fastk::optMain(int argc, char **argv) {
  if (fastk::cuda::isNvrtcChild(argc, argv))
    _exit(fastk::cuda::nvrtcChildMain(argc, argv));
  fastk::occupyClosedStreams();
  fastk::watchStandardOutput("fastk-opt");
  fastk::watchEndingSignals();
  if (!fastk::checkVectorLimit("fastk-opt"))
    return 1;
  llvm::InitLLVM init(argc, argv, /*InstallPipeSignalExitHandler=*/false);
  fastk::keepIgnoredSignals();
  // A file beyond the shell's size limit (ulimit -f) is an error that names the
  // file, not a crash.
  std::signal(SIGXFSZ, SIG_IGN);
  fastk::registerMLIRPasses();
  fastk::registerFastkPasses();
  fastk::registerFastkConversionPasses();
  fastk::registerConversionPipelines();
  fastk::registerSearchPass();
  if (wantsMlirOpt(argc, argv)) {
    mlir::DialectRegistry registry;
    fastk::registerFastkDialects(registry);
    fastk::registerHostCodegen(registry);
    fastk::registerCudaCodegen(registry);
    return mlir::asMainReturnCode(mlir::MlirOptMain(
        argc, argv, "fastk-opt: mlir-opt with fastk's passes\n", registry));
  }
  std::string executable = llvm::sys::fs::getMainExecutable(
      argv[0], reinterpret_cast<void *>(&wantsMlirOpt));
  std::optional<fastk::DriverOptions> options =
      fastk::parseDriverOptions(argc, argv);
  if (!options)
    return fastk::kExitWrong;
  options->search.tools = llvm::sys::path::parent_path(executable).str();
  return fastk::runDriver(*options, executable);
}
