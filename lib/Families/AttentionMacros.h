//===- AttentionMacros.h - What headers of attention share ----- -*- C++
//-*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_FAMILIES_ATTENTIONMACROS_H
#define FASTK_LIB_FAMILIES_ATTENTIONMACROS_H

#include "HeaderText.h"
#include "fastk/Families/Attention.h"

namespace fastk::families {

/// What the headers of attention in CUDA-C and in C have in common.
class AttentionMacros : public HeaderText {
public:
  explicit AttentionMacros(const Attention &attention)
      : HeaderText(attention.program), attention(attention) {}

protected:
  /// What it is, and BATCH, M, N, D and E.
  void writeSizes();
  void writeScoreVars(llvm::StringRef type = "i32") {
    writeVars(attention.batch, "b", type);
    writeVars(attention.m, "m", type);
    writeVars(attention.n, "n", type);
  }
  void writeResultVars(llvm::StringRef type = "i32") {
    writeVars(attention.batch, "b", type);
    writeVars(attention.m, "m", type);
    writeVars(attention.e, "e", type);
  }
  /// What becomes of "acc", a sum of weighed values that is divided already.
  catalog::CValue resultOf(catalog::Program &of, catalog::Scope &scope) const;

  const Attention &attention;
};

} // namespace fastk::families

#endif // FASTK_LIB_FAMILIES_ATTENTIONMACROS_H
