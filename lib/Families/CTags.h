//===- CTags.h - Tags and constants of C types ------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_FAMILIES_CTAGS_H
#define FASTK_LIB_FAMILIES_CTAGS_H

#include "CMacros.h"
#include "CPieces.h"
#include "CText.h"
#include "llvm/ADT/ArrayRef.h"

namespace fastk::families {

/// Adds the tags of types that have a body, and the constants of enumerations,
/// wherever they stand among the words of a declaration, of which none is
/// blank. What it returns is a constant that a macro makes; empty: there is
/// none.
llvm::StringRef nameTags(llvm::ArrayRef<CToken> words,
                         llvm::StringRef declaration, const CMacros &macros,
                         std::vector<CName> &names);

} // namespace fastk::families

#endif // FASTK_LIB_FAMILIES_CTAGS_H
