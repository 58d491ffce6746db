//===- Driver.cpp - The compiler driver -----------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Driver.h"
#include "CompileKernel.h"
#include "RemarkSetup.h"
#include "fastk/Analysis/LeastMemory.h"
#include "fastk/Bank/Bank.h"
#include "fastk/Conversion/CudaCodegen.h"
#include "fastk/Conversion/DeviceModel.h"
#include "fastk/Conversion/HostCodegen.h"
#include "fastk/Conversion/ModelHeader.h"
#include "fastk/Conversion/WriteFile.h"
#include "fastk/Driver/Compile.h"
#include "fastk/Driver/LoadModel.h"
#include "fastk/Driver/ModelDiagnostics.h"
#include "fastk/Driver/RunSearch.h"
#include "fastk/Evaluate/JobMaker.h"
#include "fastk/Evaluate/Subprocess.h"
#include "fastk/Support/DurableFile.h"
#include "fastk/System/AvailableMemory.h"
#include "fastk/System/EndingSignals.h"
#include "fastk/Target/TargetDescription.h"
#include "fastk/Transforms/RunPasses.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/WithColor.h"
#include <csignal>
#include <map>

using namespace mlir;
using namespace fastk;

/// The first signal that asks a search to end, which it does at once: what runs
/// is killed, what was recorded is kept.
static volatile std::sig_atomic_t interrupted = 0;

static int fail(const llvm::Twine &message) {
  llvm::WithColor::error(llvm::errs(), "fastk-opt") << message << "\n";
  return kExitWrong;
}

static int fail(llvm::Error error) {
  return fail(llvm::toString(std::move(error)));
}

/// The command line with `minutes` for its budget, as a shell reads it.
static std::string commandWith(ArrayRef<std::string> arguments,
                               double minutes) {
  std::string command, others;
  auto add = [&](StringRef word) {
    static constexpr StringLiteral kPlain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
        "_-+=,./:@%";
    bool isPlain =
        !word.empty() && word.find_first_not_of(kPlain) == StringRef::npos;
    std::string quoted = word.str();
    for (size_t at = 0;
         !isPlain && (at = quoted.find('\'', at)) != std::string::npos; at += 4)
      quoted.replace(at, 1, "'\\''");
    command +=
        (command.empty() ? "" : " ") + (isPlain ? quoted : "'" + quoted + "'");
  };
  for (size_t i = 0; i < arguments.size(); ++i) {
    StringRef word = arguments[i], budget;
    StringRef name = word.ltrim('-');
    if (i == 0 || name.size() == word.size() || !name.consume_front("budget") ||
        !(name.empty() || name.starts_with("="))) {
      add(word);
      continue;
    }
    // "--budget=LIMITS" or "--budget LIMITS".
    if (name.consume_front("="))
      budget = name;
    else if (++i < arguments.size())
      budget = arguments[i];
    SmallVector<StringRef> limits;
    budget.split(limits, ',');
    for (StringRef limit : limits)
      if (!limit.starts_with("minutes="))
        others += "," + limit.str();
  }
  std::string budget;
  llvm::raw_string_ostream(budget)
      << llvm::format("--budget=minutes=%.4g", minutes) << others;
  add(budget);
  return command;
}

/// Searches the workloads of `formed` and stores winners in the first bank.
static int search(const DriverOptions &options, ModuleOp formed,
                  BankStack &banks, WorkloadMatcher &matcher) {
  TimingScope step = timeStep("Search");
  SearchRequest request;
  request.stopRequested = [] { return interrupted != 0; };
  request.commandWithMinutes = [&](double minutes) {
    return commandWith(options.arguments, minutes);
  };
  // The default action would kill the process in the middle of a line; the
  // second signal still does.
  struct sigaction action = {};
  action.sa_handler = [](int signal) {
    interrupted = signal;
    std::signal(signal, endBySignal);
  };
  std::map<int, struct sigaction> before;
  for (int signal : endingSignals())
    sigaction(signal, &action, &before[signal]);
  llvm::Expected<SearchModelEnd> end = SearchModelEnd::Done;
  (void)!end; // Seen: it is no error.
  PassManager passes(formed.getContext());
  // The last pass and the next one look.
  passes.enableVerifier(false);
  passes.addPass(
      createSearchPass(banks, matcher, options.search, request, end));
  bool isDone = succeeded(passes.run(formed));
  // LLVM's own handlers again, which remove half-written files.
  for (const auto &[signal, handler] : before)
    sigaction(signal, &handler, nullptr);
  if (!end) {
    // What was cancelled shows up as an error.
    if (!interrupted)
      return fail(end.takeError());
    llvm::consumeError(end.takeError());
    end = SearchModelEnd::Interrupted;
  }
  if (isDone)
    return kExitDone;
  if (*end == SearchModelEnd::Interrupted) {
    llvm::errs() << "fastk-opt: interrupted; the same command goes on from the "
                    "journal in "
                 << journalOf(options.search, banks) << "\n";
    // As a shell says it.
    return 128 + interrupted;
  }
  return *end == SearchModelEnd::Pending ? kExitPending : kExitWrong;
}

/// What to call an output in a message.
static StringRef describe(StringRef path) {
  return path == "-" ? "standard output" : path;
}

/// Writes text to `path`, all of it or nothing.
static int writeText(StringRef path,
                     llvm::function_ref<void(llvm::raw_ostream &)> write) {
  if (std::error_code ec = writeFileAtomically(
          path, [&](llvm::raw_pwrite_stream &os) { write(os); })) {
    // Who reads standard output may have had enough.
    if (path == "-" && ec == std::errc::broken_pipe)
      return kExitWrong;
    return fail(fileError(describe(path), "write", ec.value()));
  }
  return kExitDone;
}

/// The module as host code, and what it is linked with.
static FailureOr<std::unique_ptr<llvm::Module>>
compile(const DriverOptions &options, ModuleOp module,
        llvm::LLVMContext &context, const HostTarget &target,
        const std::optional<CudaTarget> &device,
        std::vector<std::string> &libraries) {
  if (!device) {
    libraries = hostLibraries();
    return compileModel(module, context, target);
  }
  if (options.emit == EmitKind::SharedLibrary) {
    FailureOr<std::vector<std::string>> runtime =
        findDeviceRuntime(fileOf(module));
    if (failed(runtime))
      return failure();
    libraries = std::move(*runtime);
  }
  FailureOr<DeviceModel> model = compileDeviceModel(module, *device);
  if (failed(model))
    return failure();
  return emitDeviceModel(*model, context, target);
}

/// A library or an object and its header, both or neither.
static int emitBinary(const DriverOptions &options, Location loc,
                      llvm::Module &compiled, const HostTarget &target,
                      ArrayRef<std::string> libraries) {
  FileBeside header(options.emitHeader);
  auto cannotWrite = [&](std::error_code ec) {
    return fail(fileError(options.emitHeader, "write", ec.value()));
  };
  if (!options.emitHeader.empty()) {
    std::string text =
        emitCHeader(compiled, llvm::sys::path::filename(options.emitHeader));
    if (std::error_code ec = writeFileAtomically(
            header.name(), [&](llvm::raw_ostream &os) { os << text; }))
      return cannotWrite(ec);
  }
  LogicalResult emitted =
      options.emit == EmitKind::SharedLibrary
          ? emitSharedLibrary(loc, compiled, target, options.output, libraries)
          : success(
                succeeded(optimizeModule(compiled, target)) &&
                succeeded(emitObject(loc, compiled, target, options.output)));
  if (failed(emitted))
    return kExitWrong;
  if (options.emitHeader.empty())
    return kExitDone;
  if (std::error_code ec = header.keep())
    return cannotWrite(ec);
  return kExitDone;
}

static int emit(const DriverOptions &options, ModuleOp module) {
  std::optional<CudaTarget> device = CudaTarget::parse(options.search.target);
  if (options.emit == EmitKind::MLIR) {
    if (failed(inlineWorkloads(module)))
      return kExitWrong;
    if (device)
      embedCode(module, *device);
    TimingScope step = timeStep("Output");
    return writeText(options.output, [&](llvm::raw_ostream &os) {
      module->print(os, OpPrintingFlags());
      os << "\n";
    });
  }
  auto isEntry = [](func::FuncOp func) { return func.isPublic(); };
  if (llvm::none_of(module.getOps<func::FuncOp>(), isEntry)) {
    emitError(module.getLoc())
        << "the module has no public func.func, so a compiled model would have "
           "nothing to call: give the function that is the model no 'private'";
    return kExitWrong;
  }
  if (failed(lowerWorkloads(module, options.search.target)))
    return kExitWrong;
  llvm::LLVMContext context;
  HostTarget target = device ? HostTarget::baseline() : HostTarget::detect();
  std::vector<std::string> libraries;
  FailureOr<std::unique_ptr<llvm::Module>> compiled =
      compile(options, module, context, target, device, libraries);
  if (failed(compiled))
    return kExitWrong;
  TimingScope step = timeStep("LLVM and output");
  Location loc = fileOf(module);
  if (options.emit == EmitKind::SharedLibrary ||
      options.emit == EmitKind::Object)
    return emitBinary(options, loc, **compiled, target, libraries);
  if (failed(optimizeModule(**compiled, target)))
    return kExitWrong;
  return writeText(options.output, [&](llvm::raw_ostream &os) {
    os << emitLLVMText(**compiled);
  });
}

/// Says that winners are asked for which were measured with more threads than
/// there are. It is no error: another machine may have them.
static void warnOfThreads(const DriverOptions &options) {
  int64_t here = identifyHost().threads;
  if (options.search.target == "host" && options.search.threads > here)
    llvm::WithColor::warning(llvm::errs(), "fastk-opt")
        << "--num-threads=" << options.search.threads
        << ": this process may run on " << here
        << (here == 1 ? " processor" : " processors")
        << "; winners are applied that were measured with "
        << options.search.threads
        << " threads: leave it out if the result runs here\n";
}

/// Says which functions the target has no room for, by their shapes. It is no
/// error: another machine may have.
static void warnOfShortage(const DriverOptions &options, ModuleOp formed) {
  std::string where =
      options.search.device ? options.search.device->model : "this machine";
  int64_t bytes = options.search.device ? options.search.device->memoryBytes
                                        : totalMemory();
  if (options.search.target != "host" && (!options.search.device || bytes == 0))
    return;
  for (auto function : formed.getOps<func::FuncOp>()) {
    std::string shortage = leastMemory(function).explainShortage(bytes);
    if (function.isPublic() && !shortage.empty())
      emitWarning(function.getLoc())
          << "@" << function.getName() << " " << shortage << " on " << where
          << ": run it where there is more, or export the model with smaller "
             "shapes";
  }
}

static void explainMisses(const ApplySummary &summary,
                          const WorkloadMatcher &matcher,
                          MLIRContext *context) {
  for (const WorkloadOutcome &outcome : summary.workloads) {
    if (outcome.kind == WorkloadOutcome::Hit)
      continue;
    llvm::errs() << "fastk-opt: " << outcome.name << " at " << outcome.location
                 << ": " << outcome.reason << "\n";
    if (outcome.kind != WorkloadOutcome::Dynamic)
      llvm::errs() << matcher.getBanks().explainMiss(
          outcome.key, matcher.getFilter(), outcome.name, outcome.shapes,
          context);
  }
}

int fastk::runDriver(const DriverOptions &options, DialectRegistry &registry,
                     StringRef executable) {
  registerFastkDialects(registry);
  registerHostCodegen(registry);
  registerCudaCodegen(registry);
  // Reports when all that it times is over, the context included.
  DefaultTimingManager times;
  applyDefaultTimingManagerCLOptions(times);
  TimingScope total = times.getRootScope();
  ObservedPasses observed(&total);
  MLIRContext context(registry);
  llvm::SourceMgr sourceMgr;
  ModelDiagnosticHandler handler(sourceMgr, &context);
  // The source is shown with a caret; a whole function in generic form after it
  // would only bury the message.
  context.printOpOnDiagnostic(false);
  if (failed(setUpRemarks(context)))
    return kExitWrong;
  // Remarks come out when their engine ends: while the handler still prints.
  auto printRemarks =
      llvm::scope_exit([&] { context.setRemarkEngine(nullptr); });
  TimingScope parsing = timeStep("Parser");
  OwningOpRef<ModuleOp> module = loadModel(options.input, sourceMgr, &context);
  parsing.stop();
  if (!module || failed(checkModel(*module)))
    return kExitWrong;
  if (options.compileKernel) {
    // Its C compiler and linker must not outlive the search that asked.
    endWithParent();
    if (failed(checkKernelTools(*module, *options.compileKernel,
                                options.search.target)))
      return kCompilerToolMissing;
    return failed(compileKernelLibrary(*module, *options.compileKernel,
                                       options.output, options.search.target))
               ? kExitWrong
               : kExitDone;
  }
  // After hours of searching it would be late to find out.
  for (StringRef output : {options.output, options.emitHeader})
    if (!output.empty() && output != "-")
      if (llvm::Error error = checkWritable(output))
        return fail(std::move(error));
  if (failed(inlineCalls(*module)) ||
      (options.search.target != "host" && failed(unrollLoops(*module))))
    return kExitWrong;
  std::vector<std::string> folders =
      options.banks.empty() ? defaultBanks(executable) : options.banks;
  // A search makes the folder; without one its name is probably mistyped.
  if (options.search.scope == SearchScope::None) {
    warnOfMissingBanks(options.banks, "fastk-opt", "--search");
    warnOfThreads(options);
  }
  llvm::Expected<BankStack> banks = BankStack::open(folders);
  if (!banks)
    return fail(banks.takeError());
  WorkloadMatcher matcher(*banks,
                          {options.search.target, options.precision,
                           machineOf(options.search), options.winnersFromAny,
                           options.search.requireDeterministic});
  if (failed(formWithWinners(*module, options.search.fusion, matcher)))
    return kExitWrong;
  warnOfShortage(options, *module);
  if (options.search.scope != SearchScope::None)
    if (int status = search(options, *module, *banks, matcher))
      return status;
  FailureOr<ApplySummary> summary =
      applyBestWinners(*module, options.search.fusion, matcher);
  if (failed(summary))
    return kExitWrong;
  if (options.explainMiss)
    explainMisses(*summary, matcher, &context);
  // Refused before anything is written.
  unsigned hits = summary->count(WorkloadOutcome::Hit);
  if (options.requireHits && hits < *options.requireHits) {
    llvm::errs() << "fastk-opt: " << summary->str() << "\n";
    fail("--require-hits=" + llvm::Twine(*options.requireHits) + ": only " +
         llvm::Twine(hits) + (hits == 1 ? " workload has" : " workloads have") +
         " a winner; --explain-miss says why, --search finds more");
    return kExitRefused;
  }
  if (int emitted = emit(options, *module))
    return emitted;
  llvm::errs() << "fastk-opt: " << summary->str() << "\n";
  return kExitDone;
}
