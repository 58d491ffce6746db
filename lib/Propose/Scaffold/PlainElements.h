//===- PlainElements.h - Elements of values in a plain program --*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An element of a value is loaded where a step stored the value, and computed
// from elements of others where none did.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_PROPOSE_SCAFFOLD_PLAINELEMENTS_H
#define FASTK_LIB_PROPOSE_SCAFFOLD_PLAINELEMENTS_H

#include "PlainSteps.h"
#include "PlainText.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/Twine.h"
#include <map>
#include <set>

namespace fastk::scaffold {

/// Lines of a function, indented by blocks.
class Lines {
public:
  Lines(std::string &out, unsigned indent) : out(out), indent(indent) {}
  void add(const llvm::Twine &line) {
    out.append(indent * 2, ' ');
    out += line.str() + "\n";
  }
  void open(const llvm::Twine &head) {
    add(head + " {");
    ++indent;
  }
  void close() {
    --indent;
    add("}");
  }

private:
  std::string &out;
  unsigned indent;
};

/// Where a value lies, row-major.
struct Buffer {
  std::string name;
  Elem elem = Elem::F32;
};

/// "complex<f32>", for messages.
std::string typeText(mlir::Type type);

class Elements {
public:
  Elements(PlainLanguage &language, const StepChoice &steps,
           std::string indexType)
      : language(language), steps(steps), indexType(std::move(indexType)) {}

  const std::string &getIndexType() const { return indexType; }
  void place(mlir::Value value, Buffer buffer) {
    buffers[value] = std::move(buffer);
  }
  const Buffer &bufferOf(mlir::Value value) const { return buffers.at(value); }

  /// Forgets the names and the buffers of the step before.
  void beginStep();
  /// The name, or the first one like it that is free.
  std::string newName(const std::string &wanted);
  /// The thread's number, and the indices that were made of it.
  void setThread(Text number, llvm::ArrayRef<int64_t> extents,
                 llvm::ArrayRef<Text> indices);
  llvm::ArrayRef<std::string> getThreadNames() const { return threadIndices; }
  void noteUse(const std::string &buffer, bool isWritten = false);
  bool isWritten(const std::string &buffer) const {
    return written.count(buffer) != 0;
  }
  /// In the order of parameters: operands, workspaces, results.
  std::vector<std::string> usedBuffers() const;

  /// The element of a value at an index. With \p computes not as it is stored:
  /// for whoever stores it.
  Text at(Lines &lines, mlir::Value value, llvm::ArrayRef<Text> index,
          bool computes = false);
  /// The results of a body at its parallel loops; the others are written.
  llvm::SmallVector<Text> evaluate(Lines &lines, mlir::linalg::GenericOp op,
                                   llvm::SmallVector<Text> loops);
  /// What a scan's body makes of its two arguments.
  Text combine(Lines &lines, mlir::Block &body, llvm::ArrayRef<Text> arguments);
  llvm::SmallVector<Text> apply(mlir::AffineMap map,
                                llvm::ArrayRef<Text> loops);
  /// The row-major place of an element.
  Text flatten(mlir::Value value, llvm::ArrayRef<Text> index);

  /// "sum", "exp": a word for the name of the step that was written.
  std::string nameOfStep() const;
  /// "sum over 157 elements, then exp".
  std::string describeStep() const;

  /// Notes the first thing that no program is written for. False.
  bool fail(const llvm::Twine &why);
  bool hasFailed() const { return !problem.empty(); }
  const std::string &failure() const { return problem; }

private:
  /// Values of a body that are known.
  struct Body {
    Body() = default;
    Body(mlir::linalg::GenericOp op, llvm::ArrayRef<Text> loops)
        : op(op), loops(loops) {}
    mlir::linalg::GenericOp op;
    llvm::ArrayRef<Text> loops;
    llvm::DenseMap<mlir::Value, Text> known;
  };
  Text failed(const llvm::Twine &why);
  Text loadFrom(const Buffer &buffer, const Text &index);
  Text atReshaped(Lines &lines, mlir::Operation *reshape,
                  llvm::ArrayRef<Text> index);
  Text atSlice(Lines &lines, mlir::tensor::ExtractSliceOp slice,
               llvm::ArrayRef<Text> index);
  Text atPad(Lines &lines, mlir::tensor::PadOp pad, llvm::ArrayRef<Text> index);
  Text atConcat(Lines &lines, mlir::tensor::ConcatOp concat,
                llvm::ArrayRef<Text> index);
  Text atInserted(Lines &lines, mlir::tensor::InsertSliceOp insert,
                  llvm::ArrayRef<Text> index);
  Text atScalars(Lines &lines, mlir::Operation *op, llvm::ArrayRef<Text> index);
  Text atGeneric(Lines &lines, mlir::OpResult value,
                 llvm::ArrayRef<Text> index);
  Text bodyValue(Lines &lines, Body &body, mlir::Value value);
  Text bodyArgument(Lines &lines, Body &body, mlir::BlockArgument argument);
  Text bodyOp(Lines &lines, Body &body, mlir::OpResult value);
  Text extracted(Lines &lines, Body &body, mlir::tensor::ExtractOp extract);
  /// A value that a body takes from around it, which is a number.
  Text scalar(Lines &lines, mlir::Value value);
  Text expression(mlir::AffineExpr expr, llvm::ArrayRef<Text> loops);
  /// A name for a value that is used more than once, or long.
  Text named(Lines &lines, mlir::Value value, Text text);
  void accumulate(Lines &lines, Body &body, llvm::ArrayRef<std::string> names);

  PlainLanguage &language;
  const StepChoice &steps;
  std::string indexType;
  llvm::DenseMap<mlir::Value, Buffer> buffers;
  llvm::DenseMap<mlir::Value, std::string> tables;
  std::set<std::string> names, used, written;
  Text threadNumber;
  llvm::SmallVector<int64_t> threadExtents;
  llvm::SmallVector<std::string> threadIndices;
  /// Ops that the step computes, in order.
  llvm::SetVector<mlir::Operation *> computed;
  /// How many conditions stand before what is written now: no line may.
  unsigned conditions = 0;
  std::string problem;
};

} // namespace fastk::scaffold

#endif // FASTK_LIB_PROPOSE_SCAFFOLD_PLAINELEMENTS_H
