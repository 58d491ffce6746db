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
  // A missing category turns the filter for all off, too: they are given
  // always, empty where nothing was said.
  remark::RemarkCategories categories{
      config.getRemarksAllFilter(), config.getRemarksPassedFilter(),
      config.getRemarksMissedFilter(), config.getRemarksAnalyseFilter(),
      config.getRemarksFailedFilter()};
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
