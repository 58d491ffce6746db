//===- ContractionMacros.h - A contraction as macros ---------- -*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_FAMILIES_CONTRACTIONMACROS_H
#define FASTK_LIB_FAMILIES_CONTRACTIONMACROS_H

#include "HeaderText.h"
#include "fastk/Families/Contraction.h"

namespace fastk::families {

/// What the headers of a contraction in CUDA-C and in C have in common.
class ContractionMacros : public HeaderText {
public:
  explicit ContractionMacros(const Contraction &contraction)
      : HeaderText(contraction.program), contraction(contraction) {}

protected:
  void writeMacros();
  void writeResultVars(llvm::StringRef type = "i32") {
    writeVars(contraction.batch, "b", type);
    writeVars(contraction.m, "m", type);
    writeVars(contraction.n, "n", type);
  }

  const Contraction &contraction;

private:
  void writeSide(llvm::StringRef name, const ContractionSide &side);
  void writeResult();
};

} // namespace fastk::families

#endif // FASTK_LIB_FAMILIES_CONTRACTIONMACROS_H
