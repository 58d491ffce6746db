//===- PlacedLoad.h - An element that is loaded -----------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_FAMILIES_PLACEDLOAD_H
#define FASTK_FAMILIES_PLACEDLOAD_H

#include "fastk/Families/Emitter.h"
#include <set>

namespace fastk::families {

/// What is loaded for an element, where it is needed: `place` and `guards` are
/// in the variables of the core's program.
struct PlacedLoad {
  catalog::Buffer buffer;
  catalog::Lin place;
  llvm::SmallVector<catalog::Guard> guards;
  /// Nothing else loads the element.
  bool isOnce = false;
  /// Places of other loads are computed of it.
  bool isIndex = false;

  bool isSameAs(const PlacedLoad &other) const {
    return buffer.pointer == other.buffer.pointer && place == other.place &&
           guards == other.guards;
  }
};

/// A computed index as a variable of the core's program, which places and
/// guards have as any other.
struct GatheredIndex : catalog::ComputedIndex {
  unsigned var = 0;
  /// The variables of the index space that it depends on.
  std::set<unsigned> moves;
};

} // namespace fastk::families

#endif // FASTK_FAMILIES_PLACEDLOAD_H
