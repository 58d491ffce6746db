//===- GenerateOps.cpp - Any ops that a model may have --------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModelGenerator.h"
#include <algorithm>
#include <numeric>

using namespace fastk::fuzz;

Program ModelGenerator::run() {
  int inputs = 1 + next(3);
  for (int i = 0; i < inputs; ++i)
    argument(anyShape(), element());
  int most = isRun ? kMaxOpsRun : kMaxOps;
  for (int ops = 0; !bytes.empty() && ops < most; ++ops)
    anyOp();
  int results = 1 + next(3);
  for (int i = 0; i < results; ++i)
    program.results.push_back(i == 0 ? values.back() : pick());
  return program;
}

void ModelGenerator::elementwise(const Value &x) {
  Value out = empty(x.shape, x.element, x, identity(x.shape.size()));
  generic({x}, {identity(x.shape.size())}, out, identity(x.shape.size()),
          std::vector<bool>(x.shape.size()), unaryCode(x.element));
}

void ModelGenerator::binary(const Value &x) {
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

void ModelGenerator::reduce(const Value &x) {
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

void ModelGenerator::transpose(const Value &x) {
  size_t rank = x.shape.size();
  std::vector<int> permutation = identity(rank);
  for (size_t i = rank; i > 1; --i)
    std::swap(permutation[i - 1], permutation[next(i)]);
  Shape shape;
  for (int dimension : permutation)
    shape.push_back(x.shape[dimension]);
  Value out = empty(shape, x.element, x, permutation);
  // Of the bits of a float there is no oracle.
  std::string same =
      "    %r = arith.bitcast %in0 : " + x.element + " to " + x.element + "\n";
  generic({x}, {identity(rank)}, out, permutation, std::vector<bool>(rank),
          isRun ? "" : same, isRun ? "%in0" : "%r");
}

void ModelGenerator::matmul(const Value &x) {
  if (x.shape.size() != 2)
    return elementwise(x);
  Value y = argument({x.shape[1], int64_t(1 + next(8))}, x.element);
  Value out = empty({x.shape[0], y.shape[1]}, x.element, x, {0, 0});
  out = fill(out);
  Value result{fresh(), out.shape, out.element};
  line(result.name + " = linalg.matmul ins(" + x.name + ", " + y.name + " : " +
       typeOf(x) + ", " + typeOf(y) + ") outs(" + out.name + " : " +
       typeOf(out) + ") -> " + typeOf(result));
  values.push_back(result);
}

void ModelGenerator::convert(const Value &x) {
  std::string to = element();
  auto widthOf = [](const std::string &type) {
    return type == "f64" ? 64 : type == "f32" ? 32 : 16;
  };
  if (!isFloat(to) || !isFloat(x.element) || widthOf(to) == widthOf(x.element))
    return elementwise(x);
  bool wider = widthOf(to) > widthOf(x.element);
  Value out = empty(x.shape, to, x, identity(x.shape.size()));
  generic({x}, {identity(x.shape.size())}, out, identity(x.shape.size()),
          std::vector<bool>(x.shape.size()),
          std::string("    %r = arith.") + (wider ? "extf" : "truncf") +
              " %in0 : " + x.element + " to " + to + "\n");
}

bool ModelGenerator::isStatic(const Value &x) {
  for (int64_t extent : x.shape)
    if (extent == kDynamic)
      return false;
  return true;
}

void ModelGenerator::slice(const Value &x) {
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
  line(back.name + " = tensor.insert_slice " + result.name + " into " + x.name +
       where + " : " + typeOf(result) + " into " + typeOf(x));
  values.push_back(back);
}

void ModelGenerator::reshape(const Value &x) {
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

void ModelGenerator::pad(const Value &x) {
  if (x.shape.empty() || !isStatic(x) || elementsOf(x.shape) > kMaxElements)
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

int64_t ModelGenerator::elementsOf(const Shape &shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1),
                         std::multiplies<>());
}

void ModelGenerator::accumulate(const Value &x) {
  size_t rank = x.shape.size();
  generic({}, {}, x, identity(rank), std::vector<bool>(rank),
          binaryCode(x.element, "%out", "%out"));
}

void ModelGenerator::cast(const Value &x) {
  if (x.shape.empty() || isRun)
    return elementwise(x);
  Value result{fresh(), x.shape, x.element};
  result.shape[next(x.shape.size())] = kDynamic;
  line(result.name + " = tensor.cast " + x.name + " : " + typeOf(x) + " to " +
       typeOf(result));
  values.push_back(result);
}

void ModelGenerator::indices(const Value &x) {
  if (x.shape.empty() || x.element != "i32")
    return elementwise(x);
  size_t rank = x.shape.size();
  Value out = empty(x.shape, x.element, x, identity(rank));
  generic({}, {}, out, identity(rank), std::vector<bool>(rank),
          "    %n = linalg.index " + std::to_string(next(rank)) +
              " : index\n    %r = arith.index_cast %n : index to i32\n");
}

void ModelGenerator::anyOp() {
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
