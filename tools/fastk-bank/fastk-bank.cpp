//===- fastk-bank.cpp - The winners that fastk found ----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Tools.h"
#include "CommandLine.h"
#include "Tool.h"
#include "fastk/Bank/Bank.h"
#include "fastk/Dialect/Fastk/PlanRegion.h"
#include "fastk/Support/StandardOutput.h"
#include "fastk/System/ClosedStreams.h"
#include "fastk/System/EndingSignals.h"
#include "fastk/System/VectorLimit.h"
#include "fastk/Target/TargetDescription.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::bank;

namespace {

constexpr char kOverview[] = R"(fastk-bank: the winners that fastk found

A bank is a folder with one folder per winner: lowering.mlir (the workload it
replaces and how it was measured), the program (kernel.c or schedule.mlir) and
trajectory.json (how it was found). Reading a bank never runs what is in it.

  fastk-bank list                what is there: key, name, shapes, target,
                                 precision, time, against the default lowering
  fastk-bank show --key=1f3a     all that is known of one winner
  fastk-bank show --resources    also registers, spills, occupancy; --ptx, --sass
  fastk-bank verify winners      check keys and digests of a bank
  fastk-bank verify --remeasure  validate and time them on this machine again
  fastk-bank merge mine theirs   their winners into mine, measured side by side
  fastk-bank prune               what no compile uses; --remove removes it
  fastk-bank spread DIR          make it a bank of very many winners
  fastk-bank sync mine https://HOST/PATH
                                 mine to a bank behind HTTP, or back
                                 (docs/remote-bank.md); --families: families
  fastk-bank judge https://HOST/PATH
                                 what compiles here want of it, judged
  fastk-bank export --to=DIR     copies of winners, to share or to commit
  fastk-bank export --format=cu --to=DIR
                                 kernels for others: cu, torch, kernelbench,
                                 flashinfer (docs/export.md)
  fastk-bank list --json | jq    the same for programs
  fastk-bank families            programs for every size, and whether evidence
                                 of their correctness stands
  fastk-bank extract-family winners/sm_90a/... --to=DIR
                                 the family that a winner is an instance of

Without DIR: the folders of $FASTK_BANK, then ~/.cache/fastk/bank, then the
bank shipped with fastk; of families the shipped ones. DIR may be given several
times; where winners are only read it may be a URL.

Exit codes: 0 done; 1 a bank or an option is wrong; 2 winners were refused: stale,
or, measured again, wrong or no faster than the default lowering
)";

} // namespace

static int runExtract(const Options &options) {
  if (options.directories.size() != 1 || options.exports.to.empty())
    return reportError("extract-family needs a winner's folder and where the "
                       "family goes: fastk-bank extract-family WINNER "
                       "--to=DIR");
  return extractFamily(options.directories.front(), options.exports.to);
}

/// What is wrong with options that any subcommand may have; empty where nothing
/// is.
static std::string checkOptions(const Options &options) {
  if (!options.onlyTarget.empty() && options.onlyTarget != "host" &&
      !planLimitsOf(options.onlyTarget))
    return "unknown target '" + options.onlyTarget +
           "': choose host, or a GPU's architecture, as cuda:sm_90a";
  auto isHexDigit = [](char c) {
    return llvm::isDigit(c) || (c >= 'a' && c <= 'f');
  };
  if (!llvm::all_of(options.keyPrefix, isHexDigit) ||
      options.keyPrefix.size() > 64)
    return "--key=" + options.keyPrefix +
           ": no key begins so: a key is 64 digits from 0 to 9 and a to f, of "
           "which the first few do; see fastk-bank list";
  return {};
}

/// What is wrong with the options of one subcommand.
static std::string checkCommand(const CommandLine &line,
                                const Options &options) {
  if (!line.list && !line.show && !line.verify && !line.merge && !line.prune &&
      !line.spread && !line.exports && !line.sync && !line.judge)
    return "say what to do: list, show, verify, merge, prune, spread, sync, "
           "judge, export, families or extract-family; see --help";
  if (line.verify && options.requireDeterministic && !options.remeasureAll)
    return "--require-deterministic runs winners again: add --remeasure, or "
           "leave it out";
  if ((line.verify && options.remeasureAll) || line.judge ||
      (line.merge && !options.byRecord))
    if (std::string problem = explainTooManyThreads(options.numThreads);
        !problem.empty())
      return "--num-threads: " + problem;
  if (std::string problem = checkOptions(options); !problem.empty())
    return problem;
  if (line.merge && options.directories.size() < 2)
    return "merge needs the bank that takes the winners, then the banks that "
           "they come from: fastk-bank merge INTO FROM...";
  if (line.sync && options.directories.size() != 2)
    return "sync needs where winners come from and where they go: fastk-bank "
           "sync DIR https://HOST/PATH, or the other way round";
  if (line.sync && options.replaces && !options.syncsFamilies)
    return "--replace is for families: add --families, or leave it out; of two "
           "winners the faster one stays";
  if (line.sync && options.syncsFamilies &&
      (!options.keyPrefix.empty() || options.numThreads > 0 ||
       options.requireDeterministic))
    return "--families takes --target and --replace: other options are for "
           "winners";
  if (line.judge && options.directories.empty())
    return "judge needs the banks whose winners it judges: fastk-bank judge "
           "https://HOST/PATH";
  return line.exports ? checkExport(options.exports) : std::string();
}

/// What is wrong with banks behind HTTP in a command; empty where nothing is.
static std::string checkRemotes(const CommandLine &line, const Options &options,
                                StringRef into, ArrayRef<std::string> banks) {
  if (isRemoteBank(into))
    return into.str() +
           ": winners are merged into folders; send them with "
           "fastk-bank sync DIR " +
           into.str();
  bool isAsItIs = (line.merge && options.byRecord) || line.exports;
  for (const std::string &bank : banks) {
    if (!isRemoteBank(bank))
      continue;
    if (line.prune || line.spread)
      return bank + ": only folders are changed so";
    if (isAsItIs && !isTrustedBank(bank))
      return bank +
             ": its winners would be taken as they are, and nobody "
             "judged them here: " +
             (line.merge ? "leave --by-record out"
                         : "merge them into a folder "
                           "first") +
             ", or write #trusted after the URL";
  }
  return {};
}

/// The winners of these banks that the options ask for, not yet read.
static llvm::Expected<std::vector<Row>>
collectRows(ArrayRef<std::string> banks, const Options &options, bool fetches) {
  std::vector<Row> rows;
  for (const std::string &directory : banks) {
    llvm::Expected<Bank> bank = Bank::open(directory, Patience::Transfer);
    if (!bank)
      return bank.takeError();
    if (RemoteBank *remote = bank->getRemote()) {
      llvm::Expected<std::vector<Row>> its =
          collectRemoteRows(*remote, options, fetches);
      if (!its)
        return its.takeError();
      std::move(its->begin(), its->end(), std::back_inserter(rows));
      continue;
    }
    for (BankEntry &entry : bank->list())
      if (!entry.header || isAskedFor(*entry.header, options))
        rows.push_back({std::move(entry), directory, nullptr, ""});
  }
  if (rows.empty() && !options.asJson) {
    llvm::errs() << "no winners";
    if (!options.keyPrefix.empty())
      llvm::errs() << " whose key begins with " << options.keyPrefix;
    if (!options.onlyTarget.empty())
      llvm::errs() << " for " << options.onlyTarget;
    llvm::errs() << " in";
    for (const std::string &directory : banks)
      llvm::errs() << " " << directory;
    llvm::errs() << "\n";
  }
  return rows;
}

/// One of the commands that read the winners of banks.
static int runOnWinners(const CommandLine &line, const Options &options,
                        StringRef into, ArrayRef<std::string> banks,
                        const std::string &executable) {
  // Outlives the winners that are read into it.
  DialectRegistry registry;
  registry.insert<FastkDialect, affine::AffineDialect, arith::ArithDialect,
                  complex::ComplexDialect, linalg::LinalgDialect,
                  math::MathDialect, scf::SCFDialect, tensor::TensorDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  if (line.prune)
    return prune(banks, options.removeThem, options.asJson, context);
  if (line.judge)
    return judge(options, executable, context);
  if (line.sync)
    return sync(options, executable, context);
  llvm::Expected<std::vector<Row>> rows =
      collectRows(banks, options, /*fetches=*/!line.list);
  if (!rows)
    return reportError(llvm::toString(rows.takeError()));
  if (line.list)
    return listWinners(*rows, options.asJson);
  loadAll(*rows, context);
  MergeOptions merging;
  merging.byRecord = options.byRecord;
  merging.requireDeterministic = options.requireDeterministic;
  merging.threads = options.numThreads;
  merging.executable = executable;
  if (line.merge)
    return merge(into, *rows, merging, context);
  if (line.exports) {
    ExportOptions exports = options.exports;
    exports.keyPrefix = options.keyPrefix;
    exports.target = options.onlyTarget;
    exports.banks = banks.vec();
    exports.executable = executable;
    return exportWinners(exports, *rows);
  }
  if (line.verify && options.remeasureAll)
    return verifyByMeasuring(*rows, merging, options.asJson);
  if (line.verify)
    return verifyWinners(*rows, options.asJson);
  ShowOptions shown = options.shown;
  shown.asJson = options.asJson;
  shown.executable = executable;
  return showWinners(*rows, shown);
}

static int run(int argc, char **argv) {
  Options options;
  CommandLine line(options);
  cl::HideUnrelatedOptions(line.category);
  for (cl::SubCommand *command :
       {&line.list, &line.show, &line.verify, &line.merge, &line.prune,
        &line.spread, &line.sync, &line.judge, &line.exports, &line.families,
        &line.extract})
    cl::HideUnrelatedOptions(line.category, *command);
  std::string complaint;
  llvm::raw_string_ostream complaintStream(complaint);
  if (!cl::ParseCommandLineOptions(argc, argv, kOverview, &complaintStream)) {
    llvm::errs() << complaint;
    return 1;
  }
  if (line.families)
    return listFamilies(options.directories);
  if (line.extract)
    return runExtract(options);
  if (std::string problem = checkCommand(line, options); !problem.empty())
    return reportError(problem);
  std::vector<std::string> banks = options.directories;
  std::string into;
  if (line.merge) {
    into = banks.front();
    banks.erase(banks.begin());
  }
  for (const std::string &directory : banks)
    if (!line.sync && !isRemoteBank(directory) &&
        !llvm::sys::fs::exists(directory))
      return reportError(directory + ": no such folder; give a bank, or none "
                                     "to see the default ones");
  // What is removed is named: not what an environment variable says.
  if ((line.prune || line.spread) && banks.empty()) {
    llvm::StringRef name = line.prune ? "prune" : "spread";
    return reportError(name +
                       " needs the banks that it may change: "
                       "fastk-bank " +
                       name + " DIR...");
  }
  if (banks.empty())
    banks = defaultBanks(argv[0]);
  if (std::string problem = checkRemotes(line, options, into, banks);
      !problem.empty())
    return reportError(problem);
  if (line.spread)
    return spread(banks);
  if (line.sync && options.syncsFamilies)
    return syncFamilies(options);
  return runOnWinners(line, options, into, banks,
                      llvm::sys::fs::getMainExecutable(
                          argv[0], reinterpret_cast<void *>(&run)));
}

int fastk::bankMain(int argc, char **argv) {
  occupyClosedStreams();
  watchStandardOutput("fastk-bank");
  watchEndingSignals();
  if (!checkVectorLimit("fastk-bank"))
    return 1;
  return run(argc, argv);
}
