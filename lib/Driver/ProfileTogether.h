//===- ProfileTogether.h - Many default lowerings at once -------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_DRIVER_PROFILETOGETHER_H
#define FASTK_LIB_DRIVER_PROFILETOGETHER_H

#include "SearchTarget.h"
#include <functional>

namespace fastk {

/// Measures the default lowerings of the wanted ones of `targets` on workers
/// that are waited for: begins the search of each, asks for its first
/// evaluation, and leaves it. What is answered before `isLate` is in the
/// journals, where the searches find it; what is not, they ask for again. Says
/// in `targets` what it took.
llvm::Error profileTogether(const SearchRun &run,
                            llvm::MutableArrayRef<SearchTarget> targets,
                            const std::function<bool()> &isLate);

} // namespace fastk

#endif // FASTK_LIB_DRIVER_PROFILETOGETHER_H
