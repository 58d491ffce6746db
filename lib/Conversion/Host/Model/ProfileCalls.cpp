//===- ProfileCalls.cpp - Time each kernel of a model ---------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Conversion/ProfileCalls.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

using namespace llvm;

void fastk::profileCalls(Module &model, ArrayRef<std::string> kernels) {
  LLVMContext &context = model.getContext();
  Type *seconds = Type::getDoubleTy(context);
  auto *type = ArrayType::get(seconds, 2 * kernels.size());
  auto *counters = new GlobalVariable(
      model, type, /*isConstant=*/false, GlobalValue::ExternalLinkage,
      ConstantAggregateZero::get(type), kProfileSymbol);
  // Every library for the host is linked with OpenMP.
  FunctionCallee clock = model.getOrInsertFunction(
      "omp_get_wtime", FunctionType::get(seconds, /*isVarArg=*/false));
  for (size_t index = 0; index < kernels.size(); ++index) {
    Function *kernel = model.getFunction(kernels[index]);
    if (!kernel)
      continue;
    SmallVector<CallInst *> calls;
    for (User *user : kernel->users())
      if (auto *call = dyn_cast<CallInst>(user))
        if (call->getCalledFunction() == kernel)
          calls.push_back(call);
    for (CallInst *call : calls) {
      IRBuilder<> builder(call);
      Value *start = builder.CreateCall(clock);
      builder.SetInsertPoint(call->getNextNode());
      Value *took = builder.CreateFSub(builder.CreateCall(clock), start);
      auto add = [&](unsigned element, Value *value) {
        Value *at = builder.CreateConstInBoundsGEP2_64(type, counters, 0,
                                                       2 * index + element);
        Value *old = builder.CreateLoad(seconds, at);
        builder.CreateStore(builder.CreateFAdd(old, value), at);
      };
      add(0, took);
      add(1, ConstantFP::get(seconds, 1));
    }
  }
}
