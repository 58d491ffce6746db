//===- SearchLoop.h - The searches of a model's workloads -------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_DRIVER_SEARCHLOOP_H
#define FASTK_LIB_DRIVER_SEARCHLOOP_H

#include "RecordSearches.h"
#include "SearchTarget.h"
#include "fastk/Search/ModelShares.h"

namespace fastk {

/// Searches the wanted ones of `targets`, those first that can gain the most,
/// and stores what is found; `parts` is what is known of the time of each of
/// `targets`. Says what it does. Notes in `record` which searches are over.
llvm::Expected<SearchModelEnd>
searchTargets(const SearchRun &run, llvm::ArrayRef<SearchTarget> targets,
              std::vector<ModelPart> parts, RunRecord &record);

} // namespace fastk

#endif // FASTK_LIB_DRIVER_SEARCHLOOP_H
