//===- RemarkSetup.cpp - mlir-opt's remark options for the driver ---------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RemarkSetup.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Remark/RemarkStreamer.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Remarks/RemarkFormat.h"

using namespace mlir;

LogicalResult fastk::setUpRemarks(MLIRContext &context) {
  MlirOptMainConfig config = MlirOptMainConfig::createFromCLOptions();
  if (!config.shouldEmitRemarks())
    return success();
  auto filter = [](const std::string &text) -> std::optional<std::string> {
    if (text.empty())
      return std::nullopt;
    return text;
  };
  remark::RemarkCategories categories{filter(config.getRemarksAllFilter()),
                                      filter(config.getRemarksPassedFilter()),
                                      filter(config.getRemarksMissedFilter()),
                                      filter(config.getRemarksAnalyseFilter()),
                                      filter(config.getRemarksFailedFilter())};
  std::unique_ptr<remark::detail::RemarkEmittingPolicyBase> policy;
  if (config.getRemarkPolicy() == RemarkPolicy::REMARK_POLICY_ALL)
    policy = std::make_unique<remark::RemarkEmittingPolicyAll>();
  else
    policy = std::make_unique<remark::RemarkEmittingPolicyFinal>();
  if (config.getRemarkFormat() == RemarkFormat::REMARK_FORMAT_STDOUT)
    return remark::enableOptimizationRemarks(context, nullptr,
                                             std::move(policy), categories,
                                             /*printAsEmitRemarks=*/true);
  bool isYAML = config.getRemarkFormat() == RemarkFormat::REMARK_FORMAT_YAML;
  std::string path = config.getRemarksOutputFile();
  if (path.empty())
    path = isYAML ? "mlir-remarks.yaml" : "mlir-remarks.bitstream";
  return remark::enableOptimizationRemarksWithLLVMStreamer(
      context, path,
      isYAML ? llvm::remarks::Format::YAML : llvm::remarks::Format::Bitstream,
      std::move(policy), categories);
}
