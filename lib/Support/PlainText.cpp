//===- PlainText.cpp - Text of strangers on a terminal --------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Support/PlainText.h"

using namespace fastk;

std::string fastk::plainText(llvm::StringRef text) {
  std::string plain;
  for (size_t at = 0; at < text.size(); ++at) {
    unsigned char c = text[at];
    unsigned char next = at + 1 < text.size() ? text[at + 1] : 0;
    bool isC1 = c == 0xc2 && next >= 0x80 && next <= 0x9f;
    bool isControl = c < 0x20 || c == 0x7f || isC1;
    plain += isControl ? ' ' : text[at];
    at += isC1;
  }
  return plain;
}
