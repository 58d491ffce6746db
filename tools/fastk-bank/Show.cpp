//===- Show.cpp - All that is known of each winner
//--------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceCode.h"
#include "Resources.h"
#include "fastk/Dialect/Fastk/PlanRegion.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::bank;
namespace json = llvm::json;

namespace {

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
  SmallVector<StringRef> lines;
  StringRef(record.text).trim().split(lines, '\n');
  for (StringRef text : lines)
    line("", text);
}

} // namespace

void fastk::bank::loadAll(std::vector<Row> &rows, MLIRContext &context) {
  for (Row &row : rows) {
    if (!row.entry.header)
      continue;
    llvm::Expected<std::unique_ptr<Winner>> winner =
        Bank::load(row.entry.folder, &context);
    if (winner) {
      row.winner = std::move(*winner);
      continue;
    }
    row.entry.problem = llvm::toString(winner.takeError());
  }
}

/// What is asked for of a winner's code, made for it.
struct ShownCode {
  std::vector<LaunchResources> resources;
  std::string ptx, sass;
};

static llvm::Expected<ShownCode> readCode(const Row &row, DeviceCode &code,
                                          const ShowOptions &options) {
  ShownCode shown;
  llvm::Expected<LaunchRecipe> recipe = code.recipeOf(*row.winner);
  if (!recipe)
    return recipe.takeError();
  llvm::Expected<cuda::CompileResult> compiled = code.compile(*recipe);
  if (!compiled)
    return compiled.takeError();
  if (options.resources)
    shown.resources = resourcesOf(*recipe, *compiled);
  if (options.ptx)
    shown.ptx = compiled->ptx;
  if (options.sass) {
    llvm::Expected<std::string> sass = disassemble(compiled->cubin);
    if (!sass)
      return sass.takeError();
    shown.sass = std::move(*sass);
  }
  return shown;
}

static void printCode(const ShownCode &shown, const ShowOptions &options,
                      raw_ostream &os) {
  printResources(shown.resources, [&](StringRef label, const Twine &value) {
    os << "  " << llvm::left_justify(label, 12) << value << "\n";
  });
  if (options.ptx)
    os << "\n" << StringRef(shown.ptx).trim() << "\n";
  if (options.sass)
    os << "\n" << StringRef(shown.sass).trim() << "\n";
}

static json::Object shownJson(const Row &row, const ShownCode &shown,
                              const ShowOptions &options) {
  json::Object object = headerJson(row);
  LoweringOp lowering = row.winner->getLowering();
  WinnerRecord record = row.winner->getRecord();
  object["text"] = record.text;
  json::Object errors;
  for (auto &[distribution, error] : record.errors)
    errors[distribution] = error;
  object["errors"] = std::move(errors);
  object["workspace_bytes"] = static_cast<int64_t>(lowering.getWorkspace());
  if (auto plan = planOf(lowering))
    object["plan"] = llvm::cantFail(json::parse(worker::toJSON(*plan)));
  object["program"] = lowering.getSource().value_or("");
  if (options.resources)
    object["resources"] = toJson(shown.resources);
  if (options.ptx)
    object["ptx"] = shown.ptx;
  if (options.sass)
    object["sass"] = shown.sass;
  return object;
}

/// `{"format": 1, "winners": [...], "stale": [...]}`.
static void printJson(const std::vector<Row> &rows, json::Array winners) {
  json::Array stale;
  for (const Row &row : rows)
    if (!row.winner)
      stale.push_back(json::Object{{"folder", row.entry.folder},
                                   {"bank", row.bank},
                                   {"reason", row.entry.problem}});
  json::OStream os(llvm::outs(), 2);
  os.object([&] {
    os.attribute("format", 1);
    os.attribute("winners", std::move(winners));
    os.attribute("stale", std::move(stale));
  });
  llvm::outs() << "\n";
}

static void printStale(const Row &row) {
  llvm::outs() << "stale: " << row.entry.folder << ": " << row.entry.problem
               << "\n";
}

int fastk::bank::showWinners(const std::vector<Row> &rows,
                             const ShowOptions &options) {
  DeviceCode code(options.executable);
  json::Array list;
  for (const Row &row : rows) {
    if (!row.winner) {
      if (!options.asJson)
        printStale(row);
      continue;
    }
    ShownCode shown;
    if (options.needsCode()) {
      llvm::Expected<ShownCode> made = readCode(row, code, options);
      if (!made)
        return reportError(row.entry.folder + ": " +
                           llvm::toString(made.takeError()));
      shown = std::move(*made);
    }
    if (options.asJson) {
      list.push_back(shownJson(row, shown, options));
      continue;
    }
    showWinner(row, llvm::outs());
    printCode(shown, options, llvm::outs());
  }
  if (options.asJson)
    printJson(rows, std::move(list));
  return kExitDone;
}

int fastk::bank::verifyWinners(const std::vector<Row> &rows, bool asJson) {
  size_t stale = 0;
  json::Array list;
  for (const Row &row : rows) {
    if (row.winner) {
      list.push_back(headerJson(row));
      continue;
    }
    ++stale;
    if (!asJson)
      printStale(row);
  }
  if (asJson)
    printJson(rows, std::move(list));
  else
    llvm::outs() << rows.size() - stale << " of " << rows.size()
                 << " winners verified, " << stale << " stale\n";
  return stale > 0 ? kExitRefused : kExitDone;
}
