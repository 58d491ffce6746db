//===- BoxScalars.cpp - Numbers of a model's interface as tensors ---------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Host/Model/ModelInterface.h"
#include "fastk/Conversion/Passes.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace fastk;

/// Numbers that have a tensor of rank 0; an index has no size outside.
static bool isNumber(Type type) {
  if (auto complex = dyn_cast<ComplexType>(type))
    type = complex.getElementType();
  return type.isIntOrFloat();
}

/// Takes and returns tensors of rank 0 instead of numbers.
static void boxScalars(func::FuncOp func) {
  Block &entry = func.getBody().front();
  OpBuilder builder(func);
  UnitAttr unit = builder.getUnitAttr();
  for (BlockArgument argument : entry.getArguments()) {
    Type type = argument.getType();
    if (!isNumber(type))
      continue;
    argument.setType(RankedTensorType::get({}, type));
    builder.setInsertionPointToStart(&entry);
    auto number =
        tensor::ExtractOp::create(builder, argument.getLoc(), argument);
    argument.replaceAllUsesExcept(number.getResult(), number);
    func.setArgAttr(argument.getArgNumber(), kScalarAttr, unit);
  }
  SmallVector<Type> results(func.getResultTypes());
  SmallVector<unsigned> boxed;
  for (auto [i, type] : llvm::enumerate(results)) {
    if (!isNumber(type))
      continue;
    type = RankedTensorType::get({}, type);
    boxed.push_back(i);
  }
  func.walk([&](func::ReturnOp ret) {
    builder.setInsertionPoint(ret);
    for (unsigned i : boxed)
      ret.setOperand(i, tensor::FromElementsOp::create(builder, ret.getLoc(),
                                                       results[i],
                                                       ret.getOperand(i)));
  });
  func.setFunctionType(
      builder.getFunctionType(entry.getArgumentTypes(), results));
  for (unsigned i : boxed)
    func.setResultAttr(i, kScalarAttr, unit);
}

void fastk::boxScalars(ModuleOp model) {
  for (auto func : model.getOps<func::FuncOp>())
    if (func.isPublic() && !func.isDeclaration())
      ::boxScalars(func);
}

namespace fastk {
#define GEN_PASS_DEF_FASTKBOXSCALARSPASS
#include "fastk/Conversion/Passes.h.inc"

namespace {
struct FastkBoxScalarsPass
    : impl::FastkBoxScalarsPassBase<FastkBoxScalarsPass> {
  using Base::Base;
  void runOnOperation() override { boxScalars(getOperation()); }
};
} // namespace
} // namespace fastk
