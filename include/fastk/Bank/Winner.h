//===- Winner.h - A lowering with how it was found --------------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_BANK_WINNER_H
#define FASTK_BANK_WINNER_H

#include "fastk/Bank/Machine.h"
#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "fastk/Protocol/LaunchPlan.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/Error.h"
#include <map>
#include <optional>
#include <string>

namespace fastk {

/// What `fastk.lowering` keeps in its record. Nothing here changes what the
/// lowering means. Times are nanoseconds of the promotion, the second and
/// independent measurement; 0 and "" mean unknown.
struct WinnerRecord {
  /// Display name and operand shapes: "softmax", "64x128xf32".
  std::string name, shapes;
  /// The idea: stable id, one of the six categories, a few words, sentences.
  std::string ideaId, category, title, text;
  /// CPU model, its kind (see Machine) and how many threads the times were
  /// taken with.
  std::string machine, cpu;
  int64_t threads = 0;
  double medianNs = 0, p10Ns = 0, p90Ns = 0;
  int64_t samples = 0;
  /// Of the default lowering, in the same run.
  double baselineNs = 0;
  /// Baseline over winner, with its 95 % confidence interval.
  double speedup = 0, speedupLow = 0, speedupHigh = 0;
  /// The time no kernel can beat on that machine.
  double floorNs = 0;
  /// Largest normalised error by input distribution.
  std::map<std::string, double> errors;
  /// The largest error of all trials as a share of its element's bound; 0 where
  /// elements had none.
  double worstShare = 0;
  /// Whether all runs of the promotion on the same operands gave the same bits;
  /// nothing where nobody has looked.
  std::optional<bool> bitwiseDeterministic;
  std::map<std::string, int64_t> parameters;
  /// Versions it was measured with: "22.1.8".
  std::string mlirVersion, fastkVersion;
  int64_t seed = 0, evaluations = 0;
  /// What language models cost: tokens in and out, money as far as prices were
  /// known, and who was asked, separated by commas. Zero and empty without any.
  int64_t tokens = 0;
  double usd = 0;
  std::string models;

  mlir::DictionaryAttr toAttribute(mlir::MLIRContext *context) const;
  /// Where the times were taken.
  Machine getMachine() const { return {machine, cpu, threads}; }
  /// Unknown fields are ignored, missing ones stay at their defaults.
  static WinnerRecord fromAttribute(mlir::DictionaryAttr attribute);
};

/// A winner in memory.
struct Winner {
  /// Holds the one lowering, with the program's text in its `source`.
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// The folder it was read from.
  std::string folder;

  LoweringOp getLowering() const;
  WinnerRecord getRecord() const;
};

/// The name of a program's file: "kernel.c", "schedule.mlir"; "" for `default`.
llvm::StringRef programFileName(Language language);

/// "64x128xf32_128x256xf32": the operand types of a pattern, each once.
std::string describeShapes(LoweringOp lowering);

/// A lowering of `workload`'s pattern by a program, ready for Bank::write:
/// a module with one lowering that holds the program in `source`. `plan` is for
/// the languages that need one, and keeps the rules (worker::verifyLaunchPlan).
mlir::OwningOpRef<mlir::ModuleOp>
buildWinner(LoweringOp workload, Language language, llvm::StringRef program,
            int64_t workspaceBytes, llvm::StringRef target, Precision precision,
            const WinnerRecord &record,
            const worker::LaunchPlan *plan = nullptr);

/// The text of lowering.mlir: one thing a line, without the program's source.
std::string printLoweringFile(LoweringOp lowering);

} // namespace fastk

#endif // FASTK_BANK_WINNER_H
