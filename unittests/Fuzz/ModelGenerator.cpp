//===- ModelGenerator.cpp - The text of ops that bytes choose -------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModelGenerator.h"
#include <numeric>

using namespace fastk::fuzz;

std::string fastk::fuzz::typeOf(const Value &value) {
  std::string text = "tensor<";
  for (int64_t extent : value.shape)
    text += (extent == kDynamic ? "?" : std::to_string(extent)) + "x";
  return text + value.element + ">";
}

unsigned ModelGenerator::next(unsigned limit) {
  if (bytes.empty())
    return 0;
  unsigned value = static_cast<unsigned char>(bytes.front());
  bytes.remove_prefix(1);
  return value % limit;
}

const Value &ModelGenerator::pick() {
  return values[values.size() - 1 - next(values.size())];
}

std::string ModelGenerator::element() {
  const char *names[] = {"f32", "f32", "f32",  "f16",
                         "f64", "i32", "bf16", "i64"};
  return names[next(isRun ? 8 : 6)];
}

Shape ModelGenerator::anyShape() {
  if (isRun) {
    const int64_t extents[] = {1, 2, 3, 4, 5, 8, 17, 32, 100};
    Shape shape(next(5));
    int64_t elements = 1;
    for (int64_t &extent : shape) {
      extent = extents[next(9)];
      if (elements * extent > kMaxElements)
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

Value ModelGenerator::argument(Shape shape, const std::string &element) {
  Value value{fresh("a"), std::move(shape), element};
  program.arguments.push_back(value);
  values.push_back(value);
  return value;
}

std::string ModelGenerator::fresh(const char *kind) {
  return "%" + std::string(kind) + std::to_string(count++);
}

std::string ModelGenerator::constant(const std::string &element) {
  std::string name = fresh("c");
  const char *reals[] = {"0.0", "1.0", "-3.5", "1.0e-5"};
  const char *integers[] = {"0", "1", "-3", "7"};
  line(name + " = arith.constant " +
       (isFloat(element) ? reals[next(4)] : integers[next(4)]) + " : " +
       element);
  return name;
}

Value ModelGenerator::empty(const Shape &shape, const std::string &element,
                            const Value &like, const std::vector<int> &from) {
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

Value ModelGenerator::fill(const Value &into) {
  std::string scalar = constant(into.element);
  Value value{fresh(), into.shape, into.element};
  line(value.name + " = linalg.fill ins(" + scalar + " : " + into.element +
       ") outs(" + into.name + " : " + typeOf(into) + ") -> " + typeOf(value));
  return value;
}

std::string ModelGenerator::dims(size_t rank) {
  std::string text = "(";
  for (size_t i = 0; i < rank; ++i)
    text += (i ? ", d" : "d") + std::to_string(i);
  return text + ")";
}

std::string ModelGenerator::mapText(size_t rank,
                                    const std::vector<int> &results) {
  std::string text = "affine_map<" + dims(rank) + " -> (";
  for (size_t i = 0; i < results.size(); ++i)
    text +=
        (i ? ", " : "") +
        (results[i] < 0 ? std::string("0") : "d" + std::to_string(results[i]));
  return text + ")>";
}

std::vector<int> ModelGenerator::identity(size_t rank) {
  std::vector<int> result(rank);
  std::iota(result.begin(), result.end(), 0);
  return result;
}

Value ModelGenerator::generic(const std::vector<Value> &inputs,
                              const std::vector<std::vector<int>> &maps,
                              const Value &out, const std::vector<int> &outMap,
                              const std::vector<bool> &reductions,
                              const std::string &scalarCode,
                              const std::string &yielded) {
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
  std::string ins = inputs.empty() ? "" : " ins(" + names + " : " + types + ")";
  line(result.name + " = linalg.generic {indexing_maps = [" + mapList +
       "], iterator_types = [" + iterators + "]}" + ins + " outs(" + out.name +
       " : " + typeOf(out) + ") {");
  line("^bb0(" + block + "%out: " + out.element + "):");
  program.body += scalarCode;
  line("  linalg.yield " + yielded + " : " + out.element);
  line("} -> " + typeOf(result));
  values.push_back(result);
  return result;
}

std::string ModelGenerator::unaryCode(const std::string &element) {
  const char *reals[] = {"math.exp %in0", "arith.negf %in0", "math.tanh %in0",
                         "math.rsqrt %in0", "math.absf %in0"};
  if (isFloat(element))
    return std::string("    %r = ") + reals[next(5)] + " : " + element + "\n";
  return "    %r = arith.muli %in0, %in0 : " + element + "\n";
}

std::string ModelGenerator::binaryCode(const std::string &element,
                                       const std::string &a,
                                       const std::string &b) {
  const char *reals[] = {"arith.addf", "arith.mulf", "arith.subf", "arith.divf",
                         "arith.maximumf"};
  const char *integers[] = {"arith.addi", "arith.muli", "arith.subi",
                            "arith.maxsi", "arith.xori"};
  unsigned which = next(5);
  return std::string("    %r = ") +
         (isFloat(element) ? reals[which] : integers[which]) + " " + a + ", " +
         b + " : " + element + "\n";
}

std::string ModelGenerator::combinerCode(const std::string &element) {
  const char *reals[] = {"arith.addf", "arith.mulf", "arith.maximumf",
                         "arith.minimumf"};
  const char *integers[] = {"arith.addi", "arith.muli", "arith.maxsi",
                            "arith.xori"};
  unsigned which = next(4);
  return std::string("    %r = ") +
         (isFloat(element) ? reals[which] : integers[which]) +
         " %in0, %out : " + element + "\n";
}

Value ModelGenerator::filled(const Shape &shape, const std::string &element) {
  Value like{"", shape, element};
  return fill(empty(shape, element, like, identity(shape.size())));
}

std::string ModelGenerator::denseOf(const std::vector<int64_t> &numbers) {
  std::string text = "dense<[";
  for (size_t i = 0; i < numbers.size(); ++i)
    text += (i ? ", " : "") + std::to_string(numbers[i]);
  return text + "]> : tensor<" + std::to_string(numbers.size()) + "xi64>";
}

void ModelGenerator::named(const std::string &op, const Value &x,
                           const Value &y, const Value &out) {
  Value result{fresh(), out.shape, out.element};
  line(result.name + " = linalg." + op + " ins(" + x.name + ", " + y.name +
       " : " + typeOf(x) + ", " + typeOf(y) + ") outs(" + out.name + " : " +
       typeOf(out) + ") -> " + typeOf(result));
  values.push_back(result);
}
