//===- Novelty.cpp - Programs that differ in nothing that counts ----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Novelty.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace fastk;

/// `//` and `/* */` outside of string and character literals; white space runs
/// become one space, or one newline where they hold one: lines count for the
/// preprocessor.
static std::string withoutComments(StringRef text) {
  std::string result;
  bool space = false, newline = false;
  auto put = [&](StringRef piece) {
    if (newline)
      result += '\n';
    else if (space && !result.empty())
      result += ' ';
    space = newline = false;
    result += piece;
  };
  while (!text.empty()) {
    if (text.starts_with("//")) {
      text = text.drop_until([](char c) { return c == '\n'; });
      space = true;
    } else if (text.starts_with("/*")) {
      size_t end = text.find("*/", 2);
      text = end == StringRef::npos ? StringRef() : text.drop_front(end + 2);
      space = true;
    } else if (text.front() == '"' || text.front() == '\'') {
      size_t end = 1;
      while (end < text.size() && text[end] != text.front() &&
             text[end] != '\n')
        end += text[end] == '\\' ? 2 : 1;
      end = std::min(end + 1, text.size());
      put(text.take_front(end));
      text = text.drop_front(end);
    } else if (isSpace(text.front())) {
      space = true;
      newline |= text.front() == '\n' && !result.empty();
      text = text.drop_front();
    } else {
      put(text.take_front(1));
      text = text.drop_front();
    }
  }
  return result;
}

std::string fastk::noveltyOf(const Variant &variant) {
  // MLIR's comments are //, too, and the rest does not occur in it.
  Variant plain = variant;
  plain.program = withoutComments(variant.program);
  return digestOf(plain);
}

bool SeenPrograms::insert(const Variant &variant) {
  bool isNew = digests.insert(digestOf(variant)).second;
  isNew &= novelties.insert(noveltyOf(variant)).second;
  return isNew;
}

bool SeenPrograms::containsExactly(const Variant &variant) const {
  return digests.contains(digestOf(variant));
}

bool SeenPrograms::contains(const Variant &variant) const {
  return containsExactly(variant) || novelties.contains(noveltyOf(variant));
}
