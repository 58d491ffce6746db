//===- PlainText.h - Pieces of a plain program ------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Expressions of C and CUDA-C as a person writes them: with the parentheses
// that are needed, and decimal numbers. The catalog's emitter (Families/
// Emitter.h) writes for the compiler instead, and knows fewer ops.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_PROPOSE_SCAFFOLD_PLAINTEXT_H
#define FASTK_LIB_PROPOSE_SCAFFOLD_PLAINTEXT_H

#include "fastk/Families/Emitter.h"
#include "fastk/Propose/Scaffold.h"
#include <memory>
#include <set>

namespace fastk::scaffold {

using catalog::Elem;

/// The element type of a tensor or of a scalar; nothing where programs have
/// none.
std::optional<Elem> elemOf(mlir::Type type);

/// How tightly an expression holds together.
enum Binding {
  Primary,
  Unary,
  Product,
  Sum,
  Shift,
  Order,
  Equality,
  Logic,
  Choice
};

struct MixedIndex;

/// An expression.
struct Text {
  std::string str;
  Binding binding = Primary;
  /// Set where it is an index that is known.
  std::optional<int64_t> constant = {};
  /// Set where it is an index of dimensions that became one.
  std::shared_ptr<const MixedIndex> mixed = {};

  /// With parentheses where it binds looser than \p loosest.
  std::string within(Binding loosest) const {
    return binding <= loosest ? str : "(" + str + ")";
  }
};

/// outer * extent + inner, where inner is below extent.
struct MixedIndex {
  Text outer;
  int64_t extent = 1;
  Text inner;
};

Text binary(const Text &a, llvm::StringRef op, const Text &b, Binding binding);
Text call(llvm::StringRef function, llvm::ArrayRef<Text> arguments);
Text converted(llvm::StringRef type, const Text &value);
Text choice(const Text &condition, const Text &yes, const Text &no);

/// Indices, which are never negative unless a program subtracts.
Text indexOf(int64_t constant);
Text addIndices(const Text &a, const Text &b);
Text multiplyIndex(const Text &a, int64_t factor);
/// An index of two dimensions that become one.
Text mixIndices(const Text &outer, int64_t extent, const Text &inner);
Text divideIndex(const Text &a, int64_t divisor);
Text remainderOfIndex(const Text &a, int64_t divisor);

/// One of the two languages: its names of types, and what a program in it has
/// to define before it uses them.
class PlainLanguage {
public:
  explicit PlainLanguage(Spelling spelling) : spelling(spelling) {}

  bool isCuda() const { return spelling == Spelling::Cuda; }
  /// Of an element in memory, of a value in a register, of its bits.
  std::string memoryType(Elem elem) const;
  /// That a type of elements is used, and so its header.
  void noteType(Elem elem);
  std::string registerType(Elem elem) const;
  std::string unsignedType(Elem elem) const;

  Text number(mlir::Attribute attribute, Elem elem);
  Text load(const std::string &pointer, const Text &index, Elem elem) const;
  /// What is stored of a value in a register.
  std::string stored(const Text &value, Elem elem) const;

  /// The name of a function that the program defines from now on; \p type is
  /// that of its operands.
  std::string helper(llvm::StringRef name, Elem type);
  /// Defines a constant table, and returns its name.
  std::string table(mlir::DenseElementsAttr elements, Elem elem);

  /// Everything that stands in front of the first function.
  std::string preamble() const;

private:
  std::string functionHead() const;

  Spelling spelling;
  bool hasF16 = false, hasBF16 = false;
  std::set<std::string> helpers;
  std::string definitions, tables;
  unsigned numTables = 0;
};

/// What an op of a body computes of its operands: an expression for each
/// result. Nothing where programs have no such op.
std::optional<llvm::SmallVector<Text, 2>>
writeScalarOp(PlainLanguage &language, mlir::Operation *op,
              llvm::ArrayRef<Text> operands);

} // namespace fastk::scaffold

#endif // FASTK_LIB_PROPOSE_SCAFFOLD_PLAINTEXT_H
