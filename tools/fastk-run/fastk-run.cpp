//===- fastk-run.cpp - Compile, run, check and time a model ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Tools.h"
#include "Options.h"
#include "RunModel.h"
#include "fastk/Bank/Bank.h"
#include "fastk/Cuda/CompileInChild.h"
#include "fastk/Driver/Compile.h"
#include "fastk/Driver/Session.h"
#include "fastk/Support/StandardOutput.h"
#include "fastk/System/ClosedStreams.h"
#include "fastk/System/EndingSignals.h"
#include "fastk/System/ProcessFolder.h"
#include "fastk/System/VectorLimit.h"
#include "fastk/Transforms/RunPasses.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/WithColor.h"
#include <cstdlib>
#include <unistd.h>

using namespace mlir;
using namespace fastk;
using namespace fastk::options;

/// What the options ask for, once they are read.
static RunRequest requestFromOptions(Precision precision) {
  RunRequest request;
  request.input = inputPath;
  request.entry = entry;
  request.precision = precision;
  request.fusion = fusion;
  request.banks = banks;
  if (request.banks.empty())
    request.banks = defaultBanks(llvm::sys::fs::getMainExecutable(
        nullptr, reinterpret_cast<void *>(&fail)));
  request.anyMachine = winnersFrom == "any";
  request.requireDeterministic = requireDeterministic;
  request.check = check;
  request.onApplied = [](const ApplySummary &summary) {
    llvm::errs() << "fastk-run: " << summary.str() << "\n";
  };
  return request;
}

/// Opens the input, which is compiled, and has `targetName` be what it is for.
static llvm::Error openCompiled(bool isPlan,
                                std::optional<CompiledLibrary> &library,
                                std::optional<GpuFunction> &opened) {
  std::string made;
  if (isPlan) {
    auto function = openPlanFile(inputPath, entry);
    if (!function)
      return function.takeError();
    opened = std::move(*function);
    made = opened->signature.target;
  } else {
    auto found = CompiledLibrary::open(inputPath);
    if (!found)
      return found.takeError();
    library = std::move(*found);
    auto function = library->find(entry);
    if (!function)
      return function.takeError();
    made = (*function)->signature.target;
    if (made != "host")
      opened = GpuRunner::of(**function);
  }
  if (targetIsGiven && targetName != made &&
      !(targetName == "cuda" && llvm::StringRef(made).starts_with("cuda:")))
    return llvm::createStringError(
        inputPath + ": is compiled for " + made + ", not for " + targetName +
        ": leave --target out, or compile the model again");
  targetName = made;
  return llvm::Error::success();
}

static int run(int argc, char **argv) {
  // Before OpenMP starts: threads that move, or share a processor, make the
  // times of small kernels bimodal. What the user set is kept.
  setenv("OMP_PROC_BIND", "true", /*overwrite=*/0);
  registerPassManagerCLOptions();
  registerMLIRContextCLOptions();
  std::optional<Precision> precision = parseOptions(argc, argv);
  if (!precision)
    return 1;

  for (const std::string &warning :
       explainMissingBanks(banks, "fastk-opt --search"))
    llvm::WithColor::warning(llvm::errs(), "fastk-run") << warning << "\n";

  ProcessFolder folder;
  if (std::error_code ec = folder.create("fastk-run"))
    return fail(llvm::createStringError(ec, explainTemporaryFileError(ec)));

  bool isPlan = llvm::StringRef(inputPath).ends_with(".plan");
  bool isCompiled = isPlan || llvm::StringRef(inputPath).ends_with(".so");
  if (describe && !isPlan)
    return fail(llvm::createStringError(
        "--describe tells what is in a plan file: make one with fastk-opt "
        "--target=cuda:sm_90a --emit=plan"));
  if (describe)
    return describePlanFile(inputPath);
  // The passes obey the options above; nothing is timed.
  TimingScope untimed;
  ObservedPasses observed(&untimed);
  Session session;
  OwningOpRef<ModuleOp> model, definition;
  if (isCompiled && (check || runOracle))
    return fail(llvm::createStringError(
        "--check and --oracle need the model: a library has no oracle"));
  if (check && runOracle)
    return fail(llvm::createStringError(
        "--oracle is what --check compares with: use one of them"));
  if (!isCompiled) {
    model = session.load(inputPath);
    if (!model || failed(prepareModel(*model, targetName)))
      return 1;
    keepEntry(*model, entry);
    if (!model->getOps<LoweringOp>().empty()) {
      definition = model->clone();
      if (failed(inlineLowerings(*definition)))
        return 1;
    }
  }
  std::optional<CompiledLibrary> library;
  std::optional<GpuFunction> opened;
  if (isCompiled) {
    if (llvm::Error error = openCompiled(isPlan, library, opened))
      return fail(std::move(error));
  }
  if (useGraphs && targetName == "host")
    return fail(llvm::createStringError(
        "--graph is for a GPU: add --target=cuda, or leave it out"));
  if (showProfile && (targetName != "host" || isCompiled || runOracle))
    return fail(llvm::createStringError(
        "--profile is for a model on the host: a library does not tell its "
        "workloads apart; leave out --target and --oracle, or --profile"));
  RunRequest request = requestFromOptions(*precision);
  RunModel models;
  if (model)
    models = {&session, *model, definition ? *definition : *model};
  if (targetName != "host")
    return runOnGpu(models, opened ? &*opened : nullptr, request,
                    folder.path());
  return runOnHost(models, std::move(library), request, folder.path());
}

int fastk::runMain(int argc, char **argv) {
  if (cuda::isNvrtcChild(argc, argv))
    _exit(cuda::nvrtcChildMain(argc, argv));
  occupyClosedStreams();
  watchStandardOutput("fastk-run");
  watchEndingSignals();
  if (!checkVectorLimit("fastk-run"))
    return 1;
  llvm::InitLLVM init(argc, argv, /*InstallPipeSignalExitHandler=*/false);
  keepIgnoredSignals();
  return run(argc, argv);
}
