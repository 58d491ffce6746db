//===- WithNumbers.cpp - C programs that compile faster -------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WithNumbers.h"
#include "fastk/Families/Numbers.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace fastk;

std::string fastk::test::withNumbers(llvm::StringRef program) {
  const families::Names names = families::readNumbers(program).names;
  std::string text;
  llvm::raw_string_ostream stream(text);
  for (llvm::StringRef line : llvm::split(program, '\n')) {
    llvm::StringRef rest = line.split("//").first.trim();
    llvm::StringRef name, value;
    if (rest.consume_front("#define ") && !rest.ends_with("\\"))
      std::tie(name, value) = rest.split(' ');
    auto found = names.find(name.str());
    if (found == names.end() || value.find_first_of("?(") == value.npos) {
      stream << line << '\n';
      continue;
    }
    stream << "_Static_assert((" << value << ") == " << found->second
           << " && __builtin_types_compatible_p(__typeof__(" << value
           << "), int), \"" << name << "\");\n#define " << name << " ("
           << found->second << ")\n";
  }
  return text;
}
