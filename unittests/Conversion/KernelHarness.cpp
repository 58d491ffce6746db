//===- KernelHarness.cpp - Patterns in text to callable kernels -----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelHarness.h"
#include "fastk/Dialect/Fastk/Key.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

using namespace mlir;
using namespace fastk;

OwningOpRef<ModuleOp> test::createLowering(ModuleOp module, Language language,
                                           StringRef source, StringRef file) {
  auto func = *module.getOps<func::FuncOp>().begin();
  OwningOpRef<ModuleOp> result = ModuleOp::create(func.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(result->getBody());
  OperationState state(func.getLoc(), LoweringOp::getOperationName());
  Region *pattern = state.addRegion();
  state.addRegion();
  IRMapping mapping;
  func.getBody().cloneInto(pattern, mapping);
  Operation *ret = pattern->front().getTerminator();
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(ret);
    YieldOp::create(builder, ret->getLoc(), ret->getOperands());
    ret->erase();
  }
  auto lowering = cast<LoweringOp>(builder.create(state));
  // The key is printed from the region where it stands.
  std::string key = computeKey(lowering.getPattern());
  lowering.setSymName(LoweringOp::symbolForKey(key));
  lowering.setKey(key);
  lowering.setFormatVersion(LoweringOp::kFormatVersion);
  lowering.setTarget("host");
  lowering.setLanguage(language);
  if (language != Language::generic) {
    llvm::SHA256 hash;
    hash.update(source);
    lowering.setFile(file);
    lowering.setSource(source);
    lowering.setDigest(llvm::toHex(hash.final(), /*LowerCase=*/true));
  }
  return result;
}
