//===- Nest.h - Rows, reductions and elementwise chains in C ----*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rows between the products of attention, each by one thread: as few passes
// as its reductions need, of which one computes all reductions that depend on
// the same earlier ones, and the last one writes the result. Lanes run along
// the row, with partial results in several accumulators and one horizontal
// reduction a row.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_PROPOSE_CATALOG_NEST_H
#define FASTK_LIB_PROPOSE_CATALOG_NEST_H

#include "Kernel.h"

namespace fastk {
namespace catalog {

inline std::string num(int64_t n) { return std::to_string(n); }

/// A reduction of the nest: one accumulator a row.
struct RowReduction {
  Use use;
  Reduction reduction;
  llvm::SmallVector<Lin> loops;
  llvm::SmallVector<unsigned> inner;
  unsigned level = 0;
  std::string result;
};

class NestEmitter {
public:
  NestEmitter(KernelEmitter &kernel, mlir::Value root,
              const Buffer &destination, llvm::ArrayRef<Lin> rootIndex)
      : kernel(kernel), program(kernel.program), root(root),
        destination(destination), rootIndex(rootIndex) {}

  /// Emits the passes of one row into an open block, by one thread: the root's
  /// only free variable is `along`, all others are set already.
  bool runInside(Writer &w, unsigned along);

private:
  bool collect();
  void chooseKept(int64_t innerCount);
  unsigned visit(mlir::Value value, llvm::ArrayRef<Lin> index);
  unsigned visitWith(llvm::function_ref<void(Scope &)> body);
  /// Merges neighbouring variables as far as every load allows.
  std::vector<MergedVars> mergePass(llvm::ArrayRef<unsigned> vars,
                                    llvm::function_ref<void(Scope &)> body,
                                    llvm::SmallVector<unsigned> &loops);
  void bindResults(Scope &scope, unsigned level);
  Scope scopeIn(Writer &w);
  void emitReductionPass(Writer &w, unsigned level);
  void emitRootPass(Writer &w);
  void innerLoops(Writer &w, llvm::ArrayRef<unsigned> loops,
                  const std::vector<MergedVars> &merged, unsigned unroll,
                  llvm::function_ref<void(Scope &, unsigned)> body);

  KernelEmitter &kernel;
  Program &program;
  mlir::Value root;
  Buffer destination;
  llvm::SmallVector<Lin> rootIndex;
  std::vector<RowReduction> reductions;
  llvm::SmallVector<unsigned> inner;
  unsigned levels = 0;
  /// Reductions around the one that is being looked at.
  unsigned depth = 0;
  int64_t unroll = 4;
  /// An expensive value that an earlier pass keeps for the last one.
  std::optional<Use> kept;
  unsigned keptLevel = 0;
  Buffer keptBuffer;
};

} // namespace catalog
} // namespace fastk

#endif // FASTK_LIB_PROPOSE_CATALOG_NEST_H
