//===- Expression.cpp - Integer expressions of plans and rules ------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Families/Expression.h"
#include "fastk/Families/Numbers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace fastk;
using families::Expression;
using families::NameTable;
using families::NameValue;

/// Depth and length are bounded, for the text is anybody's.
static constexpr int kMaxDepth = 64;
static constexpr size_t kMaxLength = 1000;

unsigned NameTable::placeOf(StringRef name) {
  auto [entry, isNew] = places.try_emplace(name, names.size());
  if (isNew)
    names.push_back(entry->getKey());
  return entry->getValue();
}

namespace fastk::families {
/// One pass over the text. After the first problem everything is nothing.
class ExpressionReader {
public:
  ExpressionReader(StringRef text, NameTable &table, Expression::Kind kind)
      : rest(text), table(table), kind(kind) {}

  bool run() {
    std::optional<unsigned> whole = choice();
    skip();
    if (whole && !rest.empty())
      fail("unexpected '" + rest.take_front(1) + "'");
    return problem.empty();
  }

  Expression result;
  std::string problem;

private:
  /// The place of a node.
  using Read = std::optional<unsigned>;
  using Op = Expression::Op;

  Read fail(const Twine &why) {
    if (problem.empty())
      problem = why.str();
    return std::nullopt;
  }
  Read add(Op op, unsigned a = 0, unsigned b = 0, unsigned c = 0,
           int64_t number = 0) {
    result.nodes.push_back({op, a, b, c, number});
    return result.nodes.size() - 1;
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
  struct Symbol {
    StringLiteral text;
    Op op;
  };
  /// Operands of one precedence, from the left.
  Read chain(ArrayRef<Symbol> symbols, function_ref<Read()> operand) {
    Read left = operand();
    while (left) {
      const Symbol *symbol = llvm::find_if(
          symbols, [&](const Symbol &each) { return takeSymbol(each.text); });
      if (symbol == symbols.end())
        return left;
      Read right = operand();
      if (!right)
        return right;
      left = add(symbol->op, *left, *right);
    }
    return left;
  }

  Read choice() {
    if (++depth > kMaxDepth)
      return fail("it is nested too deeply");
    Read condition = disjunction();
    if (condition && take('?')) {
      Read yes = choice();
      if (!yes)
        return yes;
      if (!take(':'))
        return fail("a ':' is missing behind '?'");
      Read no = choice();
      if (!no)
        return no;
      condition = add(Op::Choose, *condition, *yes, *no);
    }
    --depth;
    return condition;
  }
  Read disjunction() {
    static constexpr Symbol symbols[] = {{"||", Op::Or}};
    return chain(symbols, [&] { return conjunction(); });
  }
  Read conjunction() {
    static constexpr Symbol symbols[] = {{"&&", Op::And}};
    return chain(symbols, [&] { return comparison(); });
  }
  Read comparison() {
    static constexpr Symbol symbols[] = {
        {"==", Op::Equal},   {"!=", Op::Unequal}, {"<=", Op::AtMost},
        {">=", Op::AtLeast}, {"<", Op::Less},     {">", Op::Greater}};
    return chain(symbols, [&] { return sum(); });
  }
  Read sum() {
    static constexpr Symbol symbols[] = {{"-", Op::Subtract}, {"+", Op::Add}};
    return chain(symbols, [&] { return product(); });
  }
  Read product() {
    static constexpr Symbol symbols[] = {
        {"*", Op::Multiply}, {"/", Op::Divide}, {"%", Op::Remainder}};
    return chain(symbols, [&] { return unary(); });
  }
  Read unary() {
    if (++depth > kMaxDepth)
      return fail("it is nested too deeply");
    Read read;
    if (takeSymbol("!")) {
      read = unary();
      read = read ? add(Op::Not, *read) : read;
    } else if (take('-')) {
      read = unary();
      read = read ? add(Op::Negate, *read) : read;
    } else if (take('+')) {
      read = unary();
    } else {
      read = primary();
    }
    --depth;
    return read;
  }
  Read primary() {
    skip();
    if (rest.empty())
      return fail("it ends where a number is expected");
    if (take('(')) {
      Read inner = choice();
      if (inner && !take(')'))
        return fail("a ')' is missing");
      return inner;
    }
    if (isDigit(rest[0]))
      return number();
    if (!isAlpha(rest[0]) && rest[0] != '_')
      return fail("unexpected '" + rest.take_front(1) + "'");
    StringRef name = takeName();
    if (kind == Expression::Kind::Condition && name == "defined")
      return defined();
    if (take('('))
      return call(name);
    if (kind == Expression::Kind::Condition)
      return isOfCompiler(name) ? add(Op::Unknown)
                                : add(Op::Macro, table.placeOf(name));
    return add(Op::Name, table.placeOf(name));
  }
  StringRef takeName() {
    StringRef name =
        rest.take_while([](char c) { return isAlnum(c) || c == '_'; });
    rest = rest.drop_front(name.size());
    return name;
  }
  static bool isOfCompiler(StringRef name) { return name.starts_with("__"); }
  /// The name behind `defined`, with or without parentheses.
  Read defined() {
    const bool hasParenthesis = take('(');
    skip();
    StringRef name = takeName();
    if (hasParenthesis && !take(')'))
      return fail("a ')' is missing");
    return isOfCompiler(name) ? add(Op::Unknown)
                              : add(Op::Defined, table.placeOf(name));
  }
  Read number() {
    StringRef digits = rest.take_while([](char c) { return isAlnum(c); });
    rest = rest.drop_front(digits.size());
    StringRef value = digits.rtrim("uUlL");
    unsigned radix = value.consume_front_insensitive("0x") ? 16 : 10;
    int64_t read;
    if (value.empty() || value.getAsInteger(radix, read))
      return fail("'" + digits + "' is no integer of 64 bits");
    return add(Op::Number, 0, 0, 0, read);
  }
  Read call(StringRef name) {
    SmallVector<unsigned> values;
    do {
      Read value = choice();
      if (!value)
        return value;
      values.push_back(*value);
    } while (take(','));
    if (!take(')'))
      return fail("a ')' is missing");
    if (name == "ceildiv")
      return values.size() == 2 ? add(Op::CeilDiv, values[0], values[1])
                                : fail("ceildiv takes two numbers");
    if (name != "min" && name != "max")
      return fail("unknown function '" + name +
                  "'; known are ceildiv, min and max");
    unsigned best = values[0];
    for (unsigned value : drop_begin(values))
      best = *add(name == "min" ? Op::Min : Op::Max, best, value);
    return best;
  }

  StringRef rest;
  NameTable &table;
  Expression::Kind kind;
  int depth = 0;
};

/// The value of an expression's nodes.
class ExpressionValue {
public:
  /// With a table \p problem says why there is no value.
  ExpressionValue(const Expression &expression, ArrayRef<NameValue> values,
                  const NameTable *table = nullptr)
      : expression(expression), values(values), table(table) {}

  std::string problem;

  using Value = std::optional<int64_t>;
  Value of(unsigned place) {
    const Expression::Node &node = expression.nodes[place];
    switch (node.op) {
    case Op::Number:
      return node.number;
    case Op::Name:
    case Op::Macro:
    case Op::Defined:
      return ofName(node);
    case Op::Unknown:
      return fail("it depends on the compiler");
    case Op::Choose:
      return choose(node);
    default:
      break;
    }
    Value a = of(node.a);
    if (!a)
      return a;
    if (node.op == Op::Not)
      return !*a;
    if (node.op == Op::Negate)
      return negate(*a);
    Value b = of(node.b);
    return b ? combine(node.op, *a, *b) : b;
  }

private:
  using Op = Expression::Op;

  Value fail(const Twine &why) {
    if (table && problem.empty())
      problem = why.str();
    return std::nullopt;
  }
  /// Of arithmetic that cannot be carried out.
  Value failValue(const Twine &why) { return forgiving ? Value(0) : fail(why); }

  Value ofName(const Expression::Node &node) {
    const NameValue known =
        node.a < values.size() ? values[node.a] : NameValue();
    if (node.op == Op::Defined)
      return known.isDefined;
    if (known.hasNumber)
      return known.number;
    if (node.op == Op::Macro && !known.isDefined)
      return 0;
    return fail("unknown name '" +
                (table ? table->nameAt(node.a) : StringRef()) +
                "'; known are the program's macros with integer values");
  }
  Value choose(const Expression::Node &node) {
    Value condition = of(node.a);
    if (!condition)
      return condition;
    Value yes = untaken(*condition == 0, node.b);
    Value no = yes ? untaken(*condition != 0, node.c) : yes;
    return no ? (*condition ? yes : no) : no;
  }
  /// The arithmetic of what is not taken goes wrong without harm.
  Value untaken(bool isUntaken, unsigned place) {
    forgiving += isUntaken;
    Value value = of(place);
    forgiving -= isUntaken;
    return value;
  }
  Value negate(int64_t a) {
    int64_t negated;
    if (SubOverflow<int64_t>(0, a, negated))
      return failValue("a number does not fit into 64 bits");
    return negated;
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
  Value combine(Op op, int64_t a, int64_t b) {
    int64_t result;
    switch (op) {
    case Op::Multiply:
      return MulOverflow(a, b, result)
                 ? failValue("a product does not fit into 64 bits")
                 : Value(result);
    case Op::Add:
      return AddOverflow(a, b, result)
                 ? failValue("a sum does not fit into 64 bits")
                 : Value(result);
    case Op::Subtract:
      return SubOverflow(a, b, result)
                 ? failValue("a sum does not fit into 64 bits")
                 : Value(result);
    case Op::Divide:
    case Op::Remainder:
      return divide(a, b, op == Op::Remainder);
    case Op::Equal:
      return a == b;
    case Op::Unequal:
      return a != b;
    case Op::AtMost:
      return a <= b;
    case Op::AtLeast:
      return a >= b;
    case Op::Less:
      return a < b;
    case Op::Greater:
      return a > b;
    case Op::And:
      return a && b;
    case Op::Or:
      return a || b;
    case Op::Min:
      return std::min(a, b);
    case Op::Max:
      return std::max(a, b);
    case Op::CeilDiv:
      if (a < 0 || b <= 0)
        return failValue("ceildiv takes a number that is not negative and a "
                         "positive one");
      return a / b + (a % b != 0);
    default:
      llvm_unreachable("it has two operands");
    }
  }

  const Expression &expression;
  ArrayRef<NameValue> values;
  const NameTable *table;
  /// In how many choices that are not taken.
  int forgiving = 0;
};
} // namespace fastk::families

std::optional<Expression> Expression::read(StringRef text, NameTable &table,
                                           std::string &problem, Kind kind) {
  if (text.size() > kMaxLength) {
    problem = "it is longer than " + std::to_string(kMaxLength) + " characters";
    return std::nullopt;
  }
  ExpressionReader reader(text, table, kind);
  if (reader.run())
    return std::move(reader.result);
  problem = std::move(reader.problem);
  return std::nullopt;
}

std::optional<int64_t> Expression::evaluate(ArrayRef<NameValue> values) const {
  return ExpressionValue(*this, values).of(nodes.size() - 1);
}

std::string Expression::explain(ArrayRef<NameValue> values,
                                const NameTable &table) const {
  ExpressionValue value(*this, values, &table);
  value.of(nodes.size() - 1);
  return std::move(value.problem);
}

std::string families::quoted(StringRef expression) {
  std::string shown;
  for (char c : expression.take_front(100))
    shown += isPrint(c) ? c : '?';
  return "the expression '" + shown +
         (expression.size() > 100 ? "...': " : "': ");
}

std::optional<int64_t> families::evaluateExpression(StringRef text,
                                                    const Names &names,
                                                    std::string &problem) {
  NameTable table;
  std::string why;
  std::optional<int64_t> value;
  if (auto expression = Expression::read(text, table, why)) {
    std::vector<NameValue> values(table.size());
    for (unsigned place = 0; place < table.size(); ++place)
      if (auto found = names.find(table.nameAt(place).str());
          found != names.end())
        values[place] = {found->second, true, true};
    value = expression->evaluate(values);
    if (!value)
      why = expression->explain(values, table);
  }
  if (!value)
    problem = quoted(text) + why;
  return value;
}
