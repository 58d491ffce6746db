//===- Options.cpp - Command line of the compiler driver ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"
#include "ModelOptions.h"
#include "fastk/Bank/RemoteBank.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Allocator.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/ManagedStatic.h"
#include "llvm/Support/StringSaver.h"
#include "llvm/Support/WithColor.h"
#include <memory>

using namespace fastk;
using llvm::StringRef;
namespace cl = llvm::cl;

static const char *const kOverview =
    R"(fastk-opt: compile a model with the fastest kernels found for it

  fastk-opt model.mlir                      apply the known winners, print the module
  fastk-opt model.mlir --search             search the rest first; winners go to the bank
  fastk-opt model.mlir --emit=so -o model.so
                                            a shared library, callable from C and Python
  fastk-opt --admit-family=DIR --target=cuda
                                            judge a family on random workloads
  fastk-opt model.mlir --scaffold=softmax -o my-softmax
                                            a folder to write a kernel of one's own in
  fastk-opt model.mlir --fastk-form-workloads
                                            with pass flags it is mlir-opt: see --help-list

The input is linalg on tensors; `python -m fastk.importer` makes it from a Torch
module. Results go to standard output (or -o), progress and the summary to
standard error. Without --search nothing is searched, measured or sent anywhere;
banks that are URLs are asked for winners.
MLIR's own options work too: --remarks-filter=fastk shows every decision,
--mlir-timing where the time goes (--help-hidden lists them all).

Exit codes: 0 done; 1 input or options are wrong, or a search cannot go on; 2 a
result was refused (--require-hits not met, or a family not admitted); 75 answers are pending: of evaluations
(--evaluator=spool:DIR, answer them with fastk-worker --spool DIR) or of prompts
(--proposer=mailbox:DIR); then run the same command again;
129, 130 or 143 a search was ended by SIGHUP, SIGINT or SIGTERM, the journal is intact
and the same command goes on.
)";

namespace {
/// Made on demand: in mlir-opt mode none of these may exist, or MLIR's own
/// options would collide with them. What needs no reading is stored where it
/// belongs, and what is there before is the default.
struct CommandLine {
  DriverOptions options;
  SearchSettings &settings = options.search;
  SearchOptions &shape = settings.search;
  ProposerOptions &ofProposers = settings.proposerOptions;

  llvm::BumpPtrAllocator texts;
  /// "what it is (default 4)"; the number is the search's own.
  StringRef withDefault(StringRef what, int64_t value) {
    return keep(what + " (default " + llvm::Twine(value) + ")");
  }
  /// Descriptions are not copied by LLVM.
  StringRef keep(const llvm::Twine &text) {
    return llvm::StringSaver(texts).save(text);
  }

  cl::OptionCategory category{"fastk-opt options"};
  cl::opt<std::string, true> input{
      cl::Positional, cl::location(options.input), cl::cat(category),
      cl::desc("<model.mlir, or a folder of them>")};
  cl::opt<std::string, true> output{
      "o", cl::location(options.emit.output), cl::cat(category),
      cl::value_desc("file"),
      cl::desc("where the result goes (default: standard output)")};
  cl::list<std::string, std::vector<std::string>> banks{
      "bank", cl::location(options.banks), cl::cat(category),
      cl::value_desc("DIR|URL"),
      cl::desc("folder of winners, or https://HOST/PATH (docs/remote-bank.md); "
               "repeatable, first wins; new winners go to the first folder. "
               "Default: $FASTK_BANK, the user's cache folder, the shipped "
               "bank")};
  cl::opt<bool, true> push{
      "bank-push", cl::location(options.pushes), cl::cat(category),
      cl::desc("send the winners that the search found to the remote banks of "
               "--bank")};
  cl::opt<std::string> target{"target", cl::init("host"), cl::cat(category),
                              cl::desc("what to compile for: host (default); "
                                       "cuda:sm_90a (or another "
                                       "architecture); cuda: the GPU of this "
                                       "machine")};
  cl::opt<std::string> precision{
      "precision", cl::init("ieee"), cl::cat(category),
      cl::desc("loosest error class accepted: ieee (default), tf32 or half; "
               "ieee,convolution=tf32: another one for convolutions")};
  cl::opt<std::string> fusion{
      "fusion", cl::init("greedy"), cl::cat(category),
      cl::desc("how workloads are formed: op, greedy (default) or whole")};
  cl::opt<std::string> layout{
      "layout", cl::init("auto"), cl::cat(category),
      cl::desc(
          "how tensors between convolutions are laid out, which is part of "
          "their keys: as-is; channels-last: convolutions of f16 and bf16, and "
          "of f32 where --precision lets them round, hand on their channels "
          "beside each other (see fastk-channels-last); auto (default): "
          "channels-last with --winners-from=family for sm_90a, whose "
          "families gain by it, and without --search; else as-is")};
  cl::opt<std::string> winnersFrom{
      "winners-from", cl::init("here"), cl::cat(category),
      cl::desc(
          "here (default): only winners that were measured on this CPU model "
          "with as many threads, or on the GPU that is compiled for, as others "
          "may be "
          "slower than the default lowering; any: all; family: as here, and "
          "where there is no winner, an instance of an admitted family (see "
          "fastk-bank families) that nobody has judged or measured for this "
          "workload; any,family: both")};
  cl::opt<bool, true> requireDeterministic{
      "require-deterministic", cl::location(settings.jobs.requireDeterministic),
      cl::cat(category),
      cl::desc("only winners that give the same bits for the same operands, as "
               "torch.use_deterministic_algorithms asks: others, and those "
               "whose record does not say it, are not applied, and a search "
               "refuses them")};
  cl::opt<std::string> emit{"emit", cl::init("mlir"), cl::cat(category),
                            cl::desc("mlir (default), llvm, obj or so; for a "
                                     "GPU also plan: one file that "
                                     "libfastk_runtime runs, no linker")};
  cl::opt<std::string, true> emitHeader{
      "emit-header", cl::location(options.emit.header), cl::cat(category),
      cl::value_desc("FILE.h"),
      cl::desc("with --emit=so or obj: write the C header of its functions; "
               "see docs/aot.md")};
  cl::opt<std::string> search{
      "search",
      cl::ValueOptional,
      cl::init("none"),
      cl::cat(category),
      cl::value_desc("all"),
      cl::desc("search the workloads that have no winner; with =all also those "
               "that have one")};
  cl::list<std::string, std::vector<std::string>> proposers{
      "proposer", cl::location(settings.proposers), cl::cat(category),
      cl::value_desc("NAME"),
      cl::desc(keep("where ideas come from; repeatable; default families and "
                    "catalog. "
                    "Known: " +
                    proposerNames() +
                    ". A folder of files:DIR has kernel.c, schedule.mlir, "
                    "kernel.cu, kernel.mlir or kernel.ptx, with plan.json and "
                    "idea.md"))};
  cl::opt<std::string, true> writes{
      "write", cl::location(ofProposers.writes), cl::cat(category),
      cl::value_desc("families|programs|schedules|gpu"),
      cl::desc("what language models are asked to write: families (default), "
               "for a GPU programs for every size of a workload's core, where "
               "it has one; programs, for the workload alone, in C or CUDA-C; "
               "schedules, which the compiler applies to it; gpu, modules of "
               "the gpu dialect")};
  cl::opt<std::string, true> prompts{
      "prompts", cl::location(ofProposers.prompts), cl::cat(category),
      cl::value_desc("DIR"),
      cl::desc("folder of prompt templates that replace the built-in ones, "
               "file by file; see docs/prompts.md")};
  cl::opt<std::string, true> baseUrl{
      "llm-base-url", cl::location(ofProposers.baseUrl), cl::cat(category),
      cl::value_desc("URL"),
      cl::desc("where the provider of a model is: a server of yours, or a "
               "gateway; see docs/models.md")};
  cl::opt<std::string, true> keyVariable{
      "llm-key-env", cl::location(ofProposers.keyVariable), cl::cat(category),
      cl::value_desc("NAME"),
      cl::desc("environment variable that holds the key; never the key itself. "
               "Default: the provider's own, as OPENAI_API_KEY")};
  cl::opt<std::string, true> extraBody{
      "llm-extra-body", cl::location(ofProposers.extraBody), cl::cat(category),
      cl::value_desc("JSON"),
      cl::desc("fields that are added to every request to a model")};
  cl::opt<std::string, true> priceTable{
      "llm-prices", cl::location(ofProposers.priceTable), cl::cat(category),
      cl::value_desc("FILE.json"),
      cl::desc("what tokens cost, for --budget=usd=N and reports; see "
               "docs/models.md")};
  cl::opt<double, true> modelTimeout{
      "llm-timeout", cl::location(ofProposers.timeoutSeconds),
      cl::cat(category), cl::value_desc("seconds"),
      cl::desc("longest that one reply may take; 0 (default): the proposer's "
               "own")};
  cl::opt<std::string> strategy{
      "strategy", cl::init(shape.strategy->name.str()), cl::cat(category),
      cl::desc(keep(describeSearchStrategies()))};
  cl::opt<int, true> rounds{
      "rounds", cl::location(shape.rounds), cl::cat(category),
      cl::desc(withDefault("rounds of a search", shape.rounds))};
  cl::opt<int, true> ideas{"ideas", cl::location(shape.ideas),
                           cl::cat(category),
                           cl::desc(withDefault("ideas a round", shape.ideas))};
  cl::opt<int, true> implementations{
      "implementations", cl::location(shape.implementations), cl::cat(category),
      cl::desc(withDefault("realisations of an idea", shape.implementations))};
  cl::opt<int, true> parents{
      "parents", cl::location(shape.parents), cl::cat(category),
      cl::desc(withDefault("variants that seed a round", shape.parents))};
  cl::opt<int, true> repairs{
      "repairs", cl::location(shape.repairs), cl::cat(category),
      cl::desc(withDefault("repairs of a failed variant", shape.repairs))};
  cl::opt<uint64_t, true> seed{
      "seed", cl::location(shape.seed), cl::cat(category),
      cl::desc(withDefault("seed of the search's choices",
                           static_cast<int64_t>(shape.seed)))};
  cl::opt<bool, true> boundaries{
      "search-boundaries", cl::location(settings.boundaries), cl::cat(category),
      cl::desc("search what each workload without a winner can be cut into, "
               "too, and store the winner of the whole or those of its parts, "
               "whichever is faster")};
  cl::opt<std::string> budget{
      "budget", cl::cat(category),
      cl::value_desc("evaluations=N,minutes=N,tokens=N,usd=N"),
      cl::desc("hard limits of the search, for the whole model "
               "(default: none); tokens and usd are what language models "
               "cost")};
  cl::opt<std::string> evaluator{
      "evaluator", cl::init("local"), cl::cat(category), cl::value_desc("NAME"),
      cl::desc(
          "where evaluations run: local "
          "(default); spool:DIR, a folder of jobs for "
          "fastk-worker --spool DIR, and spool:DIR?wait=SECONDS, where the "
          "search goes on until no answer has come for so long; ray:ADDRESS, "
          "the GPUs of a Ray cluster (auto, HOST:PORT, ray://HOST:PORT or "
          "local), with ?workers=N for at most so many and &wait=SECONDS as "
          "above; replay:FILE, "
          "nowhere: verdicts come "
          "from what --record wrote")};
  cl::opt<std::string, true> journal{
      "journal", cl::location(settings.journal), cl::cat(category),
      cl::value_desc("DIR"),
      cl::desc("log of the search; an existing one is resumed. Default: beside "
               "the bank")};
  cl::opt<std::string, true> report{
      "report", cl::location(settings.report), cl::cat(category),
      cl::value_desc("FILE.json"),
      cl::desc("write what was found: workloads, trajectory, verdicts, costs")};
  cl::opt<std::string, true> record{
      "record", cl::location(settings.record), cl::cat(category),
      cl::value_desc("FILE.jsonl"),
      cl::desc("write all that the search was told, by models and evaluators; "
               "--proposer=replay:FILE and --evaluator=replay:FILE search "
               "again from it, with neither")};
  cl::opt<unsigned, true> threads{
      "num-threads", cl::location(settings.jobs.threads), cl::cat(category),
      cl::desc("threads that kernels are measured with, and that winners must "
               "have been measured with; 0 (default): all processors")};
  cl::opt<int> requireHits{
      "require-hits", cl::init(-1), cl::cat(category), cl::value_desc("N"),
      cl::desc("exit with 2 when fewer than N workloads have a winner")};
  cl::opt<bool, true> explainMiss{
      "explain-miss", cl::location(options.explainMiss), cl::cat(category),
      cl::desc("say for each workload without a winner why none matched, and "
               "which families would serve it")};
  cl::opt<std::string, true> listWorkloads{
      "list-workloads", cl::location(options.listWorkloads), cl::cat(category),
      cl::value_desc("FILE.json"),
      cl::desc(
          "write each workload's key, whether it has a winner and why, and "
          "where its ops come from: for programs; - is standard output; see "
          "docs/formats/workloads.md")};
  cl::opt<std::string, true> metrics{
      "metrics", cl::location(options.metrics), cl::cat(category),
      cl::value_desc("FILE.prom"),
      cl::desc("write numbers there for Prometheus, as its textfile collector "
               "reads them: verdicts by status, seconds by phase, what GPUs "
               "were like, winners found and missed; see docs/operators.md")};
  cl::opt<std::string> logFormat{
      "log-format", cl::init("text"), cl::cat(category),
      cl::value_desc("text|json"),
      cl::desc("json: say what the search does for programs, too, one object a "
               "line, on standard error or in the file of --log; see "
               "docs/operators.md")};
  cl::opt<std::string, true> log{
      "log", cl::location(options.log), cl::cat(category),
      cl::value_desc("FILE"),
      cl::desc("where the lines of --log-format=json are added, instead of "
               "standard error")};
  cl::opt<std::string> admitFamily{
      "admit-family", cl::cat(category), cl::value_desc("DIR"),
      cl::desc(
          "judge instances of the family in a folder for random workloads, "
          "and write evidence.json there (for the host evidence.32.json or "
          "as wide as its vectors are) when all are right; takes no "
          "model. See docs/families.md")};
  cl::opt<unsigned> samples{
      "samples", cl::init(families::kMinSamples), cl::cat(category),
      cl::value_desc("N"),
      cl::desc(withDefault("workloads that --admit-family judges; fewer are a "
                           "trial that writes no evidence",
                           families::kMinSamples))};
  cl::opt<std::string> scaffold{
      "scaffold", cl::cat(category), cl::value_desc("KEY"),
      cl::desc(
          "write the folder -o, where a kernel of one's own for a workload "
          "begins: what it computes, a plain program that is right, and "
          "how to judge it. KEY is the beginning of its key, or its name; "
          "without a match the workloads are listed. See "
          "docs/kernel-authors.md")};
  cl::opt<std::string> compileKernel{"compile-kernel", cl::Hidden,
                                     cl::cat(category)};
};
} // namespace

/// Says what is wrong. False.
static bool reject(const llvm::Twine &message) {
  llvm::WithColor::error(llvm::errs(), "fastk-opt") << message << "\n";
  return false;
}

static bool accept(llvm::Error error) {
  return !error || reject(llvm::toString(std::move(error)));
}

/// The value of that name.
template <typename Enum>
static bool readChoice(StringRef text, Enum &value, StringRef dashes = "") {
  return accept(parseChoice<Enum>(text, dashes).moveInto(value));
}

/// The model, and which winners it may have.
static bool readModel(CommandLine &line) {
  DriverOptions &options = line.options;
  SearchSettings &search = line.settings;
  for (StringRef bank : options.banks)
    if (bank.empty())
      return reject("--bank is empty: name a folder or a URL");
  if (options.pushes && llvm::none_of(options.banks, isRemoteBank))
    return reject("--bank-push sends winners to a remote bank: name it with "
                  "--bank=https://HOST/PATH");
  std::string warning;
  if (llvm::Error error = parseTarget(line.target, search, warning, "--"))
    return reject(llvm::toString(std::move(error)));
  if (!warning.empty())
    llvm::WithColor::warning(llvm::errs(), "fastk-opt") << warning << "\n";
  return accept(readPrecision(line.precision, options)) &&
         accept(readWinnersFrom(line.winnersFrom, options)) &&
         readChoice(line.fusion, search.fusion);
}

/// What is written.
static bool readEmission(CommandLine &line) {
  EmitOptions &options = line.options.emit;
  auto kind = llvm::StringSwitch<std::optional<EmitKind>>(line.emit)
                  .Case("mlir", EmitKind::MLIR)
                  .Case("llvm", EmitKind::LLVM)
                  .Case("obj", EmitKind::Object)
                  .Case("so", EmitKind::SharedLibrary)
                  .Case("plan", EmitKind::Plan)
                  .Default(std::nullopt);
  if (!kind)
    return reject("unknown --emit=" + line.emit +
                  ": choose mlir, llvm, obj, so or plan");
  options.kind = *kind;
  if (*kind == EmitKind::Plan && line.options.search.target == "host")
    return reject("--emit=plan is what a model for a GPU is: add "
                  "--target=cuda:sm_90a, or choose so for the host");
  if (isBinary(*kind) && options.output == "-")
    return reject("--emit=" + line.emit +
                  " writes a binary file: name it with -o");
  if (line.emitHeader.getNumOccurrences()) {
    if (!hasHeader(*kind))
      return reject("--emit-header describes a library or an object: add "
                    "--emit=so or --emit=obj, or leave it out");
    if (options.header.empty() || options.header == options.output)
      return reject("--emit-header=" + options.header +
                    ": name a file of its own, as --emit-header=model.h");
  }
  return true;
}

/// What is searched, and who evaluates.
static bool readParties(CommandLine &line) {
  SearchSettings &search = line.settings;
  if (line.search == "none" && line.search.getNumOccurrences() == 0)
    search.scope = SearchScope::None;
  else if (line.search.empty())
    search.scope = SearchScope::Misses;
  else if (line.search == "all")
    search.scope = SearchScope::All;
  else
    return reject("unknown --search=" + line.search +
                  ": write --search or --search=all");
  if (search.proposerOptions.timeoutSeconds < 0)
    return reject("--llm-timeout must be at least 0 seconds");
  if (llvm::Error error = parseEvaluator(line.evaluator, search, "--"))
    return reject(llvm::toString(std::move(error)));
  return true;
}

/// How it is searched, and for how long.
static bool readStrategy(CommandLine &line) {
  if (llvm::Error error =
          findSearchStrategy(line.strategy).moveInto(line.shape.strategy))
    return reject(llvm::toString(std::move(error)));
  for (const auto &[option, lowest] :
       {std::pair<const cl::opt<int, true> *, int>{&line.rounds, 1},
        {&line.ideas, 1},
        {&line.implementations, 1},
        {&line.parents, 1},
        {&line.repairs, 0}})
    if (*option < lowest)
      return reject("--" + option->ArgStr + " must be at least " +
                    llvm::Twine(lowest));
  if (!line.budget.empty()) {
    llvm::Expected<SearchBudget> budget = parseSearchBudget(line.budget);
    if (!budget)
      return reject("--" + llvm::toString(budget.takeError()));
    line.shape.budget = *budget;
  }
  return true;
}

/// What a search writes, and whether all of its settings fit.
static bool checkSearch(CommandLine &line) {
  if (line.record.getNumOccurrences() && line.settings.record.empty())
    return reject("--record is empty: name a file");
  if (llvm::Error error = checkSettings(line.settings, "--"))
    return reject(llvm::toString(std::move(error)));
  return true;
}

/// What a compile must find.
static bool readDemands(CommandLine &line) {
  if (line.requireHits.getNumOccurrences() && line.requireHits < 0)
    return reject("--require-hits must be at least 0");
  if (line.requireHits >= 0)
    line.options.requireHits = line.requireHits;
  if (line.compileKernel.getNumOccurrences())
    line.options.compileKernel = line.compileKernel;
  return true;
}

/// What is written beside the result.
static bool checkReports(const CommandLine &line) {
  if (line.options.listWorkloads == "-" && line.options.emit.output == "-")
    return reject("--list-workloads=- and the result would both go to standard "
                  "output: name a file for the result with -o, /dev/null for "
                  "none");
  if (line.options.metrics == "-")
    return reject("--metrics=- is no file: name one, as it is written again "
                  "while a search runs");
  return true;
}

/// Where a search says for programs what it does.
static bool readLog(CommandLine &line) {
  DriverOptions &options = line.options;
  if (line.logFormat != "text" && line.logFormat != "json")
    return reject("--log-format wants text or json");
  options.logsJSON = line.logFormat == "json";
  if (!line.log.getNumOccurrences())
    return true;
  if (options.log.empty() || options.log == "-")
    return reject("--log wants a file: --log=search.jsonl");
  if (!options.logsJSON)
    return reject("--log=" + options.log +
                  " is where the lines of --log-format=json go: add that");
  return true;
}

/// What an admission is of.
static bool readAdmission(CommandLine &line) {
  if (!line.admitFamily.getNumOccurrences()) {
    if (line.samples.getNumOccurrences())
      return reject("--samples is for an admission: add --admit-family=DIR, or "
                    "leave it out");
    return true;
  }
  if (line.admitFamily.empty())
    return reject("--admit-family is empty: name the folder of a family");
  for (const cl::Option *option :
       {static_cast<const cl::Option *>(&line.input),
        static_cast<const cl::Option *>(&line.search)})
    if (option->getNumOccurrences())
      return reject("--admit-family takes no model and searches nothing: leave "
                    "out " +
                    (option->ArgStr.empty() ? line.options.input
                                            : "--" + option->ArgStr.str()));
  if (line.settings.ray)
    return reject("--admit-family does not wait for a cluster: choose "
                  "--evaluator=local, or spool:DIR with python -m fastk.ray "
                  "ADDRESS DIR beside it");
  if (!line.settings.replayFile.empty())
    return reject("--admit-family with --evaluator=replay:FILE would show "
                  "nothing: choose local or spool:DIR");
  if (line.samples == 0)
    return reject("--samples must be at least 1");
  line.options.admit.emplace();
  line.options.admit->folder = line.admitFamily;
  line.options.admit->samples = line.samples;
  return true;
}

/// A folder for a kernel author.
static bool readScaffold(CommandLine &line) {
  if (!line.scaffold.getNumOccurrences())
    return true;
  for (const cl::Option *option : std::initializer_list<const cl::Option *>{
           &line.search, &line.emit, &line.emitHeader, &line.admitFamily,
           &line.requireHits, &line.explainMiss, &line.listWorkloads,
           &line.metrics})
    if (option->getNumOccurrences())
      return reject("--scaffold compiles and searches nothing: leave out --" +
                    option->ArgStr);
  StringRef folder = StringRef(line.options.emit.output).rtrim('/');
  if (folder.empty() || folder == "-")
    return reject("--scaffold writes a folder: name it with -o");
  line.options.scaffold = {line.scaffold, folder.str()};
  return true;
}

/// Options of a search without one would be accepted and mean nothing.
static bool checkWithoutSearch(const CommandLine &line) {
  // The address of a list would be that of its values.
  std::vector<const cl::Option *> ofSearch = {std::addressof(line.proposers),
                                              &line.writes,
                                              &line.prompts,
                                              &line.baseUrl,
                                              &line.keyVariable,
                                              &line.extraBody,
                                              &line.priceTable,
                                              &line.modelTimeout,
                                              &line.strategy,
                                              &line.rounds,
                                              &line.ideas,
                                              &line.implementations,
                                              &line.parents,
                                              &line.repairs,
                                              &line.boundaries,
                                              &line.push,
                                              &line.logFormat,
                                              &line.log,
                                              &line.budget,
                                              &line.journal,
                                              &line.report,
                                              &line.record};
  // What an admission has in common with a search.
  if (!line.options.admit)
    ofSearch.insert(ofSearch.end(), {&line.seed, &line.evaluator});
  for (const cl::Option *option : ofSearch)
    if (option->getNumOccurrences() > 0)
      return reject("--" + option->ArgStr +
                    " is for a search: add --search, or leave it out");
  return true;
}

std::optional<DriverOptions> fastk::parseDriverOptions(int argc, char **argv) {
  CommandLine line;
  mlir::registerAsmPrinterCLOptions();
  mlir::registerMLIRContextCLOptions();
  mlir::registerPassManagerCLOptions();
  mlir::registerDefaultTimingManagerCLOptions();
  mlir::MlirOptMainConfig::registerCLOptions(*new mlir::DialectRegistry);
  cl::AddExtraVersionPrinter([](llvm::raw_ostream &os) {
    os << "fastk version " << FASTK_VERSION << "\n";
  });
  cl::HideUnrelatedOptions(line.category);
  // Who wants the list wants what a pipeline may be made of, too: passes are
  // values of one option, whichever is looked up.
  if (llvm::any_of(llvm::ArrayRef(argv, argc), [](llvm::StringRef argument) {
        return argument.ltrim('-').starts_with("help-list");
      }))
    if (cl::Option *passes = cl::getRegisteredOptions().lookup("canonicalize"))
      passes->setHiddenFlag(cl::NotHidden);
  cl::ParseCommandLineOptions(argc, argv, kOverview);

  line.options.arguments.assign(argv, argv + argc);
  if (!readModel(line) || !readEmission(line) || !readParties(line) ||
      !readStrategy(line) || !checkSearch(line) || !readDemands(line) ||
      !checkReports(line) || !readLog(line) || !readAdmission(line) ||
      !readScaffold(line) || !accept(readLayout(line.layout, line.options)) ||
      (line.settings.scope == SearchScope::None && !checkWithoutSearch(line)))
    return std::nullopt;
  return std::move(line.options);
}
