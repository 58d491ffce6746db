//===- PlaceLanes.h - Vectors of values at places ------------- -*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// C for values whose elements may be those of pads and concatenations, or lie
// where a computed index says: in vectors of neighbours where one condition is
// that of all lanes, else lane by lane.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_FAMILIES_PLACELANES_H
#define FASTK_LIB_FAMILIES_PLACELANES_H

#include "HeaderText.h"
#include "fastk/Families/Machine.h"
#include "fastk/Families/PlacedLoad.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fastk::families {

/// How lanes lie: at neighbours along a variable, or `step` apart.
struct PlacedWalk {
  std::optional<unsigned> var;
  std::vector<catalog::MergedVars> merged;
  int64_t step = 1;
  /// Variables that stand for others in a part of their range.
  std::set<unsigned> narrow = {};
};

/// A header whose functions compute values at places in lanes.
class PlaceLanes : protected HeaderText {
protected:
  PlaceLanes(catalog::Program program, const catalog::Machine &machine,
             llvm::ArrayRef<GatheredIndex> gathered = {});

  /// Writes lines that use a value, of vectors where the scope has a
  /// `vectorVar`; of one lane, number `lane`, where it has none.
  using Evaluation = llvm::function_ref<void(catalog::Scope &)>;

  int64_t extentOf(std::optional<unsigned> var) const {
    return var ? program.vars[*var].extent : 1;
  }
  /// Lines for one vector, all of it where `partial` is empty, or for one
  /// element. Nothing, and the program is as before: \p why says what has no
  /// such text.
  std::optional<std::string> tryLines(const PlacedWalk &walk, bool isVector,
                                      llvm::StringRef partial, unsigned indent,
                                      Evaluation evaluate, std::string &why);
  /// Lines for all lanes, and for the first `count`; lane by lane where no
  /// vector has a text. The variable is declared as \p index, C of the first
  /// lane.
  std::string lanesText(const PlacedWalk &walk, llvm::StringRef index,
                        unsigned indent, Evaluation evaluate);
  /// Lines that declare variables of narrower ranges, but for that of lanes.
  std::string narrowedText(const PlacedWalk &walk, unsigned indent) const;
  /// Lines for one element, whose variables are declared.
  std::string elementText(const PlacedWalk &walk, unsigned indent,
                          Evaluation evaluate);
  /// Whether vectors have a text.
  bool hasLanes(const PlacedWalk &walk, Evaluation evaluate);
  /// How much there is to do for a vector, or for as many elements.
  int64_t workOf(const PlacedWalk &walk, Evaluation evaluate);

private:
  /// What computed indices of a text are known as, and those that each lane has
  /// of its own.
  struct Declared {
    std::set<unsigned> all, ofLanes;
  };
  void prepare(catalog::Scope &scope, std::string &lines, unsigned indent);
  void heedIndices(catalog::Scope &scope,
                   const std::shared_ptr<Declared> &declared);
  /// Elements at indices that lanes have of their own; nothing: they have none.
  std::optional<catalog::CValue> loadApart(catalog::Scope &scope,
                                           const std::set<unsigned> &ofLanes,
                                           const catalog::Buffer &buffer,
                                           const catalog::Lin &place);

  llvm::ArrayRef<GatheredIndex> gathered;

protected:
  /// Products are rounded: another stage may compute the same one, of which
  /// this subtracts a maximum.
  bool roundsProducts = true;
};

/// Values from `begin` to `end`.
struct ValueRange {
  int64_t begin = 0, end = 1;
};
/// Those of a variable for which all guards hold that are of it alone.
ValueRange insideOf(llvm::ArrayRef<PlacedLoad> loads, unsigned var,
                    int64_t extent);

/// A variable's range as a walk of its own: \p walk with `begin` as the first
/// value of a new variable of `extent` values.
PlacedWalk narrowed(catalog::Program &program, const PlacedWalk &walk,
                    unsigned var, int64_t begin, int64_t extent);

} // namespace fastk::families

#endif // FASTK_LIB_FAMILIES_PLACELANES_H
