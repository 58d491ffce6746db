//===- FormatSeconds.h - Times as a reader wants them -----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_SYSTEM_FORMATSECONDS_H
#define FASTK_SYSTEM_FORMATSECONDS_H

#include <string>

namespace fastk {

/// "1.25 ms", three digits; "-" for what is not known.
std::string formatSeconds(double seconds);

} // namespace fastk

#endif // FASTK_SYSTEM_FORMATSECONDS_H
