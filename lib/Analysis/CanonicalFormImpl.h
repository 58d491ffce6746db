//===- CanonicalFormImpl.h - The steps of canonicalisation ------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_ANALYSIS_CANONICALFORMIMPL_H
#define FASTK_LIB_ANALYSIS_CANONICALFORMIMPL_H

#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Region.h"
#include "mlir/Support/LLVM.h"
#include <cstdint>

namespace fastk::canonical {

/// Decomposes linalg.softmax and turns every named linalg op of the region into
/// linalg.generic. Fails with a diagnostic at the op that resists.
mlir::LogicalResult generalizeRegion(mlir::Region &region);

/// Upstream's folds and canonicalisation patterns of the dialects that bodies
/// are made of. Every linalg op must be generic already: patterns on named ops
/// would make the result depend on the spelling. Returns true when something
/// changed.
bool simplifyRegion(mlir::Region &region);

/// What becomes of results that nothing uses, of ops that have others.
enum class DeadResults { Keep, Drop };

/// Brings each linalg.generic on tensors to one shape: constants and scalars
/// inside the body, no operand twice, no unused operand, no dead result, no
/// value in `outs` that is never read. Returns true when something changed.
bool normalizeGenerics(mlir::Region &region, DeadResults deadResults);

/// Where arguments and yielded values of a re-emitted region came from.
struct Order {
  /// New argument i was argument inputs[i].
  llvm::SmallVector<unsigned> inputs;
  /// New yielded value i was yielded value outputs[i].
  llvm::SmallVector<unsigned> outputs;
};

/// How emitInOrder tells the arguments of a region apart.
enum class InputIdentity {
  /// By position. Equal computations come out as equal text, so that CSE can
  /// merge them; the order of things depends on the order of the arguments.
  Position,
  /// By structure alone: the result does not depend on the order of anything.
  Structure
};

/// Writes the single block of `from` into the empty region `to`, in an order
/// and with an operand order that follow from the structure. Dead ops,
/// locations and discardable attributes stay behind; constants come first, each
/// once.
Order emitInOrder(mlir::Region &from, mlir::Region &to, InputIdentity identity);

} // namespace fastk::canonical

#endif // FASTK_LIB_ANALYSIS_CANONICALFORMIMPL_H
