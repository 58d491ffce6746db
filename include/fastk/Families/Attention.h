//===- Attention.h - Workloads that weigh values by keys --------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The core "attention": two products with a softmax between,
//
//   sum[b, m, n] = sum over d of Q[b, m, d] * K[b, n, d]
//   weight[b, m, n] = softmax over n of score(sum[b, m, n], b, m, n)
//   out[b, m, e] = sum over n of weight[b, m, n] * V[b, n, e]
//
// and what becomes of `out`. It is found by what elements are computed from:
// layouts, grouped queries and the order of ops are no other workload. b, m and
// e are groups of loops, each walked as one index, its last loop fastest.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_FAMILIES_ATTENTION_H
#define FASTK_FAMILIES_ATTENTION_H

#include "fastk/Families/Core.h"
#include "fastk/Families/Emitter.h"
#include <optional>
#include <string>

namespace fastk::families {

/// Q, K or V.
struct AttentionSide {
  /// In the body of the op that multiplies: the factor, before it is widened.
  mlir::Value factor;
  /// The type of its elements, as the workload computes them.
  catalog::Elem elem = catalog::Elem::F32;
  /// The elements are those of an operand, times `factorScale`: the one at
  /// `place`, in variables.
  bool isPlain = false;
  unsigned input = 0;
  catalog::Lin place;
};

struct Attention {
  /// The ops that sum products of Q and K, and of weights and V; the row's
  /// maximum, whose elements are the scores.
  mlir::linalg::GenericOp keysOp, valuesOp;
  catalog::Reduction most;
  /// The loops of each, in variables.
  llvm::SmallVector<catalog::Lin> keysLoops, valuesLoops, mostLoops;
  /// The sum that what `valuesOp` computes is divided by, where weights are
  /// divided after the product; nothing: before.
  mlir::Value divisor;
  mlir::Value result;
  catalog::Elem resultElem = catalog::Elem::F32;
  /// Variables of each group in `program`, outermost first; at most one is in
  /// `m`.
  llvm::SmallVector<unsigned> batch, m, e;
  unsigned n = 0, d = 0;
  int64_t batchSize = 1, mSize = 1, nSize = 1, dSize = 1, eSize = 1;
  AttentionSide q, k, v;
  /// What factors of Q and K are multiplied by, which the sum is instead.
  double factorScale = 1;
  /// The score is the sum of elements, unscaled, times this, where n <= m +
  /// `causalOffset`.
  std::optional<double> scoreScale;
  /// Scores are minus infinity where n > m + this.
  std::optional<int64_t> causalOffset;
  /// What the workload rounds weights to before it multiplies them.
  catalog::Elem weightElem = catalog::Elem::F32;
  /// A row all of whose scores are minus infinity has weights 0, not NaN.
  bool hasZeroRows = false;
  /// Of the result's dimensions.
  llvm::SmallVector<catalog::Lin> index;
  /// Has the variables, and the workload's operands as buffers in0, in1, ...
  catalog::Program program{1, 1};
};

/// The body of a workload, in canonical form, as attention. Nothing: \p why
/// says what it is not.
std::optional<Attention> matchAttention(mlir::Block &body, std::string &why);

/// The header of a program for it (docs/families.md). Nothing: \p why says what
/// has no text.
std::optional<std::string> writeHeader(const Attention &attention,
                                       std::string &why);
/// The header, and what a plan calls Q, K, V and OUT.
std::optional<CoreInstance> describeCore(const Attention &attention,
                                         std::string &why);
/// The header of a C program for it, on one machine.
std::optional<CoreInstance> describeForHost(const Attention &attention,
                                            const catalog::Machine &machine,
                                            std::string &why);

} // namespace fastk::families

#endif // FASTK_FAMILIES_ATTENTION_H
