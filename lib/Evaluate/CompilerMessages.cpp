//===- CompilerMessages.cpp - What of a compiler's output tells -----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompilerMessages.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

using namespace llvm;

std::string fastk::firstError(StringRef diagnostics) {
  constexpr StringRef kError = "error: ";
  SmallVector<StringRef> lines;
  diagnostics.split(lines, '\n', -1, /*KeepEmpty=*/false);
  ArrayRef<StringRef> rest = lines;
  auto isError = [&](StringRef line) { return line.contains(kError); };
  rest = rest.drop_until(isError);
  if (rest.empty())
    return lines.empty() ? "no diagnostic" : lines.front().str();
  StringRef line = rest.front();
  if (line.rtrim().ends_with(":"))
    if (ArrayRef<StringRef> inner = rest.drop_front().drop_until(isError);
        !inner.empty())
      return inner.front().trim().str();
  return line.drop_front(line.find(kError) + kError.size()).str();
}
