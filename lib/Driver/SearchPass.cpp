//===- SearchPass.cpp - Search as a pass ----------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Conversion/CudaCodegen.h"
#include "fastk/Driver/RunSearch.h"
#include "fastk/Driver/ToldError.h"
#include "fastk/Support/DurableFile.h"
#include "fastk/Transforms/RunPasses.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace fastk {
#define GEN_PASS_DECL_FASTKSEARCHPASS
#define GEN_PASS_DEF_FASTKSEARCHPASS
#include "fastk/Driver/Passes.h.inc"

namespace {
/// What a caller has already, and where it is told of the end.
struct CallersSearch {
  BankStack &banks;
  WorkloadMatcher &matcher;
  const SearchSettings &settings;
  const SearchRequest &request;
  llvm::Expected<SearchModelEnd> &end;
};

struct FastkSearchPass : impl::FastkSearchPassBase<FastkSearchPass> {
  using Base::Base;
  explicit FastkSearchPass(const CallersSearch &caller) : caller(caller) {}

  void getDependentDialects(DialectRegistry &registry) const override {
    // Candidates and what they are compared with are read and lowered here.
    registerHostDialects(registry);
    registerCudaDialects(registry);
  }

  void runOnOperation() override {
    // The passes of its candidates are nobody's business.
    ObservedPasses unobserved(nullptr);
    if (caller) {
      caller->end = runSearch(getOperation(), caller->banks, caller->matcher,
                              caller->settings, caller->request);
      if (!caller->end || *caller->end != SearchModelEnd::Done)
        signalPassFailure();
      return;
    }
    if (llvm::Error error = search()) {
      getOperation().emitError() << llvm::toString(std::move(error));
      signalPassFailure();
    }
  }

private:
  llvm::Error search();
  llvm::Expected<SearchSettings> settings();

  std::optional<CallersSearch> caller;
};
} // namespace

/// What the options say.
llvm::Expected<SearchSettings> FastkSearchPass::settings() {
  SearchSettings made;
  made.scope = scope;
  std::string warning;
  if (llvm::Error error = parseTarget(target, made, warning))
    return std::move(error);
  if (!warning.empty())
    mlir::emitWarning(UnknownLoc::get(&getContext())) << warning;
  if (llvm::Error error = parseEvaluator(evaluator, made))
    return std::move(error);
  if (!budget.empty())
    if (llvm::Error error =
            parseSearchBudget(budget).moveInto(made.search.budget))
      return std::move(error);
  if (llvm::Error error =
          findSearchStrategy(strategy).moveInto(made.search.strategy))
    return std::move(error);
  made.search.rounds = rounds;
  made.search.ideas = ideas;
  made.search.implementations = implementations;
  made.search.parents = parents;
  made.search.repairs = repairs;
  made.search.seed = seed;
  made.boundaries = boundaries;
  made.fusion = fusion;
  made.proposers.assign(proposer.begin(), proposer.end());
  made.proposerOptions.prompts = prompts;
  made.proposerOptions.writes = write;
  made.proposerOptions.baseUrl = baseUrl;
  made.proposerOptions.keyVariable = keyVariable;
  made.proposerOptions.extraBody = extraBody;
  made.proposerOptions.priceTable = priceTable;
  made.proposerOptions.timeoutSeconds = modelTimeout;
  made.journal = journal;
  made.report = report;
  made.record = record;
  made.jobs.threads = threads;
  made.jobs.requireDeterministic = requireDeterministic;
  made.tools = tools.empty() ? findTools() : std::string(tools);
  if (llvm::Error error = checkSettings(made))
    return std::move(error);
  if (made.tools.empty() && made.scope != SearchScope::None)
    return llvm::createStringError(
        "fastk-opt and fastk-worker are not found: say where they are with "
        "tools=DIR, or add their folder to PATH");
  return made;
}

llvm::Error FastkSearchPass::search() {
  llvm::Expected<SearchSettings> given = settings();
  if (!given)
    return given.takeError();
  FailureOr<PassBanks> opened = openPassBanks(
      getOperation(), std::vector<std::string>(bank.begin(), bank.end()),
      given->target, precision, winnersFrom, requireDeterministic);
  if (failed(opened))
    return llvm::createStringError("the banks cannot be searched for");
  opened->filter.machine = machineOf(*given);
  if (given->scope == SearchScope::None)
    return llvm::Error::success();
  WorkloadMatcher matcher(opened->banks, opened->filter);
  llvm::Expected<SearchModelEnd> end =
      runSearch(getOperation(), opened->banks, matcher, *given, {});
  if (!end)
    return end.takeError();
  if (*end == SearchModelEnd::Done)
    return llvm::Error::success();
  std::string pending = "answers are pending; the same pipeline goes on from "
                        "the journal in " +
                        journalOf(*given, opened->banks);
  if (requireComplete)
    return llvm::createStringError(pending);
  remark::missed(getOperation().getLoc(),
                 remark::RemarkOpts::name("search-pending").category("fastk"))
      << remark::reason("{0}", pending);
  return llvm::Error::success();
}

llvm::Expected<SearchModelEnd> runSearchPass(ModuleOp module, BankStack &banks,
                                             WorkloadMatcher &matcher,
                                             const SearchSettings &settings,
                                             const SearchRequest &request) {
  TimingScope step = timeStep("Search");
  llvm::Expected<SearchModelEnd> end = SearchModelEnd::Done;
  (void)!end; // Seen: it is no error.
  PassManager passes(module.getContext());
  // The last pass and the next one look.
  passes.enableVerifier(false);
  passes.addPass(std::make_unique<FastkSearchPass>(
      CallersSearch{banks, matcher, settings, request, end}));
  bool isDone = succeeded(passes.run(module));
  // Something else than the search failed, with a diagnostic.
  if (end && *end == SearchModelEnd::Done && !isDone)
    return toldError();
  return end;
}

void registerSearchPass() {
  mlir::registerPass(
      []() -> std::unique_ptr<Pass> { return createFastkSearchPass(); });
}
} // namespace fastk
