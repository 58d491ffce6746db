//===- Expression.cpp - Integer expressions of plans ----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Parameters.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace fastk;

namespace {

/// One pass over the text. After the first problem everything is nothing.
class Evaluator {
public:
  Evaluator(StringRef text, const llm::Names &names)
      : rest(text), names(names) {}

  std::optional<int64_t> run() {
    std::optional<int64_t> value = sum();
    skip();
    if (value && !rest.empty())
      return fail("unexpected '" + rest.take_front(1) + "'");
    return value;
  }

  std::string problem;

private:
  using Value = std::optional<int64_t>;

  Value fail(const Twine &why) {
    if (problem.empty())
      problem = why.str();
    return std::nullopt;
  }
  void skip() { rest = rest.ltrim(" \t"); }
  bool take(char c) {
    skip();
    return rest.consume_front(StringRef(&c, 1));
  }

  Value sum() {
    Value left = product();
    while (left) {
      bool isMinus = take('-');
      if (!isMinus && !take('+'))
        return left;
      Value right = product();
      if (!right)
        return right;
      int64_t result;
      if (isMinus ? SubOverflow(*left, *right, result)
                  : AddOverflow(*left, *right, result))
        return fail("a sum does not fit into 64 bits");
      left = result;
    }
    return left;
  }

  Value product() {
    Value left = unary();
    while (left) {
      skip();
      if (rest.empty() || !StringRef("*/%").contains(rest[0]))
        return left;
      char op = rest[0];
      rest = rest.drop_front();
      Value right = unary();
      if (!right)
        return right;
      if (op == '*') {
        int64_t result;
        if (MulOverflow(*left, *right, result))
          return fail("a product does not fit into 64 bits");
        left = result;
        continue;
      }
      left = divide(*left, *right, op == '%');
    }
    return left;
  }

  Value divide(int64_t a, int64_t b, bool wantsRemainder) {
    if (b == 0)
      return fail("a division by zero");
    if (b == -1)
      return wantsRemainder ? Value(0)
             : a == std::numeric_limits<int64_t>::min()
                 ? fail("a quotient does not fit into 64 bits")
                 : Value(-a);
    return wantsRemainder ? a % b : a / b;
  }

  Value unary() {
    // Depth is bounded, for the text is anybody's.
    if (++depth > 64)
      return fail("it is nested too deeply");
    Value result;
    if (take('-')) {
      result = unary();
      if (result) {
        int64_t negated;
        if (SubOverflow<int64_t>(0, *result, negated))
          return fail("a number does not fit into 64 bits");
        result = negated;
      }
    } else if (take('+')) {
      result = unary();
    } else {
      result = primary();
    }
    --depth;
    return result;
  }

  Value primary() {
    skip();
    if (rest.empty())
      return fail("it ends where a number is expected");
    if (take('(')) {
      Value value = sum();
      if (value && !take(')'))
        return fail("a ')' is missing");
      return value;
    }
    if (isDigit(rest[0]))
      return number();
    if (!isAlpha(rest[0]) && rest[0] != '_')
      return fail("unexpected '" + rest.take_front(1) + "'");
    StringRef name =
        rest.take_while([](char c) { return isAlnum(c) || c == '_'; });
    rest = rest.drop_front(name.size());
    if (take('('))
      return call(name);
    auto found = names.find(name.str());
    if (found == names.end())
      return fail("unknown name '" + name +
                  "'; known are the program's macros with integer values");
    return found->second;
  }

  Value number() {
    StringRef digits = rest.take_while([](char c) { return isAlnum(c); });
    rest = rest.drop_front(digits.size());
    StringRef value = digits.rtrim("uUlL");
    unsigned radix = value.consume_front_insensitive("0x") ? 16 : 10;
    int64_t result;
    if (value.empty() || value.getAsInteger(radix, result))
      return fail("'" + digits + "' is no integer of 64 bits");
    return result;
  }

  Value call(StringRef name) {
    SmallVector<int64_t> values;
    do {
      Value value = sum();
      if (!value)
        return value;
      values.push_back(*value);
    } while (take(','));
    if (!take(')'))
      return fail("a ')' is missing");
    if (name == "ceildiv") {
      if (values.size() != 2)
        return fail("ceildiv takes two numbers");
      if (values[0] < 0 || values[1] <= 0)
        return fail("ceildiv takes a number that is not negative and a "
                    "positive one");
      return values[0] / values[1] + (values[0] % values[1] != 0);
    }
    if (name == "min" || name == "max") {
      int64_t result = values[0];
      for (int64_t value : values)
        result =
            name == "min" ? std::min(result, value) : std::max(result, value);
      return result;
    }
    return fail("unknown function '" + name +
                "'; known are ceildiv, min and max");
  }

  StringRef rest;
  const llm::Names &names;
  int depth = 0;
};

} // namespace

std::optional<int64_t> llm::evaluateExpression(StringRef text,
                                               const Names &names,
                                               std::string &problem) {
  std::string shown;
  for (char c : text.take_front(100))
    shown += isPrint(c) ? c : '?';
  if (text.size() > 1000) {
    problem =
        "the expression '" + shown + "...' is longer than 1000 characters";
    return std::nullopt;
  }
  Evaluator evaluator(text, names);
  std::optional<int64_t> value = evaluator.run();
  if (!value)
    problem = "the expression '" + shown + "': " + evaluator.problem;
  return value;
}
