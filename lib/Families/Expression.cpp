//===- Expression.cpp - Integer expressions of plans ----------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/Numbers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace fastk;

/// Depth is bounded, for the text is anybody's.
static constexpr int kMaxDepth = 64;

namespace {

/// One pass over the text. After the first problem everything is nothing.
class Evaluator {
public:
  Evaluator(StringRef text, const families::Names &names)
      : rest(text), names(names) {}

  std::optional<int64_t> run() {
    std::optional<int64_t> value = choice();
    skip();
    if (value && !rest.empty())
      return fail("unexpected '" + rest.take_front(1) + "'");
    return value;
  }

  std::string problem;

private:
  using Value = std::optional<int64_t>;

  /// Of arithmetic that cannot be carried out.
  Value failValue(const Twine &why) { return forgiving ? Value(0) : fail(why); }
  Value fail(const Twine &why) {
    if (problem.empty())
      problem = why.str();
    return std::nullopt;
  }
  void skip() {
    rest = rest.drop_while([](char c) { return c == ' ' || c == '\t'; });
  }
  bool take(char c) {
    skip();
    if (rest.empty() || rest[0] != c)
      return false;
    rest = rest.drop_front();
    return true;
  }

  /// `symbol`, and not the beginning of a longer one.
  bool takeSymbol(StringRef symbol) {
    skip();
    StringRef after = rest;
    if (rest.empty() || rest[0] != symbol[0] || !after.consume_front(symbol) ||
        (symbol.size() == 1 && after.starts_with("=")))
      return false;
    rest = after;
    return true;
  }

  /// C's, with its precedence. All operands are evaluated, so that what is
  /// wrong in one shows whatever the sizes; of a choice the one that is taken
  /// counts alone.
  Value choice() {
    if (++depth > kMaxDepth)
      return fail("it is nested too deeply");
    Value condition = disjunction();
    if (condition && take('?')) {
      Value yes = untaken(!*condition, [&] { return choice(); });
      if (!yes)
        return yes;
      if (!take(':'))
        return fail("a ':' is missing behind '?'");
      Value no = untaken(*condition != 0, [&] { return choice(); });
      if (!no)
        return no;
      condition = *condition ? yes : no;
    }
    --depth;
    return condition;
  }
  /// What is not taken is read, and its arithmetic goes wrong without harm.
  Value untaken(bool isUntaken, llvm::function_ref<Value()> read) {
    int before = forgiving;
    forgiving += isUntaken;
    Value value = read();
    forgiving = before;
    return value;
  }
  Value disjunction() {
    Value left = conjunction();
    while (left && takeSymbol("||")) {
      Value right = conjunction();
      if (!right)
        return right;
      left = *left || *right;
    }
    return left;
  }
  Value conjunction() {
    Value left = comparison();
    while (left && takeSymbol("&&")) {
      Value right = comparison();
      if (!right)
        return right;
      left = *left && *right;
    }
    return left;
  }
  Value comparison() {
    Value left = sum();
    while (left) {
      static constexpr StringLiteral kSymbols[] = {
          "==", "!=", "<=", ">=", "<", ">"};
      const StringLiteral *symbol = llvm::find_if(
          kSymbols, [&](StringRef each) { return takeSymbol(each); });
      if (symbol == std::end(kSymbols))
        return left;
      Value right = sum();
      if (!right)
        return right;
      int64_t a = *left, b = *right;
      switch (symbol - std::begin(kSymbols)) {
      case 0:
        left = a == b;
        break;
      case 1:
        left = a != b;
        break;
      case 2:
        left = a <= b;
        break;
      case 3:
        left = a >= b;
        break;
      case 4:
        left = a < b;
        break;
      default:
        left = a > b;
        break;
      }
    }
    return left;
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
        return failValue("a sum does not fit into 64 bits");
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
          return failValue("a product does not fit into 64 bits");
        left = result;
        continue;
      }
      left = divide(*left, *right, op == '%');
    }
    return left;
  }

  Value divide(int64_t a, int64_t b, bool wantsRemainder) {
    if (b == 0)
      return failValue("a division by zero");
    if (b == -1)
      return wantsRemainder ? Value(0)
             : a == std::numeric_limits<int64_t>::min()
                 ? failValue("a quotient does not fit into 64 bits")
                 : Value(-a);
    return wantsRemainder ? a % b : a / b;
  }

  Value unary() {
    if (++depth > kMaxDepth)
      return fail("it is nested too deeply");
    Value result;
    if (takeSymbol("!")) {
      result = unary();
      if (result)
        result = !*result;
    } else if (take('-')) {
      result = unary();
      if (result) {
        int64_t negated;
        if (SubOverflow<int64_t>(0, *result, negated))
          return failValue("a number does not fit into 64 bits");
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
      Value value = choice();
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
      Value value = choice();
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
        return failValue("ceildiv takes a number that is not negative and a "
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
  const families::Names &names;
  int depth = 0;
  /// In how many choices that are not taken.
  int forgiving = 0;
};

} // namespace

std::optional<int64_t> families::evaluateExpression(StringRef text,
                                                    const Names &names,
                                                    std::string &problem) {
  auto shown = [&] {
    std::string result;
    for (char c : text.take_front(100))
      result += isPrint(c) ? c : '?';
    return result;
  };
  if (text.size() > 1000) {
    problem =
        "the expression '" + shown() + "...' is longer than 1000 characters";
    return std::nullopt;
  }
  Evaluator evaluator(text, names);
  std::optional<int64_t> value = evaluator.run();
  if (!value)
    problem = "the expression '" + shown() + "': " + evaluator.problem;
  return value;
}
