//===- fastk-bank.cpp - The winners that fastk found ----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Tools.h"
#include "Tool.h"
#include "fastk/Bank/Bank.h"
#include "fastk/Dialect/Fastk/PlanRegion.h"
#include "fastk/Support/StandardOutput.h"
#include "fastk/System/ClosedStreams.h"
#include "fastk/System/EndingSignals.h"
#include "fastk/System/FormatSeconds.h"
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
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::bank;
namespace cl = llvm::cl;
namespace json = llvm::json;

namespace {

std::vector<std::string> directories;
bool asJson = false;
std::string keyPrefix, onlyTarget;
bool remeasureAll = false, byRecord = false, requireDeterministic = false;
unsigned numThreads = 0;
bool removeThem = false;
std::string exportTo;

/// Made when they are parsed: tools of one program have options of one name
/// (tools/Tools.h).
struct CommandLine {
  cl::OptionCategory category{"Options"};
  cl::SubCommand list{"list", "one line per winner: what, how fast, how"};
  cl::SubCommand show{"show", "everything known of each winner, or of --key"};
  cl::SubCommand verify{"verify",
                        "read every winner in full and name the stale ones"};
  cl::SubCommand merge{"merge",
                       "put the winners of other banks into the first one: "
                       "the faster of two stays"};
  cl::SubCommand prune{"prune", "list what no compile uses, or --remove it"};
  cl::SubCommand exports{"export",
                         "copy winners that hold into a bank of their own"};
  cl::SubCommand families{
      "families",
      "one line per family: what it is, and whether it is admitted"};
  cl::SubCommand extract{
      "extract-family",
      "write the family of which a winner is an instance, or a program's file, "
      "as a folder"};

  cl::list<std::string, std::vector<std::string>> folders{
      cl::Positional,       cl::location(directories),
      cl::desc("[DIR...]"), cl::cat(category),
      cl::sub(list),        cl::sub(show),
      cl::sub(verify),      cl::sub(merge),
      cl::sub(prune),       cl::sub(exports),
      cl::sub(families),    cl::sub(extract)};
  cl::opt<bool, true> json{"json",
                           cl::location(asJson),
                           cl::desc("Print JSON instead of text"),
                           cl::cat(category),
                           cl::sub(list),
                           cl::sub(show),
                           cl::sub(verify),
                           cl::sub(prune)};
  cl::opt<std::string, true> key{
      "key",
      cl::location(keyPrefix),
      cl::value_desc("HEX"),
      cl::desc("Only winners whose key begins with these digits"),
      cl::cat(category),
      cl::sub(list),
      cl::sub(show),
      cl::sub(verify),
      cl::sub(merge),
      cl::sub(exports)};
  cl::opt<std::string, true> target{
      "target",
      cl::location(onlyTarget),
      cl::value_desc("TARGET"),
      cl::desc("Only winners for this target: host, cuda:sm_90a"),
      cl::cat(category),
      cl::sub(list),
      cl::sub(show),
      cl::sub(verify),
      cl::sub(merge),
      cl::sub(exports)};
  cl::opt<bool, true> remeasure{
      "remeasure", cl::location(remeasureAll),
      cl::desc("Also validate and time each winner on this machine again"),
      cl::cat(category), cl::sub(verify)};
  cl::opt<bool, true> record{
      "by-record", cl::location(byRecord),
      cl::desc("Compare recorded times instead of measuring again: the smaller "
               "median of one machine stays, other machines stand beside it"),
      cl::cat(category), cl::sub(merge)};
  cl::opt<bool, true> deterministic{
      "require-deterministic",
      cl::location(requireDeterministic),
      cl::desc("Refuse winners that give other bits for the same operands; "
               "with --by-record those whose record does not say that they do "
               "not"),
      cl::cat(category),
      cl::sub(verify),
      cl::sub(merge)};
  cl::opt<unsigned, true> threads{
      "num-threads",
      cl::location(numThreads),
      cl::value_desc("N"),
      cl::desc("Threads to measure with; all processors by default"),
      cl::cat(category),
      cl::sub(verify),
      cl::sub(merge)};
  cl::opt<bool, true> remove{"remove", cl::location(removeThem),
                             cl::desc("Remove what is listed"),
                             cl::cat(category), cl::sub(prune)};
  cl::opt<std::string, true> to{"to",
                                cl::location(exportTo),
                                cl::value_desc("DIR"),
                                cl::desc("Where the copies, or the family, go"),
                                cl::cat(category),
                                cl::sub(exports),
                                cl::sub(extract)};
};

constexpr char kOverview[] = R"(fastk-bank: the winners that fastk found

A bank is a folder with one folder per winner: lowering.mlir (the workload it
replaces and how it was measured), the program (kernel.c or schedule.mlir) and
trajectory.json (how it was found). Reading a bank never runs what is in it.

  fastk-bank list                what is there: key, name, shapes, target,
                                 precision, time, against the default lowering
  fastk-bank show --key=1f3a     all that is known of one winner
  fastk-bank verify winners      check keys and digests of a bank
  fastk-bank verify --remeasure  validate and time them on this machine again
  fastk-bank merge mine theirs   their winners into mine, measured side by side
  fastk-bank prune               what no compile uses; --remove removes it
  fastk-bank export --to=DIR     copies of winners, to share or to commit
  fastk-bank list --json | jq    the same for programs
  fastk-bank families            programs for every size, and whether evidence
                                 of their correctness stands
  fastk-bank extract-family winners/sm_90a/... --to=DIR
                                 the family that a winner is an instance of

Without DIR: the folders of $FASTK_BANK, then ~/.cache/fastk/bank, then the
bank shipped with fastk; of families the shipped ones. DIR may be given several
times.

Exit codes: 0 done; 1 a bank or an option is wrong; 2 winners were refused: stale,
or, measured again, wrong or no faster than the default lowering
)";

} // namespace

std::string fastk::bank::formatTime(double nanoseconds) {
  return formatSeconds(nanoseconds * 1e-9);
}

std::string fastk::bank::formatRatio(double ratio) {
  return ratio <= 0 ? "-" : llvm::formatv("{0:f2}x", ratio).str();
}

void fastk::bank::printTable(const std::vector<std::vector<std::string>> &rows,
                             raw_ostream &os) {
  std::vector<size_t> widths;
  for (const auto &row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (auto [i, cell] : llvm::enumerate(row))
      widths[i] = std::max(widths[i], cell.size());
  }
  for (const auto &row : rows) {
    for (auto [i, cell] : llvm::enumerate(row)) {
      os << cell;
      if (i + 1 < row.size())
        os.indent(widths[i] - cell.size() + 2);
    }
    os << "\n";
  }
}

namespace {

/// Short for where a compile applies the winner by default.
std::string formatMachine(const Machine &machine) {
  static const Machine here = Machine::host();
  if (machine.isComparable(here))
    return "this machine";
  if (machine.threads == 0 && !machine.model.empty())
    return machine.model;
  return machine.model.empty()
             ? "unknown"
             : machine.model + ", " + std::to_string(machine.threads) +
                   (machine.threads == 1 ? " thread" : " threads");
}

json::Object headerJson(const Row &row) {
  const WinnerHeader &head = *row.entry.header;
  json::Object object{
      {"folder", row.entry.folder},
      {"bank", row.bank},
      {"key", head.key},
      {"format_version", head.formatVersion},
      {"name", head.name},
      {"shapes", head.shapes},
      {"target", head.target},
      {"precision", stringifyPrecision(head.precision)},
      {"language", stringifyLanguage(head.language)},
      {"median_ns", head.medianNs},
      {"baseline_ns", head.baselineNs},
      {"floor_ns", head.floorNs},
      {"speedup", head.speedup},
      {"speedup_low", head.speedupLow},
      {"speedup_high", head.speedupHigh},
      {"machine", head.machine},
      {"cpu", head.cpu},
      {"threads", head.threads},
      {"idea", head.title},
      {"category", head.category},
  };
  if (head.bitwiseDeterministic)
    object["bitwise_deterministic"] = *head.bitwiseDeterministic;
  return object;
}

/// The plan of a verified winner; nothing for languages without.
std::optional<worker::LaunchPlan> planOf(LoweringOp lowering) {
  if (lowering.getPlan().empty())
    return std::nullopt;
  FailureOr<worker::LaunchPlan> plan = readPlan(lowering);
  return succeeded(plan) ? std::optional(std::move(*plan)) : std::nullopt;
}

/// "132x1x1", without what is 1 at the end.
std::string formatExtents(const worker::Dim3 &extents) {
  std::string text = std::to_string(extents[0]);
  if (extents[1] > 1 || extents[2] > 1)
    text += "x" + std::to_string(extents[1]);
  if (extents[2] > 1)
    text += "x" + std::to_string(extents[2]);
  return text;
}

/// One line a workspace and a step.
void showPlan(const worker::LaunchPlan &plan,
              llvm::function_ref<void(StringRef, const Twine &)> line) {
  for (const worker::Workspace &workspace : plan.workspaces)
    line("workspace", Twine(workspace.bytes) + " bytes" +
                          (workspace.zero ? ", zeroed" : ""));
  for (const worker::PlanStep &step : plan.steps) {
    if (const auto *memset = std::get_if<worker::Memset>(&step)) {
      line("memset", Twine(memset->bytes) + " bytes");
      continue;
    }
    const auto &launch = std::get<worker::Launch>(step);
    std::string text = launch.kernel + ", " + formatExtents(launch.grid) +
                       " blocks of " + formatExtents(launch.block) + " threads";
    if (launch.cluster != worker::Dim3{1, 1, 1})
      text += ", clusters of " + formatExtents(launch.cluster);
    if (launch.sharedBytes > 0)
      text +=
          ", " + std::to_string(launch.sharedBytes) + " bytes of shared memory";
    if (launch.cooperative)
      text += ", cooperative";
    if (launch.overlapsPrevious)
      text += ", overlaps the previous";
    line("launch", text);
  }
}

void showWinner(const Row &row, raw_ostream &os) {
  LoweringOp lowering = row.winner->getLowering();
  WinnerRecord record = row.winner->getRecord();
  auto line = [&](StringRef label, const Twine &value) {
    os << "  " << llvm::left_justify(label, 12) << value << "\n";
  };
  os << record.name << " " << record.shapes << "\n";
  line("folder", row.winner->folder);
  line("key", lowering.getKey());
  line("target", lowering.getTarget());
  line("precision", stringifyPrecision(lowering.getPrecision()));
  std::optional<worker::LaunchPlan> plan = planOf(lowering);
  line("program",
       stringifyLanguage(lowering.getLanguage()) + " " +
           lowering.getFile().value_or("") +
           (plan ? ""
                 : ", workspace " + std::to_string(lowering.getWorkspace()) +
                       " bytes"));
  if (plan)
    showPlan(*plan, line);
  line("time", formatTime(record.medianNs) + " median, p10 " +
                   formatTime(record.p10Ns) + ", p90 " +
                   formatTime(record.p90Ns) + ", " + Twine(record.samples) +
                   " samples");
  line("baseline", formatTime(record.baselineNs) +
                       " default lowering in the same run; " +
                       formatRatio(record.speedup) + " (95 % confidence " +
                       formatRatio(record.speedupLow) + " to " +
                       formatRatio(record.speedupHigh) + ")");
  if (record.floorNs > 0 && record.medianNs > 0)
    line("floor",
         formatTime(record.floorNs) + "; reached " +
             llvm::formatv("{0:f1} %", 100 * record.floorNs / record.medianNs)
                 .str());
  line("machine", record.getMachine().str());
  if (record.bitwiseDeterministic)
    line("bits", *record.bitwiseDeterministic
                     ? "the same in all runs on the same operands"
                     : "others in some runs on the same operands");
  line("versions",
       "fastk " + record.fastkVersion + ", MLIR " + record.mlirVersion);
  for (auto &[distribution, error] : record.errors)
    line("error", llvm::formatv("{0:e2} on {1}", error, distribution).str());
  for (auto &[name, value] : record.parameters)
    line("parameter", name + " = " + Twine(value));
  line("idea", record.title + " (" + record.category + ")");
  if (!record.text.empty())
    line("", record.text);
}

} // namespace

int fastk::bank::reportError(const Twine &message) {
  llvm::errs() << "fastk-bank: error: " << message << "\n";
  return kExitWrong;
}

namespace {

int runList(std::vector<Row> &rows) {
  if (asJson) {
    json::OStream os(llvm::outs(), 2);
    os.object([&] {
      os.attribute("format", 1);
      os.attributeArray("winners", [&] {
        for (const Row &row : rows)
          if (row.entry.header)
            os.value(headerJson(row));
      });
      os.attributeArray("stale", [&] {
        for (const Row &row : rows)
          if (!row.entry.header)
            os.value(json::Object{{"folder", row.entry.folder},
                                  {"bank", row.bank},
                                  {"reason", row.entry.problem}});
      });
    });
    llvm::outs() << "\n";
    return 0;
  }
  std::vector<std::vector<std::string>> table = {
      {"key", "name", "shapes", "target", "precision", "time", "vs baseline",
       "measured on", "idea"}};
  for (const Row &row : rows) {
    if (!row.entry.header)
      continue;
    const WinnerHeader &head = *row.entry.header;
    table.push_back({head.key.substr(0, 8), head.name, head.shapes, head.target,
                     stringifyPrecision(head.precision).str(),
                     formatTime(head.medianNs), formatRatio(head.speedup),
                     formatMachine(head.getMachine()), head.title});
  }
  if (table.size() > 1)
    printTable(table, llvm::outs());
  for (const Row &row : rows)
    if (!row.entry.header)
      llvm::outs() << "stale: " << row.entry.folder << ": " << row.entry.problem
                   << "\n";
  return 0;
}

/// Reads every winner in full; how many are stale.
size_t loadAll(std::vector<Row> &rows, MLIRContext &context) {
  size_t staleCount = 0;
  for (Row &row : rows) {
    if (!row.entry.header) {
      ++staleCount;
      continue;
    }
    llvm::Expected<std::unique_ptr<Winner>> winner =
        Bank::load(row.entry.folder, &context);
    if (winner) {
      row.winner = std::move(*winner);
      continue;
    }
    row.entry.problem = llvm::toString(winner.takeError());
    ++staleCount;
  }
  return staleCount;
}

int runShowOrVerify(std::vector<Row> &rows, MLIRContext &context, bool show) {
  size_t staleCount = loadAll(rows, context);
  if (asJson) {
    json::OStream os(llvm::outs(), 2);
    os.object([&] {
      os.attribute("format", 1);
      os.attributeArray("winners", [&] {
        for (const Row &row : rows) {
          if (!row.winner)
            continue;
          json::Object object = headerJson(row);
          if (show) {
            WinnerRecord record = row.winner->getRecord();
            object["text"] = record.text;
            json::Object errors;
            for (auto &[distribution, error] : record.errors)
              errors[distribution] = error;
            object["errors"] = std::move(errors);
            object["workspace_bytes"] =
                static_cast<int64_t>(row.winner->getLowering().getWorkspace());
            if (auto plan = planOf(row.winner->getLowering()))
              object["plan"] =
                  llvm::cantFail(json::parse(worker::toJSON(*plan)));
            object["program"] =
                row.winner->getLowering().getSource().value_or("");
          }
          os.value(std::move(object));
        }
      });
      os.attributeArray("stale", [&] {
        for (const Row &row : rows)
          if (!row.winner)
            os.value(json::Object{{"folder", row.entry.folder},
                                  {"bank", row.bank},
                                  {"reason", row.entry.problem}});
      });
    });
    llvm::outs() << "\n";
  } else {
    for (const Row &row : rows) {
      if (!row.winner)
        llvm::outs() << "stale: " << row.entry.folder << ": "
                     << row.entry.problem << "\n";
      else if (show)
        showWinner(row, llvm::outs());
    }
    if (!show)
      llvm::outs() << rows.size() - staleCount << " of " << rows.size()
                   << " winners verified, " << staleCount << " stale\n";
  }
  return !show && staleCount > 0 ? kExitRefused : kExitDone;
}

int runExtract() {
  if (directories.size() != 1 || exportTo.empty())
    return reportError("extract-family needs a winner's folder and where the "
                       "family goes: fastk-bank extract-family WINNER "
                       "--to=DIR");
  return extractFamily(directories.front(), exportTo);
}

} // namespace

static int run(int argc, char **argv) {
  CommandLine line;
  cl::HideUnrelatedOptions(line.category);
  for (cl::SubCommand *command :
       {&line.list, &line.show, &line.verify, &line.merge, &line.prune,
        &line.exports, &line.families, &line.extract})
    cl::HideUnrelatedOptions(line.category, *command);
  std::string complaint;
  llvm::raw_string_ostream complaintStream(complaint);
  if (!cl::ParseCommandLineOptions(argc, argv, kOverview, &complaintStream)) {
    llvm::errs() << complaint;
    return 1;
  }
  if (line.families)
    return listFamilies(directories);
  if (line.extract)
    return runExtract();
  bool list = static_cast<bool>(line.list);
  bool show = static_cast<bool>(line.show);
  bool verify = static_cast<bool>(line.verify);
  bool merges = static_cast<bool>(line.merge);
  bool prunes = static_cast<bool>(line.prune);
  bool exports = static_cast<bool>(line.exports);
  if (!list && !show && !verify && !merges && !prunes && !exports)
    return reportError("say what to do: list, show, verify, merge, prune, "
                       "export, families or extract-family; see --help");

  if (verify && requireDeterministic && !remeasureAll)
    return reportError("--require-deterministic runs winners again: add "
                       "--remeasure, or leave it out");
  if ((verify && remeasureAll) || (merges && !byRecord))
    if (std::string problem = explainTooManyThreads(numThreads);
        !problem.empty())
      return reportError("--num-threads: " + problem);
  if (!onlyTarget.empty() && onlyTarget != "host" && !planLimitsOf(onlyTarget))
    return reportError("unknown target '" + onlyTarget +
                       "': choose host, or a GPU's architecture, as "
                       "cuda:sm_90a");
  auto isHexDigit = [](char c) {
    return llvm::isDigit(c) || (c >= 'a' && c <= 'f');
  };
  if (!llvm::all_of(keyPrefix, isHexDigit) || keyPrefix.size() > 64)
    return reportError("--key=" + keyPrefix +
                       ": no key begins so: a key is 64 digits from 0 to 9 and "
                       "a to f, of which the first few do; see fastk-bank "
                       "list");
  std::vector<std::string> banks = directories;
  std::string into;
  if (merges) {
    if (banks.size() < 2)
      return reportError("merge needs the bank that takes the winners, then "
                         "the banks that they come from: fastk-bank merge "
                         "INTO FROM...");
    into = banks.front();
    banks.erase(banks.begin());
  }
  if (exports && exportTo.empty())
    return reportError("export needs --to=DIR, where the copies go");
  for (const std::string &directory : banks)
    if (!llvm::sys::fs::exists(directory))
      return reportError(directory + ": no such folder; give a bank, or none "
                                     "to see the default ones");
  // What is removed is named: not what an environment variable says.
  if (prunes && banks.empty())
    return reportError("prune needs the banks that it may change: fastk-bank "
                       "prune DIR...");
  if (banks.empty())
    banks = defaultBanks(argv[0]);

  // Outlives the winners that are read into it.
  DialectRegistry registry;
  registry.insert<FastkDialect, affine::AffineDialect, arith::ArithDialect,
                  complex::ComplexDialect, linalg::LinalgDialect,
                  math::MathDialect, scf::SCFDialect, tensor::TensorDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);

  if (prunes)
    return prune(banks, removeThem, asJson, context);

  std::vector<Row> rows;
  for (const std::string &directory : banks) {
    llvm::Expected<Bank> bank = Bank::open(directory);
    if (!bank)
      return reportError(llvm::toString(bank.takeError()));
    for (BankEntry &entry : bank->list())
      if (!entry.header ||
          (StringRef(entry.header->key).starts_with(keyPrefix) &&
           (onlyTarget.empty() || entry.header->target == onlyTarget)))
        rows.push_back({std::move(entry), directory, nullptr});
  }
  if (rows.empty() && !asJson) {
    llvm::errs() << "no winners";
    if (!keyPrefix.empty())
      llvm::errs() << " whose key begins with " << keyPrefix;
    if (!onlyTarget.empty())
      llvm::errs() << " for " << onlyTarget;
    llvm::errs() << " in";
    for (const std::string &directory : banks)
      llvm::errs() << " " << directory;
    llvm::errs() << "\n";
  }

  if (list)
    return runList(rows);
  if (merges || exports || (verify && remeasureAll)) {
    MergeOptions options;
    options.byRecord = byRecord;
    options.requireDeterministic = requireDeterministic;
    options.threads = numThreads;
    options.executable = llvm::sys::fs::getMainExecutable(
        argv[0], reinterpret_cast<void *>(&run));
    loadAll(rows, context);
    return merges    ? merge(into, rows, options, context)
           : exports ? exportWinners(exportTo, rows, context)
                     : verifyByMeasuring(rows, options, asJson);
  }
  return runShowOrVerify(rows, context, show);
}

int fastk::bankMain(int argc, char **argv) {
  occupyClosedStreams();
  watchStandardOutput("fastk-bank");
  watchEndingSignals();
  return run(argc, argv);
}
