//===- List.cpp - One line per winner
//---------------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tool.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::bank;
namespace json = llvm::json;

/// Short for where a compile applies the winner by default.
static std::string formatMachine(const Machine &machine) {
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

json::Object fastk::bank::headerJson(const Row &row) {
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

int fastk::bank::listWinners(const std::vector<Row> &rows, bool asJson) {
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
