//===- DrawSum.h - Random surroundings of sums of products ---- -*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_FAMILIES_DRAWSUM_H
#define FASTK_LIB_FAMILIES_DRAWSUM_H

#include "Draw.h"
#include "fastk/Families/SumText.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/Twine.h"

namespace fastk::families {

/// Draws how factors are made and what becomes of a sum. What it draws it also
/// says, in words.
class DrawSum : public Draw {
public:
  using Draw::Draw;

protected:
  /// One in `rarity` factors is computed. `drawScale` is asked for dimensions
  /// where an operand scales it.
  std::string drawPrologue(SumText::Prologue &prologue, const std::string &type,
                           uint64_t rarity,
                           llvm::function_ref<std::string()> drawScale);

  /// What becomes of a sum is drawn between these two.
  void beginTail(SumText &text);
  void endTail();
  std::string addScale(const std::string &dims);
  std::string drawBias(const std::string &dims);
  std::string drawActivation();
  std::string drawResidual();

private:
  /// Adds a line that makes the next value of the last one.
  void addStep(const llvm::Twine &operation);
  void addConstant(llvm::StringRef name, llvm::StringRef value);
  std::string addOperand(llvm::StringRef name, std::string dims);

  SumText *text = nullptr;
  /// The value that the next line of the tail works on, and how many there are.
  std::string last;
  unsigned steps = 0;
};

} // namespace fastk::families

#endif // FASTK_LIB_FAMILIES_DRAWSUM_H
