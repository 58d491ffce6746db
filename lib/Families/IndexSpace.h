//===- IndexSpace.h - Variables of a result's elements -------- -*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_FAMILIES_INDEXSPACE_H
#define FASTK_LIB_FAMILIES_INDEXSPACE_H

#include "fastk/Families/Emitter.h"

namespace fastk::families {

/// Lengths of what lies behind each dimension, the outermost first: of 2x3x4
/// {24, 12, 4, 1}.
llvm::SmallVector<int64_t> pitchesOf(llvm::ArrayRef<int64_t> shape);

/// Adds the places where another shape of as many elements is cut, unless one
/// lies within a cut of before.
void refine(llvm::SmallVectorImpl<int64_t> &pitches,
            llvm::ArrayRef<int64_t> shape);

/// Variables for the result's dimensions, cut where any tensor of as many
/// elements is: a group of channels is a dimension of none of its results. The
/// result's indices in them.
llvm::SmallVector<catalog::Lin> placeResult(mlir::Value result,
                                            catalog::Program &program);

/// Leaves out of places the variables of one value.
void eraseSingles(const catalog::Program &program,
                  llvm::MutableArrayRef<catalog::Lin> places);

/// Where the result's element at \p index lies in it, in merged variables.
catalog::Lin mergedPlace(mlir::Value result, llvm::ArrayRef<catalog::Lin> index,
                         llvm::ArrayRef<catalog::MergedVars> merged,
                         catalog::Program &program);

/// Makes one variable of neighbours of a group, outermost first, that all walks
/// move with as with one.
void mergeRuns(catalog::Program &program,
               llvm::SmallVectorImpl<unsigned> &group,
               llvm::ArrayRef<catalog::Lin> walks,
               std::vector<catalog::MergedVars> &merged);

/// How many places variables have together.
int64_t sizeOf(const catalog::Program &program, llvm::ArrayRef<unsigned> group);

/// The innermost variable of a group with more than one value.
std::optional<unsigned> innermost(const catalog::Program &program,
                                  llvm::ArrayRef<unsigned> group);

/// Whether `width` neighbours along a variable begin at a multiple of `width`,
/// and lie together or are one element.
bool areTogether(const catalog::Lin &place, unsigned inner, int64_t width);

} // namespace fastk::families

#endif // FASTK_LIB_FAMILIES_INDEXSPACE_H
