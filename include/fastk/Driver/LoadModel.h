//===- LoadModel.h - Reading a model and refusing bad ones ------*- C++ -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FASTK_DRIVER_LOADMODEL_H
#define FASTK_DRIVER_LOADMODEL_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Support/LLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include <memory>

namespace fastk {

/// Every dialect, extension and interface that the driver's pipelines need.
void registerFastkDialects(mlir::DialectRegistry &registry);

/// Reads a module from a file, or from standard input for "-", into `sourceMgr`
/// and parses it. A file that cannot be read is told on `said`. Errors of what
/// it holds are diagnostics at their place; those that come from another
/// dialect's IR say what to do about it.
mlir::OwningOpRef<mlir::ModuleOp> loadModel(llvm::StringRef path,
                                            llvm::SourceMgr &sourceMgr,
                                            mlir::MLIRContext *context,
                                            llvm::raw_ostream &said);

/// Reads the models of a folder, its files *.mlir in the order of their names,
/// into one module; symbols that several have get other names. One that cannot
/// be read is an error, as above.
mlir::OwningOpRef<mlir::ModuleOp> loadFolder(llvm::StringRef folder,
                                             mlir::MLIRContext *context,
                                             llvm::raw_ostream &said);

/// The second half of loadModel(): parses a text that diagnostics call `name`.
mlir::OwningOpRef<mlir::ModuleOp>
parseModel(std::unique_ptr<llvm::MemoryBuffer> text, llvm::StringRef name,
           llvm::SourceMgr &sourceMgr, mlir::MLIRContext *context);

/// Refuses what no pipeline of fastk can compile: left-over torch ops, random
/// number state, buffers, tensors larger than the address space. Every refusal
/// names the op and the remedy.
mlir::LogicalResult checkModel(mlir::ModuleOp module);

} // namespace fastk

#endif // FASTK_DRIVER_LOADMODEL_H
