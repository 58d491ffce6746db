//===- FileOf.cpp - Where a module comes from -----------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Transforms/FileOf.h"

using namespace mlir;

Location fastk::fileOf(ModuleOp module) {
  Location loc = module.getLoc();
  auto place = loc->findInstanceOf<FileLineColLoc>();
  return place ? FileLineColLoc::get(place.getFilename(), 0, 0) : loc;
}
