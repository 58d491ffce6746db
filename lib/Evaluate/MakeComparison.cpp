//===- MakeComparison.cpp - A job that compares two oracles ---------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckPlan.h"
#include "fastk/Analysis/CanonicalForm.h"
#include "fastk/Analysis/SmallWorkload.h"
#include "fastk/Evaluate/JobBuilder.h"
#include "fastk/Evaluate/JobMaker.h"
#include "fastk/Support/Sha256.h"
#include "fastk/System/WholeFile.h"
#include "llvm/Config/llvm-config.h"

using namespace mlir;
using namespace fastk;

/// Beyond it the same pattern with smaller sizes is compared: some milliseconds
/// of the host's oracle, which is no fast program.
static constexpr WorkloadSize kLargest = {int64_t(1) << 22, int64_t(1) << 20};

/// Changes with the rules by which the worker compares.
static constexpr const char *kFormat = "oracles 1";

std::string JobMaker::reproducersFolder() const {
  return options.reproducers.empty() ? userCacheFolder() + "/reproducers"
                                     : options.reproducers;
}

llvm::Expected<std::string>
JobMaker::nameOfComparison(LoweringOp workload, const RequestContext &context) {
  // The device's code tells the passes that made it.
  llvm::Expected<CompiledKernel> oracle =
      compileTrusted(workload, "oracle", context);
  if (!oracle)
    return oracle.takeError();
  std::string text = kFormat;
  for (StringRef part :
       {workload.getKey(), workload.getTarget(), StringRef(target.model),
        StringRef(FASTK_VERSION), StringRef(LLVM_VERSION_STRING),
        StringRef(oracle->digest)})
    text += "\n" + part.str();
  return sha256(text);
}

llvm::Expected<PreparedComparison>
JobMaker::makeComparison(LoweringOp workload, const RequestContext &context) {
  PreparedComparison prepared;
  auto leaveOut = [&](const Twine &why) {
    prepared.whyNot = why.str();
    return std::move(prepared);
  };
  MLIRContext *irContext = workload.getContext();
  irContext->getOrLoadDialect<func::FuncDialect>();
  OpBuilder builder(irContext);
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder.getUnknownLoc());
  builder.setInsertionPointToEnd(module->getBody());
  func::FuncOp small =
      buildSmallWorkload(builder, workload.getPattern(), "workload", kLargest);
  if (!small)
    return leaveOut("it is large, and no smaller sizes of it are known");
  llvm::raw_string_ostream(prepared.source) << *module << "\n";
  FailureOr<CanonicalForm> form =
      computeCanonicalForm(*small.getOps<WorkloadOp>().begin());
  if (failed(form))
    return leaveOut("with smaller sizes it has no canonical form");
  FailureOr<LoweringOp> device =
      buildDefaultLowering(builder, *form, workload.getTarget());
  FailureOr<LoweringOp> host = buildDefaultLowering(builder, *form, "host");
  if (failed(device) || failed(host))
    return leaveOut("with smaller sizes it has no default lowering");

  llvm::Expected<worker::Job> job =
      buildJob(*device, analyzeWorkload(device->getPattern()));
  if (!job)
    return leaveOut(llvm::toString(job.takeError()));
  // The host's run wherever the worker is, which may be another machine.
  Compilations begun = {beginTrusted(*device, "oracle"),
                        beginTrusted(*host, "portable-oracle"),
                        beginTrusted(*host, "portable-condition")};
  prepared.compiling = notYet(begun);
  if (!prepared.compiling.empty())
    return prepared;
  llvm::Expected<CompiledKernel> oracle = begun[0]->wait(context);
  if (!oracle)
    return oracle.takeError();
  llvm::Expected<CompiledKernel> hostOracle = begun[1]->wait(context);
  if (!hostOracle)
    return hostOracle.takeError();
  llvm::Expected<CompiledKernel> hostCondition = begun[2]->wait(context);
  if (!hostCondition)
    return hostCondition.takeError();
  if (!oracle->problem.empty())
    return leaveOut("it does not compile: " + oracle->problem);
  if (!hostOracle->problem.empty())
    return leaveOut("for the host it does not compile: " + hostOracle->problem);
  if (std::string problem =
          checkPlan(*device, *oracle->program.plan, target, /*isOracle=*/true);
      !problem.empty())
    return leaveOut("it cannot run on " + target.model + ": " + problem);
  job->id = workload.getKey().str();
  job->mode = worker::Mode::Compare;
  job->device = worker::DeviceKind::Cuda;
  job->machine = target.model;
  job->oracle = oracle->program;
  job->hostOracle = hostOracle->program;
  // Without conditions results are compared by rows.
  if (hostCondition->problem.empty())
    job->hostCondition = hostCondition->program;
  job->time.threads = options.threads;
  prepared.job = std::move(*job);
  return prepared;
}
