//===- FindPython.h - The Python that has fastk -----------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_SUPPORT_FINDPYTHON_H
#define FASTK_SUPPORT_FINDPYTHON_H

#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include <string>

namespace fastk {

/// The program that $FASTK_PYTHON names, or python3, looked for in PATH. An
/// error ends with \p remedy: what needs it, what it must have, how it is
/// named.
llvm::Expected<std::string> findPython(const llvm::Twine &remedy);

} // namespace fastk

#endif // FASTK_SUPPORT_FINDPYTHON_H
