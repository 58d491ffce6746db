//===- Core.h - What families are for ---------------------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A core is a kind of computation that the compiler recognises: a matcher and a
// header. To the rest of fastk it is a row of one table.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_FAMILIES_CORE_H
#define FASTK_FAMILIES_CORE_H

#include "fastk/Families/Machine.h"
#include "fastk/Families/Samples.h"
#include "mlir/IR/Block.h"
#include "llvm/ADT/ArrayRef.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace fastk::families {

/// What a workload is to families: the names of its buffers in a plan, and its
/// header.
struct CoreInstance {
  /// "contraction".
  std::string core;
  std::string header;
  /// In front of it: functions that are as exact as the accepted class needs.
  std::string functions() const;
  /// What the compiler writes for the workload in the class that is accepted.
  std::string text() const { return functions() + header; }
  /// Of a header in C: the bytes at its beginning that say nothing about the
  /// workload, which are types and helpers.
  size_t helperBytes = 0;
  /// "A" -> "in1".
  std::map<std::string, std::string> buffers;
  unsigned inputs = 0;
  /// Whether what is computed may lose what operands of 10 bits lose: a looser
  /// class than `ieee` is accepted.
  bool acceptsTF32 = false;
  /// Whether f32 operands of products may be rounded to f16: class `half`.
  bool acceptsHalf = false;
  /// It sums products of f32: where those may be rounded to TF32, that hides
  /// what its functions are off by as fast ones.
  bool hidesFastFunctions = false;
  /// Each element of an operand takes part in one result only: what a program
  /// of products is built to use again is not there, so that a family of
  /// another core is preferred.
  bool isWithoutReuse = false;
  /// A convolution whose window does not move: families for contractions are
  /// for it, too, and first where nothing may be rounded.
  bool isProduct = false;
  /// It may be seen as the same core otherwise, as a whole without batches; and
  /// should be first, for its batches have few rows or columns.
  bool isSplit = false, isSplitFinely = false;
  /// What the plan may use of the device.
  int64_t multiprocessors = 0, sharedBytes = 0;
  /// Of the host: the machine that the header is for.
  std::optional<catalog::Machine> host = {};
};

/// What may be lost of f32, by the error class that is accepted: "ieee",
/// "tf32", "half".
void acceptClass(CoreInstance &core, llvm::StringRef precision);

struct Core {
  llvm::StringLiteral name;
  /// The body of a workload, in canonical form, as this core. Nothing: \p why
  /// says what it is not.
  std::optional<CoreInstance> (*describe)(mlir::Block &body, std::string &why);
  /// The same for C programs of a machine; null: the core has no header in C.
  std::optional<CoreInstance> (*describeForHost)(
      mlir::Block &body, const catalog::Machine &machine, std::string &why);
  /// The random workload of that number among those of a seed.
  Sample (*sample)(uint64_t seed, uint64_t number);
  /// The same for programs of the host; null: those above.
  Sample (*sampleForHost)(uint64_t seed, uint64_t number) = nullptr;
  /// Another way to see a workload as this core, for families that refuse the
  /// first; null: there is none.
  std::optional<CoreInstance> (*describeOtherwise)(mlir::Block &body,
                                                   std::string &why) = nullptr;
};

/// Those that there are; a workload may be of several.
llvm::ArrayRef<Core> cores();
/// "contraction, reduction".
std::string listCores();

/// A workload's canonical form as the core of that name, for a device of the
/// target: "cuda:sm_90a"; "host", which is \p machine. Nothing: \p why says
/// what it is not.
std::optional<CoreInstance> findCore(llvm::StringRef core, mlir::Block &pattern,
                                     llvm::StringRef target, std::string &why,
                                     const catalog::Machine &machine = {});
/// As all cores that it is, in class \p precision (acceptClass()), one that
/// may be seen in two ways twice. A
/// convolution is first, a product as one where f32 may be rounded; those
/// without reuse are last. None: \p why says of each what it is not.
std::vector<CoreInstance> findCores(mlir::Block &pattern,
                                    llvm::StringRef target, std::string &why,
                                    const catalog::Machine &machine = {},
                                    llvm::StringRef precision = "ieee");

} // namespace fastk::families

#endif // FASTK_FAMILIES_CORE_H
