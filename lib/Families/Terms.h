//===- Terms.h - Elements of tensors as terms ----------------- -*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What an element of a tensor is computed from, down to elements of operands
// and to reductions, with all that moves elements looked through. Equal terms
// are one object: two values are the same if their pointers are.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_FAMILIES_TERMS_H
#define FASTK_LIB_FAMILIES_TERMS_H

#include "fastk/Families/Emitter.h"
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace fastk::families {

struct Term {
  enum Kind {
    Load,     ///< The element at `place` of a workload's operand.
    Constant, ///< `attribute`.
    Index,    ///< The value of `place`.
    Compute,  ///< `op` of `operands`.
    Reduce    ///< A reduction at `loops`, of which those it reduces are unset.
  } kind = Load;
  unsigned number = 0;
  /// Of the element.
  mlir::Type type;
  mlir::BlockArgument operand;
  catalog::Lin place;
  mlir::Attribute attribute;
  mlir::Operation *op = nullptr;
  llvm::SmallVector<const Term *> operands;
  catalog::Reduction reduction;
  mlir::Value reduced;
  llvm::SmallVector<catalog::Lin> loops;

  template <typename Op>
  bool is() const {
    return kind == Compute && llvm::isa<Op>(op);
  }
  /// The number that it is, if it is a constant float.
  std::optional<double> number64() const;
};

/// Makes terms, and owns them.
class Terms {
public:
  explicit Terms(const catalog::Program &program) : program(program) {}

  /// Nothing: `failure` says what has no term.
  const Term *at(mlir::Value tensor, llvm::ArrayRef<catalog::Lin> index);
  const Term *bodyAt(mlir::linalg::GenericOp op, mlir::Value value,
                     llvm::ArrayRef<catalog::Lin> loops);
  /// What a reduction starts at, at its loops.
  const Term *startOf(const Term &reduce);

  std::string failure;

private:
  const Term *fail(const llvm::Twine &why);
  const Term *intern(Term term, std::string key);
  const Term *constant(mlir::Attribute attribute);
  const Term *index(const catalog::Lin &place);
  const Term *compute(mlir::Operation *op,
                      llvm::SmallVector<const Term *> operands);
  const Term *make(mlir::Value tensor, llvm::ArrayRef<catalog::Lin> index);
  const Term *concat(mlir::tensor::ConcatOp op,
                     llvm::ArrayRef<catalog::Lin> index);
  const Term *generic(mlir::linalg::GenericOp op, mlir::Value tensor,
                      llvm::ArrayRef<catalog::Lin> index);
  const Term *argument(mlir::linalg::GenericOp op, mlir::BlockArgument argument,
                       llvm::ArrayRef<catalog::Lin> loops);

  const catalog::Program &program;
  std::map<std::string, std::unique_ptr<Term>> terms;
  /// By value and index, or loops.
  std::map<std::pair<void *, std::string>, const Term *> known;
};

/// The term without conversions between floats.
const Term *withoutCasts(const Term *term);
/// The reductions that a term needs, those of reductions left out.
std::set<const Term *> reductionsOf(const Term *term);
/// Sets the variables that terms of a kind have in what a term is computed
/// from, reductions left out.
void collectVars(const Term *term, llvm::SmallBitVector &vars,
                 std::optional<Term::Kind> kind = std::nullopt);

} // namespace fastk::families

#endif // FASTK_LIB_FAMILIES_TERMS_H
