//===- Schedules.h - Transform-dialect realisations -------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_LIB_PROPOSE_CATALOG_SCHEDULES_H
#define FASTK_LIB_PROPOSE_CATALOG_SCHEDULES_H

#include "fastk/Propose/Catalog/CKernel.h"
#include "fastk/Propose/Proposer.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <optional>

namespace fastk {
namespace catalog {

struct ScheduleProgram {
  /// A module with the named sequence @__fastk_schedule; empty when no schedule
  /// is known for the pattern.
  std::string text;
  Parameters parameters;
};

/// The schedule of the family that the pattern belongs to. `parameters` holds
/// "tile", a number below kScheduleChoices, which stands for a set of sizes;
/// those that were taken come back with the program.
ScheduleProgram emitSchedule(mlir::Block &pattern, const Machine &machine,
                             const Parameters &parameters);
inline constexpr int64_t kScheduleChoices = 4;

// The families; each is empty for a pattern that is not its own.
ScheduleProgram emitProductSchedule(mlir::Block &pattern,
                                    const Machine &machine,
                                    const Parameters &parameters);
ScheduleProgram emitConvolutionSchedule(mlir::Block &pattern,
                                        const Machine &machine,
                                        const Parameters &parameters);
ScheduleProgram emitRowSchedule(mlir::Block &pattern, const Machine &machine,
                                const Parameters &parameters);
ScheduleProgram emitElementwiseSchedule(mlir::Block &pattern,
                                        const Machine &machine,
                                        const Parameters &parameters);

// What they share.
/// The largest divisor of `n` that is at most `most`.
int64_t largestDivisor(int64_t n, int64_t most);
/// "1, 2, 3".
std::string joinNumbers(llvm::ArrayRef<int64_t> values);
/// The types of loops as an attribute spells them.
std::string spellIterators(llvm::ArrayRef<mlir::utils::IteratorType> types);
/// The op whose only result is all that the pattern returns, when it has loops;
/// null where there is none.
mlir::linalg::GenericOp findOnlyResult(mlir::Block &pattern);
/// Every linalg op in order; nothing when an op is there that a tile cannot be
/// fused through. Reshapes are such ops unless \p reshapes.
std::optional<llvm::SmallVector<mlir::linalg::GenericOp>>
collectGenerics(mlir::Block &pattern, bool reshapes);
/// How schedules of rows begin: the module, its sequence, unit dimensions
/// folded away, and everything fused into one parallel loop over `tiles` of the
/// result, of which %row is the last op.
std::string beginRowSchedule(llvm::ArrayRef<int64_t> tiles);

/// What a proposer hands on.
Variant variantOf(ScheduleProgram schedule, llvm::StringRef ideaId);

} // namespace catalog
} // namespace fastk

#endif // FASTK_LIB_PROPOSE_CATALOG_SCHEDULES_H
