//===- PlainText.cpp - Pieces of a plain program --------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlainText.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::scaffold;
using llvm::Twine;

std::optional<Elem> scaffold::elemOf(Type type) {
  if (auto shaped = dyn_cast<ShapedType>(type))
    type = shaped.getElementType();
  return type.isBF16() ? Elem::BF16 : catalog::elemOf(type);
}

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

/// What binds as tightly as `binding` or tighter, on the right of an operator.
static Binding tighter(Binding binding) {
  return static_cast<Binding>(binding - 1);
}

Text scaffold::binary(const Text &a, StringRef op, const Text &b,
                      Binding binding) {
  // Nobody remembers how the others bind.
  bool isPlain = binding == Product || binding == Sum;
  Binding left = isPlain ? binding : binding > Sum ? Sum : tighter(binding);
  Binding right = isPlain ? tighter(binding) : left;
  if (binding == Logic || binding == Shift)
    left = right = Unary;
  return {a.within(left) + " " + op.str() + " " + b.within(right), binding};
}

Text scaffold::call(StringRef function, ArrayRef<Text> arguments) {
  std::string list;
  for (const Text &each : arguments)
    list += (list.empty() ? "" : ", ") + each.str;
  return {function.str() + "(" + list + ")"};
}

Text scaffold::converted(StringRef type, const Text &value) {
  return {"(" + type.str() + ")" + value.within(Primary), Unary};
}

Text scaffold::choice(const Text &condition, const Text &yes, const Text &no) {
  return {condition.within(Equality) + " ? " + yes.within(Logic) + " : " +
              no.within(Choice),
          Choice};
}

Text scaffold::indexOf(int64_t constant) {
  return {std::to_string(constant), constant < 0 ? Unary : Primary, constant};
}

Text scaffold::addIndices(const Text &a, const Text &b) {
  if (a.constant && b.constant)
    return indexOf(*a.constant + *b.constant);
  if (a.constant && *a.constant == 0)
    return b;
  if (b.constant && *b.constant == 0)
    return a;
  if (a.constant)
    return addIndices(b, a);
  if (b.constant && *b.constant < 0)
    return binary(a, "-", indexOf(-*b.constant), Sum);
  return {a.within(Sum) + " + " + b.within(Sum), Sum};
}

Text scaffold::mixIndices(const Text &outer, int64_t extent,
                          const Text &inner) {
  if (extent == 1)
    return outer;
  Text index = addIndices(multiplyIndex(outer, extent), inner);
  if (!index.constant)
    index.mixed =
        std::make_shared<MixedIndex>(MixedIndex{outer, extent, inner});
  return index;
}

Text scaffold::multiplyIndex(const Text &a, int64_t factor) {
  if (a.constant)
    return indexOf(*a.constant * factor);
  if (factor == 0)
    return indexOf(0);
  return factor == 1 ? a : binary(a, "*", indexOf(factor), Product);
}

Text scaffold::divideIndex(const Text &a, int64_t divisor) {
  if (a.constant)
    return indexOf(*a.constant / divisor);
  if (a.mixed && divisor % a.mixed->extent == 0)
    return divideIndex(a.mixed->outer, divisor / a.mixed->extent);
  return divisor == 1 ? a : binary(a, "/", indexOf(divisor), Product);
}

Text scaffold::remainderOfIndex(const Text &a, int64_t divisor) {
  if (a.constant)
    return indexOf(*a.constant % divisor);
  if (a.mixed && divisor % a.mixed->extent == 0)
    return mixIndices(
        remainderOfIndex(a.mixed->outer, divisor / a.mixed->extent),
        a.mixed->extent, a.mixed->inner);
  return divisor == 1 ? indexOf(0) : binary(a, "%", indexOf(divisor), Product);
}

//===----------------------------------------------------------------------===//
// Types and numbers
//===----------------------------------------------------------------------===//

std::string PlainLanguage::registerType(Elem elem) const {
  switch (elem) {
  case Elem::I1:
    return "bool";
  case Elem::F16:
  case Elem::BF16:
  case Elem::F32:
    return "float";
  case Elem::F64:
    return "double";
  default:
    // The prelude's names: i32.
    return isCuda() ? catalog::suffixOf(elem) : catalog::cTypeOf(elem);
  }
}

std::string PlainLanguage::unsignedType(Elem elem) const {
  std::string type = registerType(elem);
  return isCuda() ? "u" + type.substr(1) : "u" + type;
}

void PlainLanguage::noteType(Elem elem) {
  hasF16 |= elem == Elem::F16;
  hasBF16 |= elem == Elem::BF16;
}

std::string PlainLanguage::memoryType(Elem elem) const {
  if (elem == Elem::I1)
    return isCuda() ? "u8" : "uint8_t";
  if (elem == Elem::F16)
    return isCuda() ? "__half" : "_Float16";
  if (elem == Elem::BF16)
    return isCuda() ? "__nv_bfloat16" : "__bf16";
  return registerType(elem);
}

static Text integerText(const APInt &value, Elem elem) {
  if (elem == Elem::I1)
    return {value.isZero() ? "false" : "true"};
  int64_t number = value.getSExtValue();
  // The digits of the smallest are no number of that type.
  if (number == std::numeric_limits<int64_t>::min())
    return {"-9223372036854775807LL - 1", Sum};
  if (number == std::numeric_limits<int32_t>::min() && elem == Elem::I32)
    return {"-2147483647 - 1", Sum};
  Text text = indexOf(number);
  text.constant.reset();
  return text;
}

Text PlainLanguage::number(Attribute attribute, Elem elem) {
  if (auto integer = dyn_cast<IntegerAttr>(attribute)) {
    Text text = integerText(integer.getValue(), elem);
    if (integer.getType().isIndex())
      text.constant = integer.getInt();
    return text;
  }
  APFloat value = cast<FloatAttr>(attribute).getValue();
  bool unused, isDouble = elem == Elem::F64;
  // As the register has it, which needs fewer digits than half of it as f64.
  value.convert(isDouble ? APFloat::IEEEdouble() : APFloat::IEEEsingle(),
                APFloat::rmNearestTiesToEven, &unused);
  if (value.isNaN())
    return {isCuda() ? "__int_as_float(0x7fc00000)" : "NAN"};
  if (value.isInfinity()) {
    std::string name = isCuda() ? "FASTK_INFINITY" : "INFINITY";
    return value.isNegative() ? Text{"-" + name, Unary} : Text{name};
  }
  llvm::SmallString<24> digits;
  value.toString(digits);
  std::string text = digits.str().str();
  if (text.find_first_of(".E") == std::string::npos)
    text += ".0";
  return {text + (isDouble ? "" : "f"), value.isNegative() ? Unary : Primary};
}

Text PlainLanguage::load(const std::string &pointer, const Text &index,
                         Elem elem) const {
  Text element{pointer + "[" + index.str + "]"};
  switch (elem) {
  case Elem::I1:
    return binary(element, "!=", {"0"}, Equality);
  case Elem::F16:
    return isCuda() ? call("__half2float", element)
                    : converted("float", element);
  case Elem::BF16:
    return isCuda() ? call("__bfloat162float", element)
                    : converted("float", element);
  default:
    return element;
  }
}

std::string PlainLanguage::stored(const Text &value, Elem elem) const {
  if (isCuda() && elem == Elem::F16)
    return call("__float2half", value).str;
  if (isCuda() && elem == Elem::BF16)
    return call("__float2bfloat16", value).str;
  if (elem == Elem::F16 || elem == Elem::BF16)
    return converted(memoryType(elem), value).str;
  if (elem == Elem::I1)
    return choice(value, {"1"}, {"0"}).str;
  return value.str;
}

std::string PlainLanguage::table(DenseElementsAttr elements, Elem elem) {
  std::string name = "table" + std::to_string(numTables++), values;
  for (Attribute each : elements.getValues<Attribute>())
    values += (values.empty() ? "" : ", ") + number(each, elem).str;
  tables += (isCuda() ? "static __constant__ " : "static const ") +
            registerType(elem) + " " + name + "[" +
            std::to_string(elements.getNumElements()) + "] = {" + values +
            "};\n";
  return name;
}

//===----------------------------------------------------------------------===//
// Functions that programs bring along
//===----------------------------------------------------------------------===//

namespace {
/// T is the operands' type, U the unsigned one of that size.
struct Helper {
  StringRef name, text;
};
} // namespace

static constexpr Helper kHelpers[] = {
    {"maximum", "// The larger, NaN where one is.\n"
                "HEAD T NAME(T a, T b) { return a != a || a > b ? a : b; }\n"},
    {"minimum", "// The smaller, NaN where one is.\n"
                "HEAD T NAME(T a, T b) { return a != a || a < b ? a : b; }\n"},
    {"floorDivide",
     "HEAD T NAME(T a, T b) {\n"
     "  return a / b - (a % b != 0 && (a < 0) != (b < 0));\n}\n"},
    {"ceilDivide", "HEAD T NAME(T a, T b) {\n"
                   "  return a / b + (a % b != 0 && (a < 0) == (b < 0));\n}\n"},
    {"floorRemainder", "HEAD T NAME(T a, T b) {\n"
                       "  return a % b != 0 && (a < 0) != (b < 0) ? a % b + b "
                       ": a % b;\n}\n"},
    {"ceilDivideUnsigned", "HEAD T NAME(T a, T b) {\n  return (U)a / (U)b + "
                           "((U)a % (U)b != 0);\n}\n"},
    {"leadingZeros", "HEAD T NAME(T x) {\n  T count = 8 * sizeof(T);\n"
                     "  for (U rest = x; rest; rest >>= 1)\n    --count;\n"
                     "  return count;\n}\n"},
    {"trailingZeros", "HEAD T NAME(T x) {\n  T count = 0;\n"
                      "  while (count < (T)(8 * sizeof(T)) && ((U)x >> count & "
                      "1) == 0)\n    ++count;\n  return count;\n}\n"},
    {"bitsSet", "HEAD T NAME(T x) {\n  T count = 0;\n"
                "  for (U rest = x; rest; rest >>= 1)\n    count += rest & 1;\n"
                "  return count;\n}\n"},
    {"power", "// Modulo the type's size; what is below 1 is 0.\n"
              "HEAD T NAME(T x, T n) {\n"
              "  if (n < 0)\n"
              "    return x == 1 ? 1 : x == -1 ? (n % 2 ? -1 : 1) : 0;\n"
              "  U result = 1, base = x;\n"
              "  for (; n; n >>= 1, base = (U)(base * base))\n"
              "    if (n & 1)\n      result = (U)(result * base);\n"
              "  return (T)result;\n}\n"},
};

std::string PlainLanguage::functionHead() const {
  return isCuda() ? "static __device__ __forceinline__" : "static inline";
}

std::string PlainLanguage::helper(StringRef name, Elem type) {
  type = catalog::computeElem(type);
  std::string full = name.str();
  full += '_';
  full += catalog::suffixOf(type);
  if (!helpers.insert(full).second)
    return full;
  const Helper *found = llvm::find_if(
      kHelpers, [&](const Helper &each) { return each.name == name; });
  assert(found != std::end(kHelpers) && "a function without a text");
  bool isInteger = !catalog::isFloat(type);
  // Whole words.
  StringRef rest = found->text;
  while (!rest.empty()) {
    size_t length = rest.find_if_not([](char c) { return llvm::isAlnum(c); });
    StringRef word = rest.take_front(length == 0 ? 1 : length);
    rest = rest.drop_front(word.size());
    definitions += llvm::StringSwitch<std::string>(word)
                       .Case("HEAD", functionHead())
                       .Case("NAME", full)
                       .Case("T", registerType(type))
                       .Case("U", isInteger ? unsignedType(type) : "")
                       .Default(word.str());
  }
  definitions += "\n";
  return full;
}

std::string PlainLanguage::preamble() const {
  std::string text;
  if (!isCuda()) {
    text = "#include <math.h>\n#include <stdbool.h>\n#include <stdint.h>\n\n";
  } else {
    if (hasF16)
      text += "#include <cuda_fp16.h>\n";
    if (hasBF16)
      text += "#include <cuda_bf16.h>\n";
    if (!text.empty())
      text += "\n";
  }
  text += tables;
  if (!tables.empty())
    text += "\n";
  return text + definitions;
}
