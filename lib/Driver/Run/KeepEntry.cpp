//===- KeepEntry.cpp - What of a model one function needs -----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Driver/CompileForRun.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;

void fastk::keepEntry(ModuleOp model, llvm::StringRef entry) {
  auto function = SymbolTable(model).lookup<func::FuncOp>(entry);
  if (!function)
    return;
  for (auto other : llvm::make_early_inc_range(model.getOps<func::FuncOp>()))
    if (other != function && SymbolTable::symbolKnownUseEmpty(other, model))
      other.erase();
}
