//===- RayCluster.cpp - Evaluations on a Ray cluster ----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Evaluate/RayCluster.h"
#include "SpoolProcess.h"
#include "fastk/Evaluate/Spool.h"
#include "fastk/Support/FindPython.h"
#include "fastk/Support/ShellWord.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace fastk;

namespace {
class RayCluster : public Evaluator {
public:
  explicit RayCluster(RayClusterOptions given) : options(std::move(given)) {}
  llvm::Error prepare() {
    if (llvm::Error error =
            findPython("evaluations on a Ray cluster need a Python that has "
                       "fastk and Ray: name it with FASTK_PYTHON (docs/ray.md)")
                .moveInto(python))
      return error;
    return createSpool({options.jobs, options.spool, options.waitSeconds})
        .moveInto(spool);
  }

  llvm::Error check(const Languages &languages,
                    const RequestContext &context) override {
    return spool->check(languages, context);
  }
  llvm::Expected<Provenance>
  provenance(LoweringOp workload, const RequestContext &context) override {
    return spool->provenance(workload, context);
  }
  void expect(LoweringOp workload) override { spool->expect(workload); }
  llvm::Expected<std::optional<worker::Verdict>>
  evaluate(const EvaluationRequest &request,
           const RequestContext &context) override {
    if (llvm::Error error = start())
      return std::move(error);
    return spool->evaluate(request, context);
  }
  std::string pendingHint() const override;
  bool waits() const override { return true; }
  unsigned workers() const override { return spool->workers(); }
  llvm::Expected<std::vector<std::string>>
  waitForAnswers(const RequestContext &context) override {
    return driver.waitForAnswers(
        *spool, context,
        [](StringRef line) { return line.starts_with("ray: "); },
        "the driver of the Ray cluster has ended");
  }

private:
  /// The command that answers the spool.
  std::vector<std::string> command() const;
  llvm::Error start();

  RayClusterOptions options;
  std::string python;
  std::unique_ptr<Evaluator> spool;
  SpoolProcess driver;
};
} // namespace

std::vector<std::string> RayCluster::command() const {
  std::vector<std::string> command = {python, "-m", "fastk.ray",
                                      options.address, options.spool};
  if (options.workers > 0)
    command.push_back("--workers=" + std::to_string(options.workers));
  if (!options.rehearsal.empty())
    command.push_back("--rehearse=" + options.rehearsal);
  return command;
}

std::string RayCluster::pendingHint() const {
  return llvm::join(llvm::map_range(command(), shellWord), " ");
}

llvm::Error RayCluster::start() {
  SpawnOptions spawned;
  spawned.program = python;
  spawned.arguments = command();
  spawned.environment = environmentWith({"FASTK_WORKER=" + options.worker});
  return driver.start(std::move(spawned), options.spool + "/ray.log");
}

llvm::Expected<std::unique_ptr<Evaluator>>
fastk::createRayCluster(RayClusterOptions options) {
  auto cluster = std::make_unique<RayCluster>(std::move(options));
  if (llvm::Error error = cluster->prepare())
    return std::move(error);
  return cluster;
}
