//===- DeviceCodeRules.h - What may appear in device code -------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CUDA_DEVICECODERULES_H
#define FASTK_LIB_CUDA_DEVICECODERULES_H

#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace fastk::cuda {

/// Instructions that may appear. Everything here computes, moves data between
/// registers and memory, or orders threads of one launch.
extern const std::set<std::string_view> allowedInstructions;
/// Why some others may not.
extern const std::map<std::string_view, const char *> refusedInstructions;
/// Special registers that may be read: where a thread stands in its launch.
extern const std::set<std::string_view> allowedRegisters;
/// Special registers that may not, by prefix; redeclaring their names does not
/// help.
extern const std::vector<std::pair<std::string_view, const char *>>
    refusedRegisters;
/// Why lines of a source may not be named.
extern const char *const debugInformation;
/// Directives that may stand in a function, or before its body.
extern const std::set<std::string_view> allowedDirectives;

} // namespace fastk::cuda

#endif // FASTK_LIB_CUDA_DEVICECODERULES_H
