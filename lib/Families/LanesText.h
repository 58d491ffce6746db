//===- LanesText.h - Functions of vectors in C ---------------- -*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What headers for the host have in common. Functions of vectors are written
// three times: for all lanes along a group of loops that is one index to all
// that is loaded; or, where it is none, for lanes that lie in its innermost
// loop, and lane by lane for the others.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_FAMILIES_LANESTEXT_H
#define FASTK_LIB_FAMILIES_LANESTEXT_H

#include "HeaderText.h"
#include "fastk/Families/SummedProducts.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace fastk::families {

/// Has a header's program be in C, for one machine.
void setUpHost(HeaderText &header, const catalog::Machine &machine);
/// The core, with the text behind the types and helpers that programs for the
/// host use. Nothing: \p why says what has no text.
std::optional<CoreInstance> takeHostCore(HeaderText &header, std::string &why);

/// About how many instructions lines of C are.
int64_t workOfLines(llvm::StringRef lines);

/// Whether something that is loaded by `compute` lies together along a group.
bool isAlong(const HeaderText &header, llvm::ArrayRef<unsigned> group,
             llvm::function_ref<void(catalog::Scope &)> compute);

/// Lines that compute a vector along `group`, by `compute`, in lanes up to
/// `count`, and leave the function; where they do not, another way follows.
void writeLanes(
    HeaderText &header, llvm::ArrayRef<unsigned> group, llvm::StringRef index,
    llvm::function_ref<void(catalog::Program &, catalog::Scope &)> compute);
/// The other way of a function that returns a vector: `element`, in lane i.
void writeLaneByLane(HeaderText &header, const llvm::Twine &element);

/// The end of a function that returns a value, which `body` computes, as an
/// element of the result.
void writeReturn(HeaderText &header, catalog::Elem result, llvm::StringRef body,
                 const catalog::CValue &value);
/// Lines that store lanes along `group`, those of the result at `place`, and
/// leave the function, as of writeLanes().
void writeStoredLanes(
    HeaderText &header, llvm::ArrayRef<unsigned> group, llvm::StringRef index,
    catalog::Elem result, const catalog::Lin &place,
    llvm::function_ref<catalog::CValue(catalog::Program &, catalog::Scope &)>
        compute);

/// What becomes of a sum, "acc": an element of the result.
catalog::CValue finishValue(const SummedProducts &products,
                            catalog::Program &of, catalog::Scope &scope,
                            bool isVector);
/// Whether an element of the result is the f32 sum itself.
bool finishIsSum(const HeaderText &header, const SummedProducts &products);
/// Lines that return what becomes of a sum, as an element of the result.
void writeFinishBody(HeaderText &header, const SummedProducts &products);
/// Lines that store what becomes of the lanes of "acc" along `group`.
void writeFinishLanes(HeaderText &header, const SummedProducts &products,
                      llvm::ArrayRef<unsigned> group, llvm::StringRef index);

} // namespace fastk::families

#endif // FASTK_LIB_FAMILIES_LANESTEXT_H
