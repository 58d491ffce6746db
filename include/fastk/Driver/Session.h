//===- Session.h - A model, its banks and what is said ----------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a program needs to compile a model, and the steps in which it does:
// load, prepare, form, search (RunSearch.h), apply, emit (Emit.h). A caller
// owns the module and may look at it, or change it, between any two of them.
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_DRIVER_SESSION_H
#define FASTK_DRIVER_SESSION_H

#include "fastk/Driver/ModelDiagnostics.h"
#include "fastk/Transforms/ApplyWinners.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include <optional>
#include <string>
#include <vector>

namespace fastk {

/// Which workloads are formed, and which winners they may have.
struct WinnerOptions {
  Fusion fusion = Fusion::Greedy;
  /// Folders, first wins.
  std::vector<std::string> banks;
  WinnerFilter filter;
};

/// Keeps what a compile of one model rests on. It outlives the module.
class Session {
public:
  /// Diagnostics, and why a file cannot be read, are written to `said`.
  explicit Session(llvm::raw_ostream &said = llvm::errs());

  mlir::MLIRContext &getContext() { return context; }

  /// Reads the model, from a file, from standard input for "-", or all models
  /// of a folder as one, and refuses what no pipeline can compile. Null where
  /// something is wrong, which is said. One of the two, once: diagnostics show
  /// lines of one file.
  mlir::OwningOpRef<mlir::ModuleOp> load(llvm::StringRef path);
  /// The same of a text that diagnostics call `name`.
  mlir::OwningOpRef<mlir::ModuleOp> loadText(llvm::StringRef text,
                                             llvm::StringRef name);

  /// Opens the banks that form() and apply() ask; those of a call before are
  /// closed.
  llvm::Error openBanks(WinnerOptions options);
  BankStack &getBanks() { return *banks; }
  WorkloadMatcher &getMatcher() { return *matcher; }

  /// The two halves of a compile, see formWithWinners() and applyBestWinners().
  /// They come after openBanks(); a search comes in between.
  mlir::LogicalResult form(mlir::ModuleOp module, WinnerQuery *scans = nullptr);
  mlir::FailureOr<ApplySummary> apply(mlir::ModuleOp module);

private:
  llvm::raw_ostream &said;
  mlir::MLIRContext context;
  llvm::SourceMgr sourceMgr;
  ModelDiagnosticHandler handler;
  Fusion fusion = Fusion::Greedy;
  std::optional<BankStack> banks;
  std::optional<WorkloadMatcher> matcher;
};

} // namespace fastk

#endif // FASTK_DRIVER_SESSION_H
