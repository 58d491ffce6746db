//===- BankPlaces.cpp - Where in a bank a winner lies ---------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BankPlaces.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace fastk;

/// Before the number.
static constexpr StringLiteral kSpread = "reductions-";

std::string fastk::fileNamePart(StringRef text, size_t limit) {
  std::string part;
  for (char c : text.take_front(limit))
    part += isAlnum(c) || c == '.' || c == '_' ? c : '_';
  while (!part.empty() && part.front() == '.')
    part.erase(part.begin());
  return part.empty() ? "unnamed" : part;
}

std::string fastk::winnerNamePrefix(StringRef name) {
  constexpr size_t kLongest = 60;
  return fileNamePart(name, kLongest) + "-";
}

std::string fastk::targetFolder(StringRef target) {
  StringRef arch = target.contains(':') ? target.split(':').second : target;
  return fileNamePart(arch, 64);
}

StringRef fastk::keyDigitsOfName(StringRef name) {
  auto [head, machine] = name.rsplit('-');
  if (machine.size() == 9 && machine.consume_front("m") &&
      all_of(machine, isHexDigit))
    name = head;
  for (const char *suffix : {"-tf32", "-half"})
    if (name.consume_back(suffix))
      break;
  StringRef tail = name.rsplit('-').second;
  bool isKey =
      tail.size() >= 8 && tail.size() <= 64 &&
      all_of(tail, [](char c) { return isDigit(c) || (c >= 'a' && c <= 'f'); });
  return isKey ? tail.take_front(8) : "";
}

std::optional<unsigned> fastk::spreadReductions(StringRef name) {
  unsigned reductions = 0;
  if (!name.consume_front(kSpread) || name.getAsInteger(10, reductions))
    return std::nullopt;
  return reductions;
}

StringRef fastk::spreadDigits(StringRef key) { return key.take_front(3); }

std::string fastk::spreadPlace(StringRef target, unsigned reductions,
                               StringRef key) {
  return (targetFolder(target) + "/" + kSpread + Twine(reductions) + "/" +
          spreadDigits(key))
      .str();
}
