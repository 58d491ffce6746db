//===- RunModel.cpp - What runs on hosts and GPUs share -------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunModel.h"
#include "Options.h"
#include "fastk/Driver/RunInputs.h"
#include "fastk/Runtime/Npy.h"
#include "fastk/System/FormatSeconds.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace fastk;
using namespace fastk::options;

int fastk::fail(llvm::Error error) {
  llvm::errs() << "fastk-run: error: " << llvm::toString(std::move(error))
               << "\n";
  return 1;
}

static double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Where the median lies with 95 % certainty, by ranks: whatever the
/// distribution is (David and Nagaraja, Order Statistics, 2003, 7.1).
static std::pair<double, double> medianInterval(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  double count = static_cast<double>(values.size());
  double half = 0.98 * std::sqrt(count);
  auto at = [&](double rank) {
    return values[static_cast<size_t>(std::clamp(rank, 0.0, count - 1))];
  };
  return {at(std::floor(count / 2 - half)), at(std::ceil(count / 2 + half))};
}

void fastk::printTimes(const std::vector<double> &ours,
                       const std::vector<double> &theirs, llvm::StringRef how) {
  llvm::outs() << llvm::formatv("time: {0}, median of {1} runs{2}",
                                formatSeconds(median(ours)), ours.size(), how);
  std::vector<double> ratios;
  for (auto [our, their] : llvm::zip(ours, theirs))
    ratios.push_back(their / our);
  if (!ratios.empty()) {
    auto [low, high] = medianInterval(ratios);
    llvm::outs() << llvm::formatv("; default lowering {0} in the same run: "
                                  "{1:f2}x as fast ({2:f2} to {3:f2})",
                                  formatSeconds(median(theirs)), median(ratios),
                                  low, high);
  }
  llvm::outs() << "\n";
}

llvm::Error fastk::writeOutputs(const std::vector<HostTensor> &outputs) {
  if (outputFolder.empty()) {
    if (!check && !showTime && !showProfile)
      for (const auto &[i, output] : llvm::enumerate(outputs))
        llvm::outs() << "result " << i << ": " << output.type().str()
                     << " (write it with --outputs DIR)\n";
    return llvm::Error::success();
  }
  if (std::error_code ec = llvm::sys::fs::create_directories(outputFolder))
    return llvm::createStringError(ec, outputFolder + ": " + ec.message());
  for (size_t i = 0; i < outputs.size(); ++i)
    if (llvm::Error error = writeNpy(
            outputFolder + "/out" + std::to_string(i) + ".npy", outputs[i]))
      return error;
  return llvm::Error::success();
}

llvm::Expected<std::vector<HostTensor>>
fastk::makeInputsFor(RunModel model, llvm::StringRef function,
                     const Signature &signature) {
  SmallVector<InputFeatures> features;
  if (model)
    features = analyzeArguments(model.definition, function, fusion);
  return makeInputs(signature, inputFiles, features, seed, openSize,
                    inputsScale);
}

func::FuncOp fastk::functionOf(RunModel model, llvm::StringRef name) {
  return model.definition.lookupSymbol<func::FuncOp>(name);
}
