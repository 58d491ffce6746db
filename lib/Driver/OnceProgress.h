//===- OnceProgress.h - Progress of a search that asks again ----*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_DRIVER_ONCEPROGRESS_H
#define FASTK_LIB_DRIVER_ONCEPROGRESS_H

#include "fastk/Search/Progress.h"
#include <memory>

namespace fastk {

/// Shows on `shown` what was not shown before: a search that waits for answers
/// comes by what it found each time that it goes on.
std::unique_ptr<SearchProgress>
createOnceProgress(std::unique_ptr<SearchProgress> shown);

} // namespace fastk

#endif // FASTK_LIB_DRIVER_ONCEPROGRESS_H
