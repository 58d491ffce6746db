//===- ModelFromBytes.cpp - A model for any bytes -------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModelFromBytes.h"
#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

namespace {

using Shape = std::vector<int64_t>;
constexpr int64_t kDynamic = -1;
/// More ops make no new situations, only slower ones.
constexpr int kMostOps = 24;
/// Of a program that is run: errors grow with each.
constexpr int kMostOpsRun = 8;
/// Elements of a tensor that grows no more.
constexpr int64_t kMostElements = 4096;

struct Value {
  std::string name;
  Shape shape;
  std::string element;
};

std::string typeOf(const Value &value) {
  std::string text = "tensor<";
  for (int64_t extent : value.shape)
    text += (extent == kDynamic ? "?" : std::to_string(extent)) + "x";
  return text + value.element + ">";
}

/// What one function computes.
struct Program {
  std::vector<Value> arguments, results;
  std::string body;
};

class Generator {
public:
  /// `isRun` asks for a program with results for any operands.
  Generator(std::string_view bytes, bool isRun) : bytes(bytes), isRun(isRun) {}

  Program run() {
    int inputs = 1 + next(3);
    for (int i = 0; i < inputs; ++i)
      argument(anyShape(), element());
    int most = isRun ? kMostOpsRun : kMostOps;
    for (int ops = 0; !bytes.empty() && ops < most; ++ops)
      anyOp();
    int results = 1 + next(3);
    for (int i = 0; i < results; ++i)
      program.results.push_back(i == 0 ? values.back() : pick());
    return program;
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
    const char *names[] = {"f32", "f32", "f32",  "f16",
                           "f64", "i32", "bf16", "i64"};
    return names[next(isRun ? 8 : 6)];
  }
  Shape anyShape() {
    if (isRun) {
      const int64_t extents[] = {1, 2, 3, 4, 5, 8, 17, 32, 100};
      Shape shape(next(5));
      int64_t elements = 1;
      for (int64_t &extent : shape) {
        extent = extents[next(9)];
        if (elements * extent > kMostElements)
          extent = 1;
        elements *= extent;
      }
      return shape;
    }
    const int64_t extents[] = {1, 2, 3, 4, 8, 16, 0, kDynamic};
    Shape shape(next(5));
    for (int64_t &extent : shape)
      extent = extents[next(8)];
    return shape;
  }
  static bool isFloat(const std::string &element) { return element[0] != 'i'; }

  Value argument(Shape shape, const std::string &element) {
    Value value{fresh("a"), std::move(shape), element};
    program.arguments.push_back(value);
    values.push_back(value);
    return value;
  }
  std::string fresh(const char *kind = "v") {
    return "%" + std::string(kind) + std::to_string(count++);
  }
  void line(const std::string &text) { program.body += "  " + text + "\n"; }

  std::string constant(const std::string &element) {
    std::string name = fresh("c");
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
      std::string index = fresh("i");
      line(index + " = arith.constant " + std::to_string(from[i]) + " : index");
      std::string size = fresh("d");
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
                const std::string &scalarCode,
                const std::string &yielded = "%r") {
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
    program.body += scalarCode;
    line("  linalg.yield " + yielded + " : " + out.element);
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

  /// Of which the order of a reduction changes the rounding alone.
  std::string combinerCode(const std::string &element) {
    const char *reals[] = {"arith.addf", "arith.mulf", "arith.maximumf",
                           "arith.minimumf"};
    const char *integers[] = {"arith.addi", "arith.muli", "arith.maxsi",
                              "arith.xori"};
    unsigned which = next(4);
    return std::string("    %r = ") +
           (isFloat(element) ? reals[which] : integers[which]) +
           " %in0, %out : " + element + "\n";
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
    if (next(4) || isRun)
      out = fill(out);
    generic({x}, {identity(rank)}, out, map, reductions,
            isRun ? combinerCode(x.element)
                  : binaryCode(x.element, "%in0", "%out"));
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
    // Of the bits of a float there is no oracle.
    std::string same = "    %r = arith.bitcast %in0 : " + x.element + " to " +
                       x.element + "\n";
    generic({x}, {identity(rank)}, out, permutation, std::vector<bool>(rank),
            isRun ? "" : same, isRun ? "%in0" : "%r");
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
    auto widthOf = [](const std::string &type) {
      return type == "f64" ? 64 : type == "f32" ? 32 : 16;
    };
    if (!isFloat(to) || !isFloat(x.element) ||
        widthOf(to) == widthOf(x.element))
      return elementwise(x);
    bool wider = widthOf(to) > widthOf(x.element);
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
    if (x.shape.empty() || !isStatic(x) || elementsOf(x.shape) > kMostElements)
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
  static int64_t elementsOf(const Shape &shape) {
    return std::accumulate(shape.begin(), shape.end(), int64_t(1),
                           std::multiplies<>());
  }
  /// A tensor of `shape` filled with a constant.
  Value filled(const Shape &shape, const std::string &element) {
    Value like{"", shape, element};
    return fill(empty(shape, element, like, identity(shape.size())));
  }
  static std::string denseOf(const std::vector<int64_t> &numbers) {
    std::string text = "dense<[";
    for (size_t i = 0; i < numbers.size(); ++i)
      text += (i ? ", " : "") + std::to_string(numbers[i]);
    return text + "]> : tensor<" + std::to_string(numbers.size()) + "xi64>";
  }
  /// A named op of two operands that writes into `out`.
  void named(const std::string &op, const Value &x, const Value &y,
             const Value &out) {
    Value result{fresh(), out.shape, out.element};
    line(result.name + " = linalg." + op + " ins(" + x.name + ", " + y.name +
         " : " + typeOf(x) + ", " + typeOf(y) + ") outs(" + out.name + " : " +
         typeOf(out) + ") -> " + typeOf(result));
    values.push_back(result);
  }

  void batchMatmul() {
    int64_t batch = 1 + next(4), m = 1 + next(33), n = 1 + next(40),
            k = 1 + next(70);
    std::string type = element();
    Value x = argument({batch, m, k}, type), y = argument({batch, k, n}, type);
    named("batch_matmul", x, y, filled({batch, m, n}, type));
  }
  /// Over windows of one or two dimensions: convolutions and poolings.
  void windows() {
    std::string type = element();
    size_t spatial = 1 + next(2);
    int64_t batch = 1 + next(2), channels = 1 + next(5), features = 1 + next(6);
    Shape image, kernel, result;
    std::vector<int64_t> strides, dilations;
    for (size_t i = 0; i < spatial; ++i) {
      kernel.push_back(1 + next(4));
      strides.push_back(1 + next(3));
      dilations.push_back(1 + next(2));
      result.push_back(1 + next(7));
      image.push_back((result[i] - 1) * strides[i] +
                      (kernel[i] - 1) * dilations[i] + 1 + next(2));
    }
    std::string attributes = " {dilations = " + denseOf(dilations) +
                             ", strides = " + denseOf(strides) + "}";
    auto with = [](Shape front, const Shape &middle, const Shape &back = {}) {
      front.insert(front.end(), middle.begin(), middle.end());
      front.insert(front.end(), back.begin(), back.end());
      return front;
    };
    std::string n = std::to_string(spatial) + "d";
    bool isOne = spatial == 1;
    switch (next(5)) {
    case 0: { // channels first
      Value x = argument(with({batch, channels}, image), type);
      Value y = argument(with({features, channels}, kernel), type);
      return named("conv_" + n + (isOne ? "_ncw_fcw" : "_nchw_fchw") +
                       attributes,
                   x, y, filled(with({batch, features}, result), type));
    }
    case 1: { // channels last
      Value x = argument(with({batch}, image, {channels}), type);
      Value y = argument(with({}, kernel, {channels, features}), type);
      return named("conv_" + n + (isOne ? "_nwc_wcf" : "_nhwc_hwcf") +
                       attributes,
                   x, y, filled(with({batch}, result, {features}), type));
    }
    case 2: { // one filter a channel
      Value x = argument(with({batch, channels}, image), type);
      Value y = argument(with({channels}, kernel), type);
      return named("depthwise_conv_" + n + (isOne ? "_ncw_cw" : "_nchw_chw") +
                       attributes,
                   x, y, filled(with({batch, channels}, result), type));
    }
    default: {
      Value x = argument(with({batch, channels}, image), type);
      Value window = empty(kernel, type, x, identity(spatial));
      return named(std::string("pooling_") + (isOne ? "ncw" : "nchw") +
                       (next(2) ? "_max" : "_sum") + attributes,
                   x, window, filled(with({batch, channels}, result), type));
    }
    }
  }
  void concatenate(const Value &x) {
    if (x.shape.empty() || !isStatic(x) || elementsOf(x.shape) > kMostElements)
      return elementwise(x);
    size_t along = next(x.shape.size());
    Shape shape = x.shape;
    shape[along] = 1 + next(6);
    Value y = argument(shape, x.element);
    Value result{fresh(), x.shape, x.element};
    result.shape[along] += y.shape[along];
    line(result.name + " = tensor.concat dim(" + std::to_string(along) + ") " +
         x.name + ", " + y.name + " : (" + typeOf(x) + ", " + typeOf(y) +
         ") -> " + typeOf(result));
    values.push_back(result);
  }
  /// Every second or third element.
  void strided(const Value &x) {
    if (x.shape.empty() || !isStatic(x))
      return elementwise(x);
    Value result{fresh(), x.shape, x.element};
    std::string offsets, sizes, strides;
    for (size_t i = 0; i < x.shape.size(); ++i) {
      int64_t step = 1 + next(3);
      int64_t first = next(static_cast<unsigned>(x.shape[i]));
      result.shape[i] = (x.shape[i] - first + step - 1) / step;
      offsets += (i ? ", " : "") + std::to_string(first);
      sizes += (i ? ", " : "") + std::to_string(result.shape[i]);
      strides += (i ? ", " : "") + std::to_string(step);
    }
    line(result.name + " = tensor.extract_slice " + x.name + "[" + offsets +
         "] [" + sizes + "] [" + strides + "] : " + typeOf(x) + " to " +
         typeOf(result));
    values.push_back(result);
  }
  /// Over the last dimension: exponentials over their sum.
  void softmax(const Value &x) {
    size_t rank = x.shape.size();
    if (rank == 0 || !isFloat(x.element) || !isStatic(x))
      return elementwise(x);
    Shape rows(x.shape.begin(), x.shape.end() - 1);
    std::vector<int> all = identity(rank), outer = identity(rank - 1);
    std::vector<bool> parallel(rank), last(rank);
    last[rank - 1] = true;
    std::string t = x.element;
    Value most = generic({x}, {all}, filled(rows, t), outer, last,
                         "    %r = arith.maximumf %in0, %out : " + t + "\n");
    Value out = empty(x.shape, t, x, all);
    Value power = generic({x, most}, {all, outer}, out, all, parallel,
                          "    %s = arith.subf %in0, %in1 : " + t +
                              "\n    %r = math.exp %s : " + t + "\n");
    Value sum = generic({power}, {all}, filled(rows, t), outer, last,
                        "    %r = arith.addf %in0, %out : " + t + "\n");
    generic({power, sum}, {all, outer}, out, all, parallel,
            "    %r = arith.divf %in0, %in1 : " + t + "\n");
  }
  void choose(const Value &x) {
    size_t rank = x.shape.size();
    Value y = argument(x.shape, x.element);
    std::string test = isFloat(x.element) ? "cmpf ogt" : "cmpi sgt";
    generic({x, y}, {identity(rank), identity(rank)},
            empty(x.shape, x.element, x, identity(rank)), identity(rank),
            std::vector<bool>(rank),
            "    %s = arith." + test + ", %in0, %in1 : " + x.element +
                "\n    %n = arith.select %s, %in0, %in1 : " + x.element +
                "\n    %r = arith." + (isFloat(x.element) ? "addf" : "addi") +
                " %n, %in1 : " + x.element + "\n");
  }
  /// Rows of a table by their numbers, which may be any: they are clamped.
  void gather(const Value &x) {
    if (x.shape.empty() || !isStatic(x))
      return elementwise(x);
    size_t rank = x.shape.size();
    Value which = argument({int64_t(1 + next(9))}, "i64");
    Shape shape = x.shape;
    shape[0] = which.shape[0];
    std::string code =
        "    %zero = arith.constant 0 : i64\n    %most = arith.constant " +
        std::to_string(x.shape[0] - 1) +
        " : i64\n    %low = arith.maxsi %in0, %zero : i64\n"
        "    %clamped = arith.minsi %low, %most : i64\n"
        "    %n0 = arith.index_cast %clamped : i64 to index\n";
    std::string place = "%n0";
    for (size_t i = 1; i < rank; ++i) {
      std::string name = "%n" + std::to_string(i);
      code +=
          "    " + name + " = linalg.index " + std::to_string(i) + " : index\n";
      place += ", " + name;
    }
    code += "    %r = tensor.extract " + x.name + "[" + place +
            "] : " + typeOf(x) + "\n";
    generic({which}, {{0}}, empty(shape, x.element, x, identity(rank)),
            identity(rank), std::vector<bool>(rank), code);
  }
  /// The largest of the last dimension, and where it is first.
  void argmax(const Value &x) {
    size_t rank = x.shape.size();
    if (rank == 0 || !isStatic(x))
      return elementwise(x);
    Shape rows(x.shape.begin(), x.shape.end() - 1);
    std::string t = x.element;
    Value start = filled(rows, t), where = filled(rows, "i64");
    std::string pair = fresh();
    std::string iterators;
    for (size_t i = 0; i < rank; ++i)
      iterators += i + 1 < rank ? "\"parallel\", " : "\"reduction\"";
    std::string map = mapText(rank, identity(rank - 1));
    line(pair + ":2 = linalg.generic {indexing_maps = [" +
         mapText(rank, identity(rank)) + ", " + map + ", " + map +
         "], iterator_types = [" + iterators + "]} ins(" + x.name + " : " +
         typeOf(x) + ") outs(" + start.name + ", " + where.name + " : " +
         typeOf(start) + ", " + typeOf(where) + ") {");
    line("^bb0(%in0: " + t + ", %best: " + t + ", %at: i64):");
    line("  %n = linalg.index " + std::to_string(rank - 1) + " : index");
    line("  %here = arith.index_cast %n : index to i64");
    line(std::string("  %s = arith.") + (isFloat(t) ? "cmpf ogt" : "cmpi sgt") +
         ", %in0, %best : " + t);
    line("  %r = arith.select %s, %in0, %best : " + t);
    line("  %w = arith.select %s, %here, %at : i64");
    line("  linalg.yield %r, %w : " + t + ", i64");
    line("} -> (" + typeOf(start) + ", " + typeOf(where) + ")");
    values.push_back({pair + "#0", rows, t});
    values.push_back({pair + "#1", rows, "i64"});
  }

  /// Reads and writes one tensor: an accumulation.
  void accumulate(const Value &x) {
    size_t rank = x.shape.size();
    generic({}, {}, x, identity(rank), std::vector<bool>(rank),
            binaryCode(x.element, "%out", "%out"));
  }
  void cast(const Value &x) {
    if (x.shape.empty() || isRun)
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

  void anyOpRun(const Value &x) {
    switch (next(10)) {
    case 0:
      return batchMatmul();
    case 1:
    case 2:
    case 3:
      return windows();
    case 4:
      return concatenate(x);
    case 5:
      return strided(x);
    case 6:
      return softmax(x);
    case 7:
      return choose(x);
    case 8:
      return gather(x);
    default:
      return argmax(x);
    }
  }
  void anyOp() {
    Value x = pick();
    // Bytes of the fuzzer's corpora mean what they meant.
    if (isRun && next(2))
      return anyOpRun(x);
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
  bool isRun;
  Program program;
  std::vector<Value> values;
  int count = 0;
};

std::string listOf(const std::vector<Value> &values, bool names, bool types) {
  std::string text;
  for (const Value &value : values)
    text += (text.empty() ? "" : ", ") + (names ? value.name : "") +
            (names && types ? ": " : "") + (types ? typeOf(value) : "");
  return text;
}

std::string functionText(const Program &program, const std::string &name) {
  std::string types = listOf(program.results, false, true);
  return "func.func @" + name + "(" + listOf(program.arguments, true, true) +
         ") -> (" + types + ") {\n" + program.body + "  return " +
         listOf(program.results, true, false) + " : " + types + "\n}\n";
}

} // namespace

std::string fastk::fuzz::modelFromBytes(std::string_view bytes) {
  return functionText(Generator(bytes, /*isRun=*/false).run(), "main");
}

std::string fastk::fuzz::runnableProgram(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string bytes(256, '\0');
  for (char &byte : bytes)
    byte = static_cast<char>(random());
  return functionText(Generator(bytes, /*isRun=*/true).run(),
                      "program_" + std::to_string(seed));
}
