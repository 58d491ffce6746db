//===- Gathers.h - Places that are computed of elements ------- -*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A computed index is a variable of the program that no loop counts. So a
// gather from a slice, a pad or a transposed tensor is an element at a linear
// place as any other, and its variable is defined where that is loaded.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_FAMILIES_GATHERS_H
#define FASTK_LIB_FAMILIES_GATHERS_H

#include "fastk/Families/PlacedLoad.h"

namespace fastk::families {

/// As collectLoads(), of a scope of \p program that may gather: loads that
/// places are computed of come first. Computed indices that \p gathered does
/// not have yet are added to it, with a new variable of the program.
void collectGathers(catalog::Scope &scope, catalog::Program &program,
                    std::vector<PlacedLoad> &loads,
                    llvm::SmallVectorImpl<catalog::Lin> &walks,
                    std::vector<GatheredIndex> &gathered);

/// Has a scope know computed indices by their variables.
void nameGathers(catalog::Scope &scope, llvm::ArrayRef<GatheredIndex> gathered);

/// The variables of computed indices that the place of a load has, or where it
/// is there.
std::set<unsigned> indicesOf(const PlacedLoad &load,
                             llvm::ArrayRef<GatheredIndex> gathered);
/// Whether one of them depends on a variable of the index space.
bool isComputedWith(const PlacedLoad &load, unsigned var,
                    llvm::ArrayRef<GatheredIndex> gathered);

} // namespace fastk::families

#endif // FASTK_LIB_FAMILIES_GATHERS_H
