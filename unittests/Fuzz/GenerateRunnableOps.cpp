//===- GenerateRunnableOps.cpp - Ops with a result for any operands -------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModelGenerator.h"

using namespace fastk::fuzz;

void ModelGenerator::batchMatmul() {
  int64_t batch = 1 + next(4), m = 1 + next(33), n = 1 + next(40),
          k = 1 + next(70);
  std::string type = element();
  Value x = argument({batch, m, k}, type), y = argument({batch, k, n}, type);
  named("batch_matmul", x, y, filled({batch, m, n}, type));
}

void ModelGenerator::windows() {
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
    return named("conv_" + n + (isOne ? "_ncw_fcw" : "_nchw_fchw") + attributes,
                 x, y, filled(with({batch, features}, result), type));
  }
  case 1: { // channels last
    Value x = argument(with({batch}, image, {channels}), type);
    Value y = argument(with({}, kernel, {channels, features}), type);
    return named("conv_" + n + (isOne ? "_nwc_wcf" : "_nhwc_hwcf") + attributes,
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

void ModelGenerator::concatenate(const Value &x) {
  if (x.shape.empty() || !isStatic(x) || elementsOf(x.shape) > kMaxElements)
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

void ModelGenerator::strided(const Value &x) {
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

void ModelGenerator::softmax(const Value &x) {
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

void ModelGenerator::choose(const Value &x) {
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

void ModelGenerator::gather(const Value &x) {
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

void ModelGenerator::argmax(const Value &x) {
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

void ModelGenerator::anyOpRun(const Value &x) {
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
