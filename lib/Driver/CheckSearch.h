//===- CheckSearch.h - What a search needs, looked at first -----*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_DRIVER_CHECKSEARCH_H
#define FASTK_LIB_DRIVER_CHECKSEARCH_H

#include "SearchTarget.h"

namespace fastk {

/// An error where a search could not evaluate anything, or could not store what
/// it finds: an evaluator that does not work, a bank, a journal or a report
/// that cannot be written, a full disk. Looks at nothing where none of
/// `targets` is searched.
llvm::Error checkSearch(const SearchRun &run,
                        llvm::ArrayRef<SearchTarget> targets);

} // namespace fastk

#endif // FASTK_LIB_DRIVER_CHECKSEARCH_H
