//===- AppendWorkspace.cpp - The ABI of kernels ---------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostPipeline.h"
#include "fastk/Conversion/Passes.h"

using namespace mlir;

namespace fastk {
#define GEN_PASS_DEF_FASTKAPPENDWORKSPACEPASS
#include "fastk/Conversion/Passes.h.inc"

namespace {
struct FastkAppendWorkspacePass
    : impl::FastkAppendWorkspacePassBase<FastkAppendWorkspacePass> {
  using Base::Base;

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isDeclaration())
      return;
    Builder builder(func);
    Type pointer = LLVM::LLVMPointerType::get(func.getContext());
    // Last in the ABI, whether it is used or not.
    func.getBody().front().addArgument(pointer, func.getLoc());
    func.setFunctionType(builder.getFunctionType(
        func.getBody().front().getArgumentTypes(), func.getResultTypes()));
    // No two of a kernel's buffers overlap.
    for (unsigned i = 0, e = func.getNumArguments(); i < e; ++i)
      func.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                      builder.getUnitAttr());
    if (planned)
      func->setAttr(kWorkspaceAttr, builder.getI64IntegerAttr(0));
  }
};
} // namespace
} // namespace fastk
