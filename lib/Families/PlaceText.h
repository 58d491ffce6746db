//===- PlaceText.h - Loads at places of an index space -------- -*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_FAMILIES_PLACETEXT_H
#define FASTK_LIB_FAMILIES_PLACETEXT_H

#include "HeaderText.h"
#include "fastk/Families/PlacedLoad.h"
#include <optional>
#include <string>

namespace fastk::families {

/// Has a scope choose pieces, and collects what it loads, each once, and the
/// walks that must agree for variables to merge.
void collectLoads(catalog::Scope &scope, std::vector<PlacedLoad> &loads,
                  llvm::SmallVectorImpl<catalog::Lin> &walks);

/// A header whose functions take a Place: an index in merged dimensions.
class PlaceText : public HeaderText {
public:
  /// \p vars: outermost first, none of one element; \p elements: of all.
  PlaceText(catalog::Program program, llvm::ArrayRef<unsigned> vars,
            llvm::ArrayRef<catalog::MergedVars> merged, int64_t elements);

  int64_t extentOf(std::optional<unsigned> var) const {
    return var ? program.vars[*var].extent : 1;
  }
  /// Halves `vector` until as many neighbours follow each other.
  void setVector(int64_t most);
  /// Neighbours that one access loads, or that share one element.
  int64_t widthOf(const PlacedLoad &load) const;

  /// The types of elements, how they are moved, the operands of a workload's
  /// body and the type Index.
  void writePlaceTypes(mlir::Block &body, catalog::Elem result);
  void writePlaceStruct();
  /// A struct with what is loaded, and its size.
  void writeValues(llvm::StringRef name, llvm::ArrayRef<PlacedLoad> loads);
  static int64_t bytesOfValues(llvm::ArrayRef<PlacedLoad> loads);
  /// Variables of a place by their names, but for `except`.
  void writeVarsOf(llvm::StringRef place,
                   std::optional<unsigned> except = std::nullopt);
  /// The end of a function that returns the place of all variables.
  void writeMadePlace();
  /// Loads `vector` neighbours from p on into `array[j]`. Where its place is
  /// computed, it is so of \p loads.
  void writeLoad(const PlacedLoad &load, unsigned number,
                 llvm::StringRef array = "v",
                 llvm::ArrayRef<PlacedLoad> loads = {});
  /// Lines that define those of \p vars that are computed indices, of what is
  /// loaded into `value`. What is out of range counts as 0.
  std::string indexText(std::set<unsigned> vars,
                        llvm::ArrayRef<PlacedLoad> loads, llvm::StringRef value,
                        unsigned indent);
  /// Has a scope compute of what is loaded into `value`.
  void prepare(catalog::Scope &scope, llvm::ArrayRef<PlacedLoad> loads,
               llvm::StringRef value = "v");

  static std::string memberOf(unsigned number) {
    return "l" + std::to_string(number);
  }

protected:
  llvm::SmallVector<unsigned> vars;
  llvm::SmallVector<catalog::MergedVars> merged;
  llvm::ArrayRef<GatheredIndex> gathered;
  /// The variable along which neighbours are computed together.
  std::optional<unsigned> inner;
  int64_t elements, vector = 1;

private:
  bool isUniform(const catalog::Guard &guard, int64_t width) const;
  bool isOneAccess(const PlacedLoad &load, int64_t width) const;
  std::string conditionOf(const PlacedLoad &load);
};

} // namespace fastk::families

#endif // FASTK_LIB_FAMILIES_PLACETEXT_H
