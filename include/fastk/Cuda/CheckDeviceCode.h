//===- CheckDeviceCode.h - What device code may not do ----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Looks at the PTX that came out of the compiler, not at the source: macros,
// line splices, digraphs and pasted tokens are gone there, and `asm` cannot
// hide, for its text stands in the PTX as it is.
//
// Refused, because a candidate could cheat with it or take the device down:
//
//   * memory that outlives a launch: `.global` variables that something names,
//     unless initialised; these and constants, unless their addresses feed
//     loads only; tables of addresses; the device heap; managed memory
//   * functions from outside: printf, assert, malloc, device-side launches
//   * traps, breakpoints, performance counters; clocks and launch counters
//   * calls through pointers, and with other arguments than the function takes
//   * textures, surfaces, tensor maps written by device code
//   * every instruction, directive and special register that is not known here
//
// This is the first look, with the best messages. What a text cannot show is
// decided on the machine code (checkCubin) and on memory (ModuleWatch.h).
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_CUDA_CHECKDEVICECODE_H
#define FASTK_CUDA_CHECKDEVICECODE_H

#include <string>
#include <string_view>
#include <vector>

namespace fastk::cuda {

struct Refusal {
  /// "global-variable", "external-function", "instruction",
  /// "special-register", "indirect-call", "directive", "lexical", "call",
  /// "machine-code".
  std::string rule;
  /// What and why, with the remedy.
  std::string text;
  /// Of the PTX, from 1; 0 where it is not known.
  size_t line = 0;
};

/// All refusals of a module, at most 16. Empty: it may run. \p ptx must be what
/// the cubin was made of.
std::vector<Refusal> checkDeviceCode(std::string_view ptx);

/// Those of machine code that came of such PTX: data that could carry
/// something from one launch to the next in a way that cannot be watched
/// (ModuleWatch.h). Decided on sections and relocations.
std::vector<Refusal> checkCubin(std::string_view cubin);

/// One text of them, one a line.
std::string describe(const std::vector<Refusal> &refusals);

/// The same in PTX that somebody wrote as \p file: "kernel.ptx:12: ...".
std::string describe(const std::vector<Refusal> &refusals,
                     std::string_view file);

} // namespace fastk::cuda

#endif // FASTK_CUDA_CHECKDEVICECODE_H
