//===- Nesting.cpp - Texts that would exhaust the stack -------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Support/Nesting.h"

using namespace llvm;
using namespace fastk;

/// Counts brackets whatever they match: that is the parser's business.
static bool isDeeper(StringRef text, unsigned limit, bool isMLIR) {
  unsigned depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    switch (text[i]) {
    case '"':
      // To the end of the string; of MLIR's, at the latest to the end of its
      // line.
      for (++i;
           i < text.size() && text[i] != '"' && (!isMLIR || text[i] != '\n');
           ++i)
        i += text[i] == '\\';
      break;
    case '/':
      if (isMLIR && text.substr(i).starts_with("//"))
        i = std::min(text.find('\n', i), text.size());
      break;
    case '<':
      // "<=" opens nothing.
      if (!isMLIR || text.substr(i).starts_with("<="))
        break;
      [[fallthrough]];
    case '(':
    case '[':
    case '{':
      if (++depth > limit)
        return true;
      break;
    case '>':
      // Of "->" and ">=" neither closes anything.
      if (!isMLIR || (i > 0 && text[i - 1] == '-') ||
          text.substr(i).starts_with(">="))
        break;
      [[fallthrough]];
    case ')':
    case ']':
    case '}':
      depth -= depth > 0;
      break;
    default:
      break;
    }
  }
  return false;
}

bool fastk::isNestedDeeper(StringRef text, unsigned depth) {
  return isDeeper(text, depth, /*isMLIR=*/true);
}

bool fastk::isJSONNestedDeeper(StringRef text, unsigned depth) {
  return isDeeper(text, depth, /*isMLIR=*/false);
}

Expected<json::Value> fastk::parseShallowJSON(StringRef text) {
  if (isJSONNestedDeeper(text, kDeepestNesting))
    return createStringError(std::make_error_code(std::errc::invalid_argument),
                             "nested more than " + Twine(kDeepestNesting) +
                                 " deep");
  return json::parse(text);
}
