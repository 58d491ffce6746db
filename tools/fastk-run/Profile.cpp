//===- Profile.cpp - Where a model's time goes ----------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Profile.h"
#include "fastk/Analysis/Roofline.h"
#include "fastk/Analysis/WorkloadKind.h"
#include "fastk/Bank/Winner.h"
#include "fastk/Conversion/HostCodegen.h"
#include "fastk/Conversion/ProfileCalls.h"
#include "fastk/Driver/ModelDiagnostics.h"
#include "fastk/System/FormatSeconds.h"
#include "fastk/Target/TargetDescription.h"
#include "fastk/Transforms/FileOf.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/DynamicLibrary.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>

using namespace mlir;
using namespace fastk;

namespace {
/// A line of the table, all of it for one call of the model.
struct ProfileRow {
  double seconds = 0, floorSeconds = 0;
  int64_t calls = 0;
  std::string language, name;
};
} // namespace

static void printRows(ArrayRef<ProfileRow> rows, double total) {
  llvm::raw_ostream &os = llvm::outs();
  os << llvm::formatv("{0,7}  {1,10}  {2,5}  {3,8}  {4,-9}  {5}\n", "share",
                      "time", "calls", "of floor", "lowering", "workload");
  double kernels = 0;
  for (const ProfileRow &row : rows) {
    kernels += row.seconds;
    os << llvm::formatv(
        "{0,7}  {1,10}  {2,5}  {3,8}  {4,-9}  {5}\n",
        llvm::formatv("{0:f1} %", 100 * row.seconds / total).str(),
        formatSeconds(row.seconds), row.calls,
        row.seconds > 0
            ? llvm::formatv("{0:f0} %", 100 * row.floorSeconds / row.seconds)
                  .str()
            : std::string("-"),
        row.language, row.name);
  }
  double rest = std::max(0.0, total - kernels);
  os << llvm::formatv("{0,7}  {1,10}  {2,5}  {2,8}  {2,-9}  {3}\n",
                      llvm::formatv("{0:f1} %", 100 * rest / total).str(),
                      formatSeconds(rest), "-", "outside of workloads");
}

llvm::Error fastk::profileOnHost(ModuleOp lowered, StringRef folder,
                                 StringRef name,
                                 const std::vector<HostTensor> &inputs,
                                 double seconds) {
  llvm::LLVMContext context;
  HostTarget target = HostTarget::detect();
  auto compiled = compileModel(lowered, context, target);
  if (failed(compiled))
    return llvm::createStringError("the model could not be compiled");
  std::vector<LoweringOp> lowerings(lowered.getOps<LoweringOp>().begin(),
                                    lowered.getOps<LoweringOp>().end());
  std::vector<std::string> symbols;
  for (LoweringOp lowering : lowerings)
    symbols.push_back(lowering.getSymName().str());
  profileCalls(**compiled, symbols);
  SmallString<128> path(folder);
  llvm::sys::path::append(path, "profiled.so");
  if (failed(emitSharedLibrary(fileOf(lowered), **compiled, target, path,
                               hostLibraries(), "the model")))
    return llvm::createStringError("the model could not be linked");
  auto library = CompiledLibrary::open(path);
  if (!library)
    return library.takeError();
  auto function = library->find(name);
  if (!function)
    return function.takeError();
  // The library again: it is loaded once.
  auto *counters = static_cast<double *>(
      llvm::sys::DynamicLibrary::getPermanentLibrary(path.c_str())
          .getAddressOfSymbol(kProfileSymbol));
  if (!counters)
    return llvm::createStringError(path + " has no " + kProfileSymbol);

  std::vector<HostTensor> outputs = (*function)->makeOutputs();
  // Wakes threads, maps memory.
  if (llvm::Error error = (**function)(inputs, outputs))
    return error;
  std::fill_n(counters, 2 * symbols.size(), 0.0);
  using Clock = std::chrono::steady_clock;
  Clock::time_point start = Clock::now();
  auto elapsed = [&] {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  int runs = 0;
  while (runs < 3 || elapsed() < seconds) {
    if (llvm::Error error = (**function)(inputs, outputs))
      return error;
    ++runs;
  }
  double total = elapsed() / runs;

  TargetDescription device = hostDescription();
  std::vector<ProfileRow> rows;
  for (auto [index, lowering] : llvm::enumerate(lowerings)) {
    ProfileRow row;
    row.seconds = counters[2 * index] / runs;
    row.calls = static_cast<int64_t>(counters[2 * index + 1]) / runs;
    if (row.calls == 0)
      continue;
    row.floorSeconds = row.calls * computeRoofline(lowering.getPattern())
                                       .floorSeconds(device, CacheState::Warm);
    row.language = lowering.getLanguage() == Language::generic
                       ? "default"
                       : stringifyLanguage(lowering.getLanguage()).str();
    row.name = analyzeWorkload(lowering.getPattern()).name + " " +
               describeShapes(lowering) + " " +
               lowering.getKey().take_front(8).str();
    rows.push_back(std::move(row));
  }
  llvm::sort(rows, [](const ProfileRow &a, const ProfileRow &b) {
    return std::tie(b.seconds, a.name) < std::tie(a.seconds, b.name);
  });
  llvm::outs() << llvm::formatv(
      "profile: {0} a call, mean of {1} runs; {2} {3}\n", formatSeconds(total),
      runs, rows.size(), rows.size() == 1 ? "kernel" : "kernels");
  printRows(rows, total);
  return llvm::Error::success();
}
