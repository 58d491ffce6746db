//===- CombinedText.h - Elements that are combined ------------ -*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_FAMILIES_COMBINEDTEXT_H
#define FASTK_LIB_FAMILIES_COMBINEDTEXT_H

#include "PlaceText.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace fastk::families {

/// A header of elements that are combined, as by scans and windows: of type
/// Sum, in registers.
class CombinedText : public PlaceText {
public:
  using PlaceText::PlaceText;

protected:
  static std::string sumTypeOf(catalog::Elem elem) {
    return registerType(computeElem(elem), false);
  }
  /// What each of `count` neighbours of a place p becomes.
  void writeEach(llvm::StringRef type, llvm::StringRef count,
                 llvm::StringRef to, llvm::StringRef from);
  /// element() of what is loaded at a place, and elements() of `count`
  /// neighbours, which a comment calls `neighbours`.
  void
  writeElements(llvm::ArrayRef<PlacedLoad> loads, catalog::Elem elem,
                llvm::StringRef count, llvm::StringRef neighbours,
                llvm::function_ref<catalog::CValue(catalog::Scope &)> element);
  /// combine() and neutral().
  void writeCombiner(catalog::CombinerKind kind, catalog::Elem elem);
};

} // namespace fastk::families

#endif // FASTK_LIB_FAMILIES_COMBINEDTEXT_H
