//===- SearchStart.h - What a search begins with ----------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_SEARCH_START_SEARCHSTART_H
#define FASTK_LIB_SEARCH_START_SEARCHSTART_H

#include "State/SearchState.h"
#include <vector>

namespace fastk {

/// The winners to begin with, as they were when the search began.
llvm::Expected<std::vector<SearchSeed>> recallSeeds(const SearchState &search);
/// The same for what similar workloads teach.
llvm::Expected<std::vector<Idea>> recallKnownIdeas(const SearchState &search);

} // namespace fastk

#endif // FASTK_LIB_SEARCH_START_SEARCHSTART_H
