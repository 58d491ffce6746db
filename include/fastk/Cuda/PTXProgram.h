//===- PTXProgram.h - A variant in PTX, before it is assembled --*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A variant in the language `ptx` is text from anywhere. All that it may not
// do is told here, without an assembler and without a GPU, with the line: what
// no device code may do (CheckDeviceCode.h), what it says it was made for, and
// whether the plan launches its entries as they are declared.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_CUDA_PTXPROGRAM_H
#define FASTK_CUDA_PTXPROGRAM_H

#include "fastk/Cuda/CheckDeviceCode.h"
#include "fastk/Protocol/LaunchPlan.h"
#include <optional>

namespace fastk::cuda {

/// An `.entry` with a body.
struct PTXEntry {
  std::string_view name;
  /// Where it is declared, from 1.
  size_t line = 0;
  /// Bytes of each parameter, in order; 0 where the text does not tell.
  std::vector<uint64_t> parameters;
  /// `.reqntid` and `.reqnctapercluster`.
  std::optional<worker::Dim3> block, cluster;
  /// The threads of `.maxntid`.
  std::optional<int64_t> maxThreads;
};

/// The entries of \p ptx, which must outlive them; those of a text that is no
/// PTX are none.
std::vector<PTXEntry> readPTXEntries(std::string_view ptx);

/// Why \p ptx may not be launched by \p plan on a device of \p arch ("sm_90a"),
/// at most 16 reasons, each with its line. Empty: it may be assembled.
std::vector<Refusal> checkPTXProgram(std::string_view ptx,
                                     const worker::LaunchPlan &plan,
                                     std::string_view arch);

} // namespace fastk::cuda

#endif // FASTK_CUDA_PTXPROGRAM_H
