//===- SearchBoundaries.h - One workload, or two? ---------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_DRIVER_SEARCHBOUNDARIES_H
#define FASTK_DRIVER_SEARCHBOUNDARIES_H

#include "fastk/Driver/SearchModel.h"

namespace fastk {

/// Searches as searchModel() does, the workloads of `module` first and then
/// those that they can be cut into by the fusion of `options`, and stores for
/// each region what is faster: the winner of the whole, or those of its parts.
/// The winner of a part cuts every workload without a winner that it lies in,
/// so a part is stored only where that pays for all of them. Winners that were
/// found and are not stored stay in the bank `<journal>/boundaries`, where the
/// next run finds them. Takes two thirds of the budget for the first, the rest
/// for the second.
llvm::Expected<SearchModelEnd>
searchBoundaries(mlir::ModuleOp module, BankStack &banks,
                 WorkloadMatcher &matcher, Evaluator &evaluator,
                 const SearchModelOptions &options);

} // namespace fastk

#endif // FASTK_DRIVER_SEARCHBOUNDARIES_H
