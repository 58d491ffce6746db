//===- PlainText.h - Text of strangers on a terminal ------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_SUPPORT_PLAINTEXT_H
#define FASTK_SUPPORT_PLAINTEXT_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace fastk {

/// \p text with a space for each control character, C0, DEL or C1 in UTF-8: a
/// terminal would obey them. To be used where what others wrote is printed.
std::string plainText(llvm::StringRef text);

} // namespace fastk

#endif // FASTK_SUPPORT_PLAINTEXT_H
