//===- ProfileModel.h - Where the time of a model goes ----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_DRIVER_PROFILEMODEL_H
#define FASTK_LIB_DRIVER_PROFILEMODEL_H

#include "SearchTarget.h"
#include "fastk/Search/ModelShares.h"

namespace fastk {

/// What the model consists of, and what of its time is known: of workloads with
/// a winner by its record, of others by measuring them where that can be done
/// at once and costs little beside the search. Says in `targets` what that
/// took.
llvm::Expected<std::vector<ModelPart>>
profileModel(const SearchRun &run, llvm::MutableArrayRef<SearchTarget> targets);

} // namespace fastk

#endif // FASTK_LIB_DRIVER_PROFILEMODEL_H
