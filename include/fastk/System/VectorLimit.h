//===- VectorLimit.h - The widest vectors that code may use -----*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_SYSTEM_VECTORLIMIT_H
#define FASTK_SYSTEM_VECTORLIMIT_H

namespace fastk {

/// In bytes: 32 where FASTK_VECTOR_BYTES is that, else 64. With 32 a machine
/// with AVX-512 is one with AVX2 for whatever is compiled, searched and
/// admitted: what is for such machines can be judged on it.
unsigned vectorLimit();

/// For main(): false where FASTK_VECTOR_BYTES is neither 32 nor 64, after an
/// error that \p program says.
bool checkVectorLimit(const char *program);

/// As vectorLimit(), of the variable's value; null: it is not set. 0: it is
/// neither 32 nor 64.
unsigned parseVectorLimit(const char *value);

} // namespace fastk

#endif // FASTK_SYSTEM_VECTORLIMIT_H
