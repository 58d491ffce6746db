//===- ModelFromBytes.cpp - A model for any bytes -------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModelFromBytes.h"
#include <cstdint>
#include <numeric>
#include <vector>

namespace {

using Shape = std::vector<int64_t>;
constexpr int64_t kDynamic = -1;
/// More ops make no new situations, only slower ones.
constexpr int kMostOps = 24;

struct Value {
  std::string name;
  Shape shape;
  std::string element;
};

class Generator {
public:
  explicit Generator(std::string_view bytes) : bytes(bytes) {}

  std::string run() {
    int inputs = 1 + next(3);
    for (int i = 0; i < inputs; ++i)
      argument(anyShape(), element());
    for (int ops = 0; !bytes.empty() && ops < kMostOps; ++ops)
      anyOp();
    std::string types, names;
    int results = 1 + next(3);
    for (int i = 0; i < results; ++i) {
      const Value &value = i == 0 ? values.back() : pick();
      names += (i ? ", " : " ") + value.name;
      types += (i ? ", " : "") + typeOf(value);
    }
    std::string result = results == 1 ? types : "(" + types + ")";
    return "func.func @main(" + arguments + ") -> " + result + " {\n" + body +
           "  return" + names + " : " + types + "\n}\n";
  }

private:
  unsigned next(unsigned limit) {
    if (bytes.empty())
      return 0;
    unsigned value = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    return value % limit;
  }
  const Value &pick() {
    return values[values.size() - 1 - next(values.size())];
  }

  std::string element() {
    const char *names[] = {"f32", "f32", "f32", "f16", "f64", "i32"};
    return names[next(6)];
  }
  Shape anyShape() {
    const int64_t extents[] = {1, 2, 3, 4, 8, 16, 0, kDynamic};
    Shape shape(next(5));
    for (int64_t &extent : shape)
      extent = extents[next(8)];
    return shape;
  }
  static bool isFloat(const std::string &element) { return element[0] == 'f'; }
  static std::string typeOf(const Shape &shape, const std::string &element) {
    std::string text = "tensor<";
    for (int64_t extent : shape)
      text += (extent == kDynamic ? "?" : std::to_string(extent)) + "x";
    return text + element + ">";
  }
  static std::string typeOf(const Value &value) {
    return typeOf(value.shape, value.element);
  }

  Value argument(Shape shape, const std::string &element) {
    Value value{"%a" + std::to_string(argumentCount++), std::move(shape),
                element};
    arguments +=
        (arguments.empty() ? "" : ", ") + value.name + ": " + typeOf(value);
    values.push_back(value);
    return value;
  }
  std::string fresh() { return "%" + std::to_string(count++); }
  void line(const std::string &text) { body += "  " + text + "\n"; }

  std::string constant(const std::string &element) {
    std::string name = "%c" + std::to_string(count++);
    const char *reals[] = {"0.0", "1.0", "-3.5", "1.0e-5"};
    const char *integers[] = {"0", "1", "-3", "7"};
    line(name + " = arith.constant " +
         (isFloat(element) ? reals[next(4)] : integers[next(4)]) + " : " +
         element);
    return name;
  }

  /// An empty tensor whose dynamic extents are those of `like`, dimension by
  /// dimension as `from` says.
  Value empty(const Shape &shape, const std::string &element, const Value &like,
              const std::vector<int> &from) {
    std::string sizes;
    for (size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] != kDynamic)
        continue;
      std::string index = "%i" + std::to_string(count++);
      line(index + " = arith.constant " + std::to_string(from[i]) + " : index");
      std::string size = "%d" + std::to_string(count++);
      line(size + " = tensor.dim " + like.name + ", " + index + " : " +
           typeOf(like));
      sizes += (sizes.empty() ? "" : ", ") + size;
    }
    Value value{fresh(), shape, element};
    line(value.name + " = tensor.empty(" + sizes + ") : " + typeOf(value));
    return value;
  }
  Value fill(const Value &into) {
    std::string scalar = constant(into.element);
    Value value{fresh(), into.shape, into.element};
    line(value.name + " = linalg.fill ins(" + scalar + " : " + into.element +
         ") outs(" + into.name + " : " + typeOf(into) + ") -> " +
         typeOf(value));
    return value;
  }

  static std::string dims(size_t rank) {
    std::string text = "(";
    for (size_t i = 0; i < rank; ++i)
      text += (i ? ", d" : "d") + std::to_string(i);
    return text + ")";
  }
  static std::string mapText(size_t rank, const std::vector<int> &results) {
    std::string text = "affine_map<" + dims(rank) + " -> (";
    for (size_t i = 0; i < results.size(); ++i)
      text +=
          (i ? ", " : "") + (results[i] < 0 ? std::string("0")
                                            : "d" + std::to_string(results[i]));
    return text + ")>";
  }
  static std::vector<int> identity(size_t rank) {
    std::vector<int> result(rank);
    std::iota(result.begin(), result.end(), 0);
    return result;
  }

  /// A generic over `rank` dimensions; `reductions` says which of them reduce.
  Value generic(const std::vector<Value> &inputs,
                const std::vector<std::vector<int>> &maps, const Value &out,
                const std::vector<int> &outMap,
                const std::vector<bool> &reductions,
                const std::string &scalarCode) {
    std::string mapList, iterators, names, types, block;
    for (size_t i = 0; i < inputs.size(); ++i) {
      mapList += mapText(reductions.size(), maps[i]) + ", ";
      names += (i ? ", " : "") + inputs[i].name;
      types += (i ? ", " : "") + typeOf(inputs[i]);
      block += "%in" + std::to_string(i) + ": " + inputs[i].element + ", ";
    }
    mapList += mapText(reductions.size(), outMap);
    for (size_t i = 0; i < reductions.size(); ++i)
      iterators += std::string(i ? ", " : "") +
                   (reductions[i] ? "\"reduction\"" : "\"parallel\"");
    Value result{fresh(), out.shape, out.element};
    std::string ins =
        inputs.empty() ? "" : " ins(" + names + " : " + types + ")";
    line(result.name + " = linalg.generic {indexing_maps = [" + mapList +
         "], iterator_types = [" + iterators + "]}" + ins + " outs(" +
         out.name + " : " + typeOf(out) + ") {");
    line("^bb0(" + block + "%out: " + out.element + "):");
    body += scalarCode;
    line("  linalg.yield %r : " + out.element);
    line("} -> " + typeOf(result));
    values.push_back(result);
    return result;
  }

  /// `%r` of one operand, in its own type.
  std::string unaryCode(const std::string &element) {
    const char *reals[] = {"math.exp %in0", "arith.negf %in0", "math.tanh %in0",
                           "math.rsqrt %in0", "math.absf %in0"};
    if (isFloat(element))
      return std::string("    %r = ") + reals[next(5)] + " : " + element + "\n";
    return "    %r = arith.muli %in0, %in0 : " + element + "\n";
  }
  std::string binaryCode(const std::string &element, const std::string &a,
                         const std::string &b) {
    const char *reals[] = {"arith.addf", "arith.mulf", "arith.subf",
                           "arith.divf", "arith.maximumf"};
    const char *integers[] = {"arith.addi", "arith.muli", "arith.subi",
                              "arith.maxsi", "arith.xori"};
    unsigned which = next(5);
    return std::string("    %r = ") +
           (isFloat(element) ? reals[which] : integers[which]) + " " + a +
           ", " + b + " : " + element + "\n";
  }

  void elementwise(const Value &x) {
    Value out = empty(x.shape, x.element, x, identity(x.shape.size()));
    generic({x}, {identity(x.shape.size())}, out, identity(x.shape.size()),
            std::vector<bool>(x.shape.size()), unaryCode(x.element));
  }
  void binary(const Value &x) {
    // Of the same shape, or one that is broadcast over some dimensions.
    size_t rank = x.shape.size();
    Shape shape;
    std::vector<int> map;
    for (size_t i = 0; i < rank; ++i) {
      unsigned how = next(4);
      if (how == 0)
        continue;
      bool one = how == 1;
      shape.push_back(one ? 1 : x.shape[i]);
      map.push_back(one ? -1 : static_cast<int>(i));
    }
    Value y = argument(shape, x.element);
    for (const Value &value : values)
      if (value.shape == shape && value.element == x.element && next(2)) {
        y = value;
        break;
      }
    Value out = empty(x.shape, x.element, x, identity(rank));
    generic({x, y}, {identity(rank), map}, out, identity(rank),
            std::vector<bool>(rank), binaryCode(x.element, "%in0", "%in1"));
  }
  void reduce(const Value &x) {
    size_t rank = x.shape.size();
    std::vector<bool> reductions(rank);
    Shape shape;
    std::vector<int> map;
    bool keep = next(2);
    for (size_t i = 0; i < rank; ++i) {
      reductions[i] = next(2);
      if (reductions[i] && !keep)
        continue;
      shape.push_back(reductions[i] ? 1 : x.shape[i]);
      map.push_back(reductions[i] ? -1 : static_cast<int>(i));
    }
    std::vector<int> from;
    for (int dimension : map)
      from.push_back(std::max(dimension, 0));
    Value out = empty(shape, x.element, x, from);
    if (next(4))
      out = fill(out);
    generic({x}, {identity(rank)}, out, map, reductions,
            binaryCode(x.element, "%in0", "%out"));
  }
  void transpose(const Value &x) {
    size_t rank = x.shape.size();
    std::vector<int> permutation = identity(rank);
    for (size_t i = rank; i > 1; --i)
      std::swap(permutation[i - 1], permutation[next(i)]);
    Shape shape;
    for (int dimension : permutation)
      shape.push_back(x.shape[dimension]);
    Value out = empty(shape, x.element, x, permutation);
    generic({x}, {identity(rank)}, out, permutation, std::vector<bool>(rank),
            "    %r = arith.bitcast %in0 : " + x.element + " to " + x.element +
                "\n");
  }
  void matmul(const Value &x) {
    if (x.shape.size() != 2)
      return elementwise(x);
    Value y = argument({x.shape[1], int64_t(1 + next(8))}, x.element);
    Value out = empty({x.shape[0], y.shape[1]}, x.element, x, {0, 0});
    out = fill(out);
    Value result{fresh(), out.shape, out.element};
    line(result.name + " = linalg.matmul ins(" + x.name + ", " + y.name +
         " : " + typeOf(x) + ", " + typeOf(y) + ") outs(" + out.name + " : " +
         typeOf(out) + ") -> " + typeOf(result));
    values.push_back(result);
  }
  void convert(const Value &x) {
    std::string to = element();
    if (to == x.element || !isFloat(to) || !isFloat(x.element))
      return elementwise(x);
    bool wider = to == "f64" || x.element == "f16";
    Value out = empty(x.shape, to, x, identity(x.shape.size()));
    generic({x}, {identity(x.shape.size())}, out, identity(x.shape.size()),
            std::vector<bool>(x.shape.size()),
            std::string("    %r = arith.") + (wider ? "extf" : "truncf") +
                " %in0 : " + x.element + " to " + to + "\n");
  }
  /// Only static shapes: which extents stay is not the point here.
  bool isStatic(const Value &x) {
    for (int64_t extent : x.shape)
      if (extent == kDynamic)
        return false;
    return true;
  }
  void slice(const Value &x) {
    // A slice of nothing has no place to begin.
    bool isEmpty = false;
    for (int64_t extent : x.shape)
      isEmpty |= extent == 0;
    if (!isStatic(x) || x.shape.empty() || isEmpty)
      return elementwise(x);
    Value result{fresh(), x.shape, x.element};
    std::string offsets, sizes, strides;
    for (size_t i = 0; i < x.shape.size(); ++i) {
      int64_t offset = next(x.shape[i]);
      result.shape[i] = 1 + next(x.shape[i] - offset);
      offsets += (i ? ", " : "") + std::to_string(offset);
      sizes += (i ? ", " : "") + std::to_string(result.shape[i]);
      strides += i ? ", 1" : "1";
    }
    std::string where = "[" + offsets + "] [" + sizes + "] [" + strides + "]";
    line(result.name + " = tensor.extract_slice " + x.name + where + " : " +
         typeOf(x) + " to " + typeOf(result));
    values.push_back(result);
    if (!next(2))
      return;
    Value back{fresh(), x.shape, x.element};
    line(back.name + " = tensor.insert_slice " + result.name + " into " +
         x.name + where + " : " + typeOf(result) + " into " + typeOf(x));
    values.push_back(back);
  }
  void reshape(const Value &x) {
    size_t rank = x.shape.size();
    if (!isStatic(x))
      return elementwise(x);
    if (next(2) && rank >= 2) {
      size_t at = next(rank - 1);
      Value result{fresh(), {}, x.element};
      std::string groups;
      for (size_t i = 0; i < rank; ++i) {
        if (i == at + 1)
          continue;
        result.shape.push_back(i == at ? x.shape[i] * x.shape[i + 1]
                                       : x.shape[i]);
        groups += (groups.empty() ? "[" : ", [") + std::to_string(i) +
                  (i == at ? ", " + std::to_string(i + 1) : "") + "]";
      }
      line(result.name + " = tensor.collapse_shape " + x.name + " [" + groups +
           "] : " + typeOf(x) + " into " + typeOf(result));
      values.push_back(result);
      return;
    }
    if (rank == 0)
      return elementwise(x);
    size_t at = next(rank);
    Value result{fresh(), {}, x.element};
    std::string groups, shape;
    for (size_t i = 0; i < rank; ++i) {
      size_t first = result.shape.size();
      groups += (i ? ", [" : "[") + std::to_string(first);
      if (i == at) {
        int64_t outer = x.shape[i] > 0 && x.shape[i] % 2 == 0 ? 2 : 1;
        result.shape.push_back(outer);
        result.shape.push_back(x.shape[i] / outer);
        groups += ", " + std::to_string(first + 1);
      } else {
        result.shape.push_back(x.shape[i]);
      }
      groups += "]";
    }
    for (size_t i = 0; i < result.shape.size(); ++i)
      shape += (i ? ", " : "") + std::to_string(result.shape[i]);
    line(result.name + " = tensor.expand_shape " + x.name + " [" + groups +
         "] output_shape [" + shape + "] : " + typeOf(x) + " into " +
         typeOf(result));
    values.push_back(result);
  }
  void pad(const Value &x) {
    if (x.shape.empty() || !isStatic(x))
      return elementwise(x);
    std::string scalar = constant(x.element);
    Value result{fresh(), x.shape, x.element};
    std::string low, high, block;
    for (size_t i = 0; i < x.shape.size(); ++i) {
      int64_t before = next(3), after = next(3);
      result.shape[i] += before + after;
      low += (i ? ", " : "") + std::to_string(before);
      high += (i ? ", " : "") + std::to_string(after);
      block += (i ? ", %p" : "%p") + std::to_string(i) + ": index";
    }
    line(result.name + " = tensor.pad " + x.name + " low[" + low + "] high[" +
         high + "] {");
    line("^bb0(" + block + "):");
    line("  tensor.yield " + scalar + " : " + x.element);
    line("} : " + typeOf(x) + " to " + typeOf(result));
    values.push_back(result);
  }
  /// Reads and writes one tensor: an accumulation.
  void accumulate(const Value &x) {
    size_t rank = x.shape.size();
    generic({}, {}, x, identity(rank), std::vector<bool>(rank),
            binaryCode(x.element, "%out", "%out"));
  }
  void cast(const Value &x) {
    if (x.shape.empty())
      return elementwise(x);
    Value result{fresh(), x.shape, x.element};
    result.shape[next(x.shape.size())] = kDynamic;
    line(result.name + " = tensor.cast " + x.name + " : " + typeOf(x) + " to " +
         typeOf(result));
    values.push_back(result);
  }
  void indices(const Value &x) {
    if (x.shape.empty() || x.element != "i32")
      return elementwise(x);
    size_t rank = x.shape.size();
    Value out = empty(x.shape, x.element, x, identity(rank));
    generic({}, {}, out, identity(rank), std::vector<bool>(rank),
            "    %n = linalg.index " + std::to_string(next(rank)) +
                " : index\n    %r = arith.index_cast %n : index to i32\n");
  }

  void anyOp() {
    Value x = pick();
    switch (next(14)) {
    case 0:
      return elementwise(x);
    case 1:
    case 2:
      return binary(x);
    case 3:
    case 4:
      return reduce(x);
    case 5:
      return transpose(x);
    case 6:
    case 7:
      return matmul(x);
    case 8:
      return convert(x);
    case 9:
      return slice(x);
    case 10:
      return reshape(x);
    case 11:
      return pad(x);
    case 12:
      return next(2) ? accumulate(x) : indices(x);
    default:
      return cast(x);
    }
  }

  std::string_view bytes;
  std::string arguments, body;
  std::vector<Value> values;
  int count = 0, argumentCount = 0;
};

} // namespace

std::string fastk::fuzz::modelFromBytes(std::string_view bytes) {
  return Generator(bytes).run();
}
