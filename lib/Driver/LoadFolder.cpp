//===- LoadFolder.cpp - The models of a folder as one ---------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Driver/LoadModel.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;
using namespace fastk;

/// The files of models in a folder, by name, so that the module is always the
/// same one.
static std::vector<std::string> listModels(StringRef folder,
                                           std::error_code &ec) {
  std::vector<std::string> files;
  for (llvm::sys::fs::directory_iterator at(folder, ec), end; at != end && !ec;
       at.increment(ec))
    if (StringRef(at->path()).ends_with(".mlir"))
      files.push_back(at->path());
  llvm::sort(files);
  return files;
}

/// Gives the symbols of `from` other names where `into` has theirs, and moves
/// all of it there.
static LogicalResult moveInto(ModuleOp into, ModuleOp from) {
  SymbolTable known(into), own(from);
  for (Operation &op : from.getBody()->getOperations()) {
    auto name = op.getAttrOfType<StringAttr>(SymbolTable::getSymbolAttrName());
    if (name && known.lookup(name) && failed(own.renameToUnique(&op, {&known})))
      return op.emitOpError() << "cannot be renamed";
  }
  into.getBody()->getOperations().splice(into.getBody()->end(),
                                         from.getBody()->getOperations());
  return success();
}

OwningOpRef<ModuleOp> fastk::loadFolder(StringRef folder, MLIRContext *context,
                                        llvm::raw_ostream &said) {
  std::error_code ec;
  std::vector<std::string> files = listModels(folder, ec);
  if (ec || files.empty()) {
    llvm::WithColor::error(said, folder)
        << (ec ? ec.message() : "has no models: they are files *.mlir") << "\n";
    return nullptr;
  }
  OwningOpRef<ModuleOp> all(
      ModuleOp::create(FileLineColLoc::get(context, folder, 0, 0)));
  for (const std::string &file : files) {
    llvm::SourceMgr sourceMgr;
    OwningOpRef<ModuleOp> module = loadModel(file, sourceMgr, context, said);
    if (!module || failed(moveInto(*all, *module)))
      return nullptr;
  }
  return all;
}
