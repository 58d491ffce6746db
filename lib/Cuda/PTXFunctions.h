//===- PTXFunctions.h - The functions of PTX and their flow -----*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As much structure as a look at synchronisation needs: functions, statements
// and which may follow which. Not a verifier: the assembler has read the same
// text.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_CUDA_PTXFUNCTIONS_H
#define FASTK_LIB_CUDA_PTXFUNCTIONS_H

#include "PTXTokens.h"

namespace fastk::cuda {

struct PTXStatement {
  /// Bytes of the text, from the guard or the opcode to behind the ';'.
  size_t begin = 0, end = 0;
  /// The opcode with its suffixes, then the operands; no guard, no ';'.
  std::vector<PTXToken> tokens;
  bool isGuarded = false;
  /// The predicate of the guard, and whether it is executed where that is
  /// false.
  PTXToken guard;
  bool isGuardNegated = false;
  /// Statements of the same function that may be next; of a guarded jump the
  /// target first.
  std::vector<size_t> next;

  PTXToken opcode() const { return tokens[0]; }
  /// Whether the opcode has \p part between dots: "shared" is a part of
  /// "ld.shared.u32" and of "st.shared::cta.u32".
  bool has(std::string_view part) const;
  /// Whether the opcode begins so: "mbarrier", "wgmma.fence".
  bool isA(std::string_view name) const;
};

struct PTXFunction {
  std::string_view name;
  bool isEntry = false;
  /// Directives (`.reg`, `.shared`, ...) are no statements.
  std::vector<PTXStatement> statements;
};

/// The functions that have a body. False with \p error where the text cannot be
/// followed. They point into \p ptx.
bool readPTXFunctions(std::string_view ptx, std::vector<PTXFunction> &functions,
                      std::string &error);

} // namespace fastk::cuda

#endif // FASTK_LIB_CUDA_PTXFUNCTIONS_H
