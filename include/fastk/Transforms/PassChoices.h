//===- PassChoices.h - What options of passes choose from -------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_TRANSFORMS_PASSCHOICES_H
#define FASTK_TRANSFORMS_PASSCHOICES_H

#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "fastk/Support/Choices.h"

namespace fastk {

/// How workloads are formed: FormWorkloads.td.
enum class Fusion { Op, Greedy, Whole };

/// Where winners were measured that count.
enum class WinnersFrom {
  Here, ///< On this machine, or a GPU of the name that is compiled for.
  Any
};

template <>
struct Choices<Fusion> {
  static constexpr llvm::StringLiteral kind = "fusion";
  static constexpr Fusion values[] = {Fusion::Op, Fusion::Greedy,
                                      Fusion::Whole};
  static llvm::StringRef name(Fusion value) {
    return value == Fusion::Op       ? "op"
           : value == Fusion::Greedy ? "greedy"
                                     : "whole";
  }
};

template <>
struct Choices<WinnersFrom> {
  static constexpr llvm::StringLiteral kind = "winners-from";
  static constexpr WinnersFrom values[] = {WinnersFrom::Here, WinnersFrom::Any};
  static llvm::StringRef name(WinnersFrom value) {
    return value == WinnersFrom::Here ? "here" : "any";
  }
};

template <>
struct Choices<Precision> {
  static constexpr llvm::StringLiteral kind = "precision";
  static constexpr Precision values[] = {Precision::ieee, Precision::tf32,
                                         Precision::half};
  static llvm::StringRef name(Precision value) {
    return stringifyPrecision(value);
  }
};

} // namespace fastk

template <>
class llvm::cl::parser<fastk::Fusion>
    : public fastk::ChoiceParser<fastk::Fusion> {
public:
  using ChoiceParser::ChoiceParser;
};
template <>
class llvm::cl::parser<fastk::WinnersFrom>
    : public fastk::ChoiceParser<fastk::WinnersFrom> {
public:
  using ChoiceParser::ChoiceParser;
};
template <>
class llvm::cl::parser<fastk::Precision>
    : public fastk::ChoiceParser<fastk::Precision> {
public:
  using ChoiceParser::ChoiceParser;
};

#endif // FASTK_TRANSFORMS_PASSCHOICES_H
