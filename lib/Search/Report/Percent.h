//===- Percent.h - Ratios as people read them -------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_SEARCH_REPORT_PERCENT_H
#define FASTK_LIB_SEARCH_REPORT_PERCENT_H

#include <string>

namespace fastk {

/// "101.5 %".
std::string percent(double ratio);

} // namespace fastk

#endif // FASTK_LIB_SEARCH_REPORT_PERCENT_H
