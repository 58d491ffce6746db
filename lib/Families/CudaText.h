//===- CudaText.h - Element types and functions in CUDA-C -------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_FAMILIES_CUDATEXT_H
#define FASTK_LIB_FAMILIES_CUDATEXT_H

#include "fastk/Families/Emitter.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace fastk::families {

/// "f16": elements of a buffer. Halves convert to float, and from it by name.
std::string cudaType(catalog::Elem elem);

/// Definitions of types and of the functions that emitted text calls. \p
/// isFast: functions that are off by up to 2e-6 of their value, or of 1 where
/// that is more (exp beyond 20 by 4e-6), which rounding to 16 bits hides;
/// others are those of CUDA.
std::string cudaTypes(bool isFast);
/// log1p in the same way, where \p text calls it: nothing else gets it, so that
/// headers without it, which evidence is of, stay as they are.
std::string fastLog1pFor(llvm::StringRef text);
/// All of these, in front of \p text whose types come without.
std::string fastFunctionsFor(llvm::StringRef text);

/// The same names in C, as the text of what follows needs them.
inline constexpr llvm::StringLiteral kTypesOfC = "typedef _Float16 f16;\n"
                                                 "typedef uint16_t bf16;\n";

/// The widest access of one thread, and definitions of what moves neighbouring
/// elements: loadTogether() and storeTogether().
inline constexpr int64_t kVectorBytes = 16;
std::string vectorText();
/// storeAll(): storeTogether(), or past the caches.
std::string streamText();

/// Whether the text is a zero, as the emitter writes it.
bool isZero(llvm::StringRef text);

} // namespace fastk::families

#endif // FASTK_LIB_FAMILIES_CUDATEXT_H
