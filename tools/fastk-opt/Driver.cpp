//===- Driver.cpp - The compiler driver -----------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Driver.h"
#include "Families.h"
#include "Push.h"
#include "RemarkSetup.h"
#include "StopOnSignal.h"
#include "fastk/Driver/Compile.h"
#include "fastk/Driver/CompileKernel.h"
#include "fastk/Driver/Emit.h"
#include "fastk/Driver/ListWorkloads.h"
#include "fastk/Driver/RunSearch.h"
#include "fastk/Driver/Session.h"
#include "fastk/Driver/ToldError.h"
#include "fastk/Driver/WriteScaffold.h"
#include "fastk/Evaluate/JobMaker.h"
#include "fastk/Evaluate/Subprocess.h"
#include "fastk/Support/DurableFile.h"
#include "fastk/Support/OutputPlace.h"
#include "fastk/Support/ShellWord.h"
#include "fastk/System/AvailableMemory.h"
#include "fastk/System/EventLog.h"
#include "fastk/System/Metrics.h"
#include "fastk/Target/TargetDescription.h"
#include "fastk/Transforms/RunPasses.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;
using namespace fastk;

static int fail(const llvm::Twine &message) {
  llvm::WithColor::error(llvm::errs(), "fastk-opt") << message << "\n";
  return kExitWrong;
}

static int fail(llvm::Error error) {
  if (!error.isA<ToldError>())
    return fail(llvm::toString(std::move(error)));
  llvm::consumeError(std::move(error));
  return kExitWrong;
}

static void warn(const llvm::Twine &message) {
  llvm::WithColor::warning(llvm::errs(), "fastk-opt") << message << "\n";
}

/// The command line with `minutes` for its budget, as a shell reads it.
static std::string commandWith(ArrayRef<std::string> arguments,
                               double minutes) {
  std::string command, others;
  auto add = [&](StringRef word) {
    command += (command.empty() ? "" : " ") + shellWord(word);
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
                  Session &session, Metrics &metrics, const EventLog *log) {
  SearchRequest request;
  request.metrics = &metrics;
  request.log = log;
  request.stopRequested = [] { return StopOnSignal::signal() != 0; };
  request.commandWithMinutes = [&](double minutes) {
    return commandWith(options.arguments, minutes);
  };
  llvm::Expected<SearchModelEnd> end = [&] {
    StopOnSignal stop;
    return runSearchPass(formed, session.getBanks(), session.getMatcher(),
                         options.search, request);
  }();
  int signal = StopOnSignal::signal();
  if (!end) {
    // What was cancelled shows up as an error.
    if (!signal)
      return fail(end.takeError());
    llvm::consumeError(end.takeError());
    end = SearchModelEnd::Interrupted;
  }
  switch (*end) {
  case SearchModelEnd::Done:
    return kExitDone;
  case SearchModelEnd::Pending:
    return kExitPending;
  case SearchModelEnd::Interrupted:
    llvm::errs() << "fastk-opt: interrupted; the same command goes on from the "
                    "journal in "
                 << journalOf(options.search, session.getBanks()) << "\n";
    // As a shell says it.
    return 128 + signal;
  }
  llvm_unreachable("all ends are named above");
}

/// Sends what was found to where others find it.
static void push(const ApplySummary &summary, Session &session,
                 const EventLog *log) {
  std::vector<std::string> said, warnings;
  pushFound(summary, session, said, warnings);
  for (const std::string &line : said)
    llvm::errs() << "fastk-opt: " << line << "\n";
  for (const std::string &warning : warnings) {
    warn(warning);
    if (log)
      log->say("warning", warning);
  }
}

/// Opens the log of a search for programs. Null where none is wanted.
static llvm::Expected<std::unique_ptr<EventLog>>
openLog(const DriverOptions &options) {
  if (!options.logsJSON)
    return nullptr;
  auto log = std::make_unique<EventLog>(/*isJSON=*/true);
  if (options.log.empty())
    return log;
  // Lines would be added to what is replaced, or to what is read.
  for (const auto &[name, other] :
       {std::pair<StringRef, StringRef>("the model", options.input),
        {"-o", options.emit.output},
        {"--emit-header", options.emit.header},
        {"--list-workloads", options.listWorkloads},
        {"--metrics", options.metrics},
        {"--report", options.search.report},
        {"--record", options.search.record}})
    if (isSamePlace(options.log, other))
      return llvm::createStringError("--log=" + options.log + " and " + name +
                                     " are the same file: name another one "
                                     "for the log");
  auto complain = [path = options.log](const std::error_code &error) {
    warn(path + ": cannot write the log: " + error.message() +
         "; the search goes on, and lines are lost until it can");
  };
  if (std::error_code error = log->open(options.log, complain))
    return fileError(options.log, "write", error.value());
  return log;
}

/// Warnings and errors of the compiler, for programs, too.
static void tellDiagnostic(const EventLog &log, const Diagnostic &diagnostic) {
  bool isError = diagnostic.getSeverity() == DiagnosticSeverity::Error;
  if (!isError && diagnostic.getSeverity() != DiagnosticSeverity::Warning)
    return;
  std::string text;
  llvm::raw_string_ostream(text)
      << diagnostic.getLocation() << ": " << diagnostic;
  log.say(isError ? "error" : "warning", text, {}, isError);
}

/// Says that winners are asked for which were measured with more threads than
/// there are. It is no error: another machine may have them.
static void warnOfThreads(const DriverOptions &options) {
  int64_t here = identifyHost().threads;
  if (options.search.target == "host" && options.search.jobs.threads > here)
    warn("--num-threads=" + llvm::Twine(options.search.jobs.threads) +
         ": this process may run on " + llvm::Twine(here) +
         (here == 1 ? " processor" : " processors") +
         "; winners are applied that were measured with " +
         llvm::Twine(options.search.jobs.threads) +
         " threads: leave it out if the result runs here");
}

/// Says which functions the target has no room for. It is no error: another
/// machine may have.
static void warnOfMemory(const DriverOptions &options, ModuleOp formed) {
  const std::optional<DeviceDescription> &device = options.search.device;
  if (device && device->memoryBytes > 0)
    warnOfShortage(formed, device->memoryBytes, device->model);
  else if (options.search.target == "host")
    warnOfShortage(formed, totalMemory(), "this machine");
}

/// A place in a file as compilers name it; others as MLIR writes them.
static std::string textOf(Location location) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (auto place = dyn_cast<FileLineColLoc>(location))
    os << place.getFilename().getValue() << ":" << place.getLine() << ":"
       << place.getColumn();
  else
    os << location;
  return text;
}

static void explainMisses(const ApplySummary &summary,
                          const WorkloadMatcher &matcher,
                          const llvm::StringMap<std::string> &families,
                          MLIRContext *context) {
  for (const WorkloadOutcome &outcome : summary.workloads) {
    if (outcome.kind == WorkloadOutcome::Hit)
      continue;
    llvm::errs() << "fastk-opt: " << outcome.name << " at "
                 << textOf(outcome.location) << ": " << outcome.reason << "\n";
    if (outcome.kind != WorkloadOutcome::Dynamic &&
        outcome.kind != WorkloadOutcome::Instance)
      llvm::errs() << matcher.getBanks().explainMiss(
                          outcome.key, matcher.filterFor(outcome.key),
                          outcome.name, outcome.shapes, context)
                   << families.lookup(outcome.key);
  }
}

/// What evaluations run in a child process.
static int compileKernelOnly(const DriverOptions &options, ModuleOp module) {
  const std::string &role = *options.compileKernel;
  const std::string &target = options.search.target;
  // Its C compiler and linker must not outlive the search that asked.
  endWithParent();
  if (failed(checkKernelTools(module, role, target)))
    return kCompilerToolMissing;
  FailureOr<std::string> digest =
      compileKernelLibrary(module, role, options.emit.output, target);
  if (failed(digest))
    return kExitWrong;
  if (!digest->empty())
    llvm::outs() << "object " << *digest << "\n";
  return kExitDone;
}

/// Opens the banks that the model's workloads are looked up in.
static llvm::Error openBanks(const DriverOptions &options, Session &session,
                             StringRef executable) {
  // A search makes the folder; without one its name is probably mistyped.
  if (options.search.scope == SearchScope::None) {
    for (const std::string &warning :
         explainMissingBanks(options.banks, "--search"))
      warn(warning);
    warnOfThreads(options);
  }
  return session.openBanks(
      {options.search.fusion,
       options.banks.empty() ? defaultBanks(executable) : options.banks,
       {options.search.target, options.precision, machineOf(options.search),
        /*anyMachine=*/options.winnersFrom == WinnersFrom::Any,
        options.search.jobs.requireDeterministic, /*takesUnjudged=*/false,
        options.convolutions}});
}

/// After hours of searching it would be late to find out that a result cannot
/// be written.
static llvm::Error checkOutputs(const DriverOptions &options) {
  if (options.scaffold)
    return checkScaffoldFolder(options.scaffold->folder);
  for (StringRef output :
       {StringRef(options.emit.output), StringRef(options.emit.header),
        StringRef(options.listWorkloads), StringRef(options.metrics)})
    if (!output.empty() && output != "-")
      if (llvm::Error error = checkWritable(output))
        return error;
  return llvm::Error::success();
}

/// Writes a folder for a kernel author.
static int writeScaffold(const DriverOptions &options, ModuleOp formed,
                         Session &session) {
  llvm::Expected<std::string> said =
      writeScaffoldFolder(formed, session.getMatcher(), *options.scaffold);
  if (!said)
    return fail(said.takeError());
  llvm::errs() << "fastk-opt: " << *said << "\n";
  return kExitDone;
}

/// Whether there are as many winners as the user asked for.
static bool hasRequiredHits(const DriverOptions &options,
                            const ApplySummary &summary) {
  unsigned hits = summary.count(WorkloadOutcome::Hit);
  if (!options.requireHits || hits >= *options.requireHits)
    return true;
  llvm::errs() << "fastk-opt: " << summary.str() << "\n";
  fail("--require-hits=" + llvm::Twine(*options.requireHits) + ": only " +
       llvm::Twine(hits) + (hits == 1 ? " workload has" : " workloads have") +
       " a winner; --explain-miss says why, --search finds more");
  return false;
}

/// Tells of what became of the workloads, and of the whole run.
static void showMetrics(const DriverOptions &options,
                        const ApplySummary &summary, Metrics &metrics) {
  using Kind = WorkloadOutcome::Kind;
  for (auto [kind, result] :
       {std::pair(Kind::Hit, "hit"), std::pair(Kind::Miss, "miss"),
        std::pair(Kind::Stale, "stale"), std::pair(Kind::Dynamic, "dynamic"),
        std::pair(Kind::Instance, "instance")})
    metrics.add({"fastk_bank_lookups_total",
                 "Workloads by what the banks had for them"},
                {{"result", result}}, summary.count(kind));
  if (std::error_code error = metrics.write())
    warn(options.metrics + ": cannot write: " + error.message());
}

static bool searchesFamilies(const SearchSettings &settings) {
  return settings.scope != SearchScope::None &&
         llvm::any_of(settings.proposers, [](StringRef proposer) {
           return proposer.split(':').first == "families";
         });
}

int fastk::runDriver(const DriverOptions &options, StringRef executable) {
  if (options.admit)
    return runAdmission(options);
  // Reports when all that it times is over, the context included.
  DefaultTimingManager times;
  applyDefaultTimingManagerCLOptions(times);
  TimingScope total = times.getRootScope();
  ObservedPasses observed(&total);
  Session session;
  MLIRContext &context = session.getContext();
  if (failed(setUpRemarks(context)))
    return kExitWrong;
  // Remarks come out when their engine ends: while the handler still prints.
  auto printRemarks =
      llvm::scope_exit([&] { context.setRemarkEngine(nullptr); });
  OwningOpRef<ModuleOp> module = session.load(options.input);
  if (!module)
    return kExitWrong;
  if (options.compileKernel)
    return compileKernelOnly(options, *module);
  if (llvm::Error error = checkOutputs(options))
    return fail(std::move(error));
  llvm::Expected<std::unique_ptr<EventLog>> log = openLog(options);
  if (!log)
    return fail(log.takeError());
  // Others come after it, and show them to people.
  ScopedDiagnosticHandler told(&context, [&](Diagnostic &diagnostic) {
    if (*log)
      tellDiagnostic(**log, diagnostic);
    return failure();
  });
  if (failed(prepareModel(*module, options.search.target)))
    return kExitWrong;
  if (options.channelsLast &&
      failed(
          layChannelsLast(*module, /*float32=*/options.convolutions.value_or(
                                       options.precision) != Precision::ieee)))
    return kExitWrong;
  if (llvm::Error error = openBanks(options, session, executable))
    return fail(std::move(error));
  WorkloadMatcher &matcher = session.getMatcher();
  UsableFamilies families;
  auto ofCore = [&](StringRef core) { return families.of(core); };
  FamilyChoices choices(matcher, ofCore, families.getMachine());
  // They are asked for scans before anything is formed: a search tries them on
  // workloads alone.
  std::unique_ptr<WinnerQuery> scans;
  if (options.fromFamilies || searchesFamilies(options.search)) {
    if (llvm::Error error =
            UsableFamilies::find(matcher.getFilter(), executable)
                .moveInto(families))
      return fail(std::move(error));
    scans = familyQuery(choices);
  }
  if (failed(session.form(*module, scans.get())))
    return kExitWrong;
  if (options.scaffold)
    return writeScaffold(options, *module, session);
  warnOfMemory(options, *module);
  Metrics metrics(options.metrics);
  // Also of a search that ends as pending.
  auto writeLast = llvm::scope_exit([&] { (void)metrics.write(); });
  if (options.search.scope != SearchScope::None)
    if (int status = search(options, *module, session, metrics, log->get()))
      return status;
  if (options.fromFamilies &&
      failed(cutForFamilies(*module, options.search.fusion, choices)))
    return kExitWrong;
  FailureOr<ApplySummary> summary = session.apply(*module);
  if (failed(summary))
    return kExitWrong;
  if (options.pushes)
    push(*summary, session, log->get());
  if (options.fromFamilies && failed(applyFamilies(*module, choices, *summary)))
    return kExitWrong;
  if (options.explainMiss) {
    llvm::StringMap<std::string> said;
    if (llvm::Error error =
            askFamilies(*module, matcher, executable).moveInto(said))
      return fail(std::move(error));
    explainMisses(*summary, matcher, said, &context);
  }
  showMetrics(options, *summary, metrics);
  if (!options.listWorkloads.empty())
    if (llvm::Error error = listWorkloads(*summary, options.search.target,
                                          options.listWorkloads))
      return fail(std::move(error));
  // Refused before anything is emitted.
  if (!hasRequiredHits(options, *summary))
    return kExitRefused;
  if (llvm::Error error =
          emitModel(*module, options.search.target, options.emit))
    return fail(std::move(error));
  llvm::errs() << "fastk-opt: " << summary->str() << "\n";
  return kExitDone;
}
