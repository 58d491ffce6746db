//===- Expression.h - Integer expressions of plans and rules ----*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An expression is read once and evaluated for many values: a family's rules
// and its estimate are asked of each choice of its numbers.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_FAMILIES_EXPRESSION_H
#define FASTK_FAMILIES_EXPRESSION_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fastk::families {

/// Names, each with a place.
class NameTable {
public:
  /// The place of a name, which is new where nobody has asked for it.
  unsigned placeOf(llvm::StringRef name);
  llvm::StringRef nameAt(unsigned place) const { return names[place]; }
  size_t size() const { return names.size(); }

private:
  llvm::StringMap<unsigned> places;
  /// Keys of the map.
  std::vector<llvm::StringRef> names;
};

/// What is known of a name. A macro may be defined and have no number.
struct NameValue {
  int64_t number = 0;
  bool hasNumber = false, isDefined = false;
};

/// Integers, names, + - * / %, comparisons, && || ! and ?: with the precedence
/// of C, parentheses, ceildiv(a, b), min(a, ...), max(a, ...). Division rounds
/// towards zero; what is true is 1. All operands are evaluated, so that what is
/// wrong in one shows whatever the sizes; of a choice the part that is not
/// taken may divide by zero or overflow.
class Expression {
public:
  enum class Kind {
    Number,
    /// Of `#if`: `defined(NAME)` is known, and a name that is no macro is 0.
    /// What depends on the compiler's own names, as __CUDA_ARCH__, is unknown.
    Condition
  };
  /// Nothing: \p problem says why.
  static std::optional<Expression> read(llvm::StringRef text, NameTable &table,
                                        std::string &problem,
                                        Kind kind = Kind::Number);
  /// Of names at their places; what is beyond the list is unknown.
  std::optional<int64_t> evaluate(llvm::ArrayRef<NameValue> values) const;
  /// Why evaluate() has nothing.
  std::string explain(llvm::ArrayRef<NameValue> values,
                      const NameTable &table) const;

private:
  friend class ExpressionReader;
  friend class ExpressionValue;
  enum class Op : uint8_t {
    Number,
    Name,
    Macro,
    Defined,
    Unknown,
    Not,
    Negate,
    Multiply,
    Divide,
    Remainder,
    Add,
    Subtract,
    Equal,
    Unequal,
    AtMost,
    AtLeast,
    Less,
    Greater,
    And,
    Or,
    Choose,
    CeilDiv,
    Min,
    Max
  };
  struct Node {
    Op op;
    /// Nodes, or of a name its place.
    unsigned a = 0, b = 0, c = 0;
    int64_t number = 0;
  };
  /// Operands come before what uses them; the last is the whole.
  std::vector<Node> nodes;
};

/// "the expression 'N * ...': ", as far as a message quotes it.
std::string quoted(llvm::StringRef expression);

} // namespace fastk::families

#endif // FASTK_FAMILIES_EXPRESSION_H
