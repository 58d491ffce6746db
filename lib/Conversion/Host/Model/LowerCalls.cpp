//===- LowerCalls.cpp - Calls of lowerings to calls of kernels ------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Host/HostPipeline.h"
#include "fastk/Conversion/Passes.h"

using namespace mlir;
using namespace fastk;

/// A pointer to `bytes` that the next operation alone may use; null for none.
static Value makeWorkspace(OpBuilder &builder, Location loc, int64_t bytes) {
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
  if (bytes <= 0)
    return LLVM::ZeroOp::create(builder, loc, pointer);
  auto alloc = memref::AllocOp::create(
      builder, loc, MemRefType::get({bytes}, builder.getI8Type()), ValueRange{},
      builder.getI64IntegerAttr(64));
  Value address =
      memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, alloc);
  address =
      arith::IndexCastOp::create(builder, loc, builder.getI64Type(), address);
  return LLVM::IntToPtrOp::create(builder, loc, pointer, address);
}

/// Turns fastk.call on memrefs into calls of the kernels by name. The workspace
/// of a call is planned as the other buffers are: it takes no room while others
/// need it.
static void lowerCalls(ModuleOp module) {
  // Kernels are declared by the names of the lowerings.
  llvm::StringMap<int64_t> workspaces;
  for (auto lowering :
       llvm::make_early_inc_range(module.getOps<LoweringOp>())) {
    if (auto bytes = lowering->getAttrOfType<IntegerAttr>(kWorkspaceAttr))
      workspaces[lowering.getSymName()] = bytes.getInt();
    lowering.erase();
  }
  OpBuilder builder(module.getContext());
  for (auto func : llvm::to_vector(module.getOps<func::FuncOp>())) {
    SmallVector<CallOp> calls;
    func.walk([&](CallOp call) { calls.push_back(call); });
    for (CallOp call : calls) {
      StringRef name = call.getLowering();
      builder.setInsertionPoint(call);
      SmallVector<Value> operands(call->getOperands());
      operands.push_back(
          makeWorkspace(builder, call.getLoc(), workspaces.lookup(name)));
      auto callee = module.lookupSymbol<func::FuncOp>(name);
      if (!callee) {
        builder.setInsertionPointToEnd(module.getBody());
        callee = func::FuncOp::create(
            builder, call.getLoc(), name,
            builder.getFunctionType(ValueRange(operands).getTypes(), {}));
        callee.setPrivate();
      }
      builder.setInsertionPoint(call);
      func::CallOp::create(builder, call.getLoc(), callee, operands);
      call.erase();
    }
  }
}

namespace fastk {
#define GEN_PASS_DEF_FASTKLOWERCALLSPASS
#include "fastk/Conversion/Passes.h.inc"

namespace {
struct FastkLowerCallsPass
    : impl::FastkLowerCallsPassBase<FastkLowerCallsPass> {
  using Base::Base;
  void runOnOperation() override { lowerCalls(getOperation()); }
};
} // namespace
} // namespace fastk
