//===- Choices.h - Enums whose values users name ----------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One list of names for each enum, for options of tools and of passes.
// llvm::cl::values would do for passes, but what it says of a wrong value does
// not name the right ones.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_SUPPORT_CHOICES_H
#define FASTK_SUPPORT_CHOICES_H

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Error.h"
#include <iterator>
#include <string>

namespace fastk {

/// An enum that has names, by a specialisation with
///   static constexpr llvm::StringLiteral kind = "fusion";
///   static constexpr Fusion values[] = {...}; // as a message lists them
///   static llvm::StringRef name(Fusion value);
template <typename Enum>
struct Choices;

/// The value of that name, or "unknown fusion 'all': choose op, greedy or
/// whole". `dashes` is what the option's name begins with, in the message.
template <typename Enum>
llvm::Expected<Enum> parseChoice(llvm::StringRef text,
                                 llvm::StringRef dashes = "") {
  std::string known;
  for (const Enum &value : Choices<Enum>::values) {
    llvm::StringRef name = Choices<Enum>::name(value);
    if (text == name)
      return value;
    if (&value != std::begin(Choices<Enum>::values))
      known += &value + 1 == std::end(Choices<Enum>::values) ? " or " : ", ";
    known += name;
  }
  return llvm::createStringError("unknown " + dashes + Choices<Enum>::kind +
                                 " '" + text + "': choose " + known);
}

/// What llvm::cl::parser of such an enum is derived from, for options of it.
template <typename Enum>
class ChoiceParser : public llvm::cl::basic_parser<Enum> {
public:
  using llvm::cl::basic_parser<Enum>::basic_parser;

  /// True where there is no such value, which is told.
  bool parse(llvm::cl::Option &option, llvm::StringRef, llvm::StringRef text,
             Enum &value) {
    if (llvm::Error error = parseChoice<Enum>(text).moveInto(value))
      return option.error(llvm::toString(std::move(error)));
    return false;
  }
  static void print(llvm::raw_ostream &os, const Enum &value) {
    os << Choices<Enum>::name(value);
  }
  void printOptionDiff(const llvm::cl::Option &option, const Enum &,
                       const llvm::cl::OptionValue<Enum> &,
                       size_t width) const {
    this->printOptionNoValue(option, width);
  }
  llvm::StringRef getValueName() const override { return "string"; }
};

} // namespace fastk

#endif // FASTK_SUPPORT_CHOICES_H
