//===- ModelGenerator.h - Ops that bytes choose -----------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_UNITTESTS_FUZZ_MODELGENERATOR_H
#define FASTK_UNITTESTS_FUZZ_MODELGENERATOR_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fastk::fuzz {

using Shape = std::vector<int64_t>;
inline constexpr int64_t kDynamic = -1;
/// More ops make no new situations, only slower ones.
inline constexpr int kMaxOps = 24;
/// Of a program that is run: errors grow with each.
inline constexpr int kMaxOpsRun = 8;
/// Elements of a tensor that grows no more.
inline constexpr int64_t kMaxElements = 4096;

struct Value {
  std::string name;
  Shape shape;
  std::string element;
};

std::string typeOf(const Value &value);

/// What one function computes.
struct Program {
  std::vector<Value> arguments, results;
  std::string body;
};

/// Writes one function. Any ops are in GenerateOps.cpp, those of programs that
/// are run in GenerateRunnableOps.cpp, the text of both in ModelGenerator.cpp.
class ModelGenerator {
public:
  /// `isRun` asks for a program with results for any operands.
  ModelGenerator(std::string_view bytes, bool isRun)
      : bytes(bytes), isRun(isRun) {}
  Program run();

private:
  unsigned next(unsigned limit);
  const Value &pick();
  std::string element();
  Shape anyShape();
  static bool isFloat(const std::string &element) { return element[0] != 'i'; }
  Value argument(Shape shape, const std::string &element);
  std::string fresh(const char *kind = "v");
  void line(const std::string &text) { program.body += "  " + text + "\n"; }
  std::string constant(const std::string &element);
  /// An empty tensor whose dynamic extents are those of `like`, dimension by
  /// dimension as `from` says.
  Value empty(const Shape &shape, const std::string &element, const Value &like,
              const std::vector<int> &from);
  Value fill(const Value &into);
  static std::string dims(size_t rank);
  static std::string mapText(size_t rank, const std::vector<int> &results);
  static std::vector<int> identity(size_t rank);
  /// A generic over `rank` dimensions; `reductions` says which of them reduce.
  Value generic(const std::vector<Value> &inputs,
                const std::vector<std::vector<int>> &maps, const Value &out,
                const std::vector<int> &outMap,
                const std::vector<bool> &reductions,
                const std::string &scalarCode,
                const std::string &yielded = "%r");
  /// `%r` of one operand, in its own type.
  std::string unaryCode(const std::string &element);
  std::string binaryCode(const std::string &element, const std::string &a,
                         const std::string &b);
  /// Of which the order of a reduction changes the rounding alone.
  std::string combinerCode(const std::string &element);
  void elementwise(const Value &x);
  void binary(const Value &x);
  void reduce(const Value &x);
  void transpose(const Value &x);
  void matmul(const Value &x);
  void convert(const Value &x);
  /// Only static shapes: which extents stay is not the point here.
  bool isStatic(const Value &x);
  void slice(const Value &x);
  void reshape(const Value &x);
  void pad(const Value &x);
  static int64_t elementsOf(const Shape &shape);
  /// A tensor of `shape` filled with a constant.
  Value filled(const Shape &shape, const std::string &element);
  static std::string denseOf(const std::vector<int64_t> &numbers);
  /// A named op of two operands that writes into `out`.
  void named(const std::string &op, const Value &x, const Value &y,
             const Value &out);
  void batchMatmul();
  /// Over windows of one or two dimensions: convolutions and poolings.
  void windows();
  void concatenate(const Value &x);
  /// Every second or third element.
  void strided(const Value &x);
  /// Over the last dimension: exponentials over their sum.
  void softmax(const Value &x);
  void choose(const Value &x);
  /// Rows of a table by their numbers, which may be any: they are clamped.
  void gather(const Value &x);
  /// The largest of the last dimension, and where it is first.
  void argmax(const Value &x);
  /// Reads and writes one tensor: an accumulation.
  void accumulate(const Value &x);
  void cast(const Value &x);
  void indices(const Value &x);
  void anyOpRun(const Value &x);
  void anyOp();

  std::string_view bytes;
  bool isRun;
  Program program;
  std::vector<Value> values;
  int count = 0;
};

} // namespace fastk::fuzz

#endif // FASTK_UNITTESTS_FUZZ_MODELGENERATOR_H
