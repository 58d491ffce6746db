//===- AdmitFamily.h - Families are admitted on evidence --------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Instances of a family for random workloads are judged. Where all are right,
// evidence.json beside the family says so; where one is not, there is none.
// Nothing is narrowed on the way: what a family may be used for is its author's
// to say.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_DRIVER_ADMITFAMILY_H
#define FASTK_DRIVER_ADMITFAMILY_H

#include "fastk/Driver/SearchModel.h"
#include "fastk/Families/Evidence.h"
#include "mlir/IR/MLIRContext.h"

namespace fastk {

struct AdmitOptions {
  /// Of the family.
  std::string folder;
  uint64_t seed = 0;
  /// Workloads that are judged. Of fewer than kMinSamples no evidence is
  /// written: that is a trial, for an author at work.
  size_t samples = families::kMinSamples;
  /// In which instances must be right.
  Precision precision = Precision::ieee;
};

/// Done: all instances are right. Refused: some are not.
enum class AdmitEnd { Done, Refused, Pending, Interrupted };

struct AdmitResult {
  AdmitEnd end = AdmitEnd::Done;
  /// What was found out, for people, of an admission that is done or refused.
  std::string text;
};

/// Admits a family, evaluated by whom the settings name. An error means that
/// nothing could be found out.
llvm::Expected<AdmitResult> admitFamily(const AdmitOptions &options,
                                        const SearchSettings &settings,
                                        const SearchRequest &request,
                                        mlir::MLIRContext *context);

/// The same with an evaluator.
llvm::Expected<AdmitResult> admitFamily(const AdmitOptions &options,
                                        llvm::StringRef target,
                                        Evaluator &evaluator,
                                        const SearchRequest &request,
                                        mlir::MLIRContext *context);

} // namespace fastk

#endif // FASTK_DRIVER_ADMITFAMILY_H
