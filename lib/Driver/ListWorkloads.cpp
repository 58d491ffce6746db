//===- ListWorkloads.cpp - What became of workloads, as JSON --------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Driver/ListWorkloads.h"
#include "OutputText.h"
#include "mlir/IR/Location.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace fastk;
namespace json = llvm::json;

/// The files and lines in a location, each once: of an op that others were
/// folded into, all of theirs.
static void collectPlaces(Location location,
                          llvm::SetVector<Location> &places) {
  location->walk([&](Location each) {
    if (isa<FileLineColLoc>(each))
      places.insert(each);
    return WalkResult::advance();
  });
}

static StringRef wordOf(WorkloadOutcome::Kind kind) {
  switch (kind) {
  case WorkloadOutcome::Hit:
    return "hit";
  case WorkloadOutcome::Miss:
    return "miss";
  case WorkloadOutcome::Stale:
    return "stale";
  case WorkloadOutcome::Dynamic:
    return "dynamic";
  case WorkloadOutcome::Instance:
    return "instance";
  }
  llvm_unreachable("a kind without a word");
}

static json::Object describe(const WorkloadOutcome &outcome) {
  llvm::SetVector<Location> places;
  for (Location location : outcome.places)
    collectPlaces(location, places);
  json::Array listed;
  for (Location place : places) {
    auto point = cast<FileLineColLoc>(place);
    listed.push_back(json::Array{point.getFilename().getValue(),
                                 int64_t(point.getLine()),
                                 int64_t(point.getColumn())});
  }
  return json::Object{
      {"name", outcome.name},     {"key", outcome.key},
      {"shapes", outcome.shapes}, {"outcome", wordOf(outcome.kind)},
      {"reason", outcome.reason}, {"places", std::move(listed)}};
}

llvm::Error fastk::listWorkloads(const ApplySummary &summary, StringRef target,
                                 StringRef path) {
  json::Array workloads;
  for (const WorkloadOutcome &outcome : summary.workloads)
    workloads.push_back(describe(outcome));
  json::Object document{{"format", "fastk.workloads"},
                        {"version", 1},
                        {"target", target},
                        {"workloads", std::move(workloads)}};
  return writeOutputText(path, [&](llvm::raw_ostream &os) {
    os << llvm::formatv("{0:2}\n", json::Value(std::move(document)));
  });
}
