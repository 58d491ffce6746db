//===- CoreOperands.cpp - What surrounds a core ---------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CoreOperands.h"
#include "fastk/Dialect/Fastk/FastkDialect.h"

using namespace mlir;
using namespace fastk;
using namespace fastk::catalog;

bool families::nameOperands(Block &body, Program &program, std::string &why) {
  for (BlockArgument argument : body.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    std::optional<Elem> elem =
        type ? program.elemOf(type.getElementType()) : std::nullopt;
    if (!elem || !type.hasStaticShape()) {
      why = "an operand is of a type that has no C";
      return false;
    }
    program.buffers[argument.getAsOpaquePointer()] = {
        "in" + std::to_string(argument.getArgNumber()), *elem};
  }
  return true;
}

CValue families::startOf(const Reduction &reduction, ArrayRef<Lin> loops,
                         Scope &scope) {
  linalg::GenericOp op = reduction.op;
  Value start = op.getDpsInits()[reduction.result];
  AffineMap map =
      op.getIndexingMapsArray()[op.getNumDpsInputs() + reduction.result];
  SmallVector<Lin> index;
  for (AffineExpr expr : map.getResults())
    index.push_back(evaluateAffine(expr, loops).value_or(Lin()));
  return scope.at(start, index);
}

Value families::resultOf(Block &body, const Program &program,
                         std::string &why) {
  auto yield = dyn_cast<YieldOp>(body.getTerminator());
  if (!yield || yield->getNumOperands() != 1) {
    why = "it has several results";
    return {};
  }
  Value result = yield->getOperand(0);
  auto type = dyn_cast<RankedTensorType>(result.getType());
  std::optional<Elem> elem =
      type ? program.elemOf(type.getElementType()) : std::nullopt;
  if (!elem || !type.hasStaticShape()) {
    why = "its result is no tensor of known shape of a type that has a C";
    return {};
  }
  return result;
}

Value families::floatResultOf(Block &body, const Program &program,
                              std::string &why) {
  Value result = resultOf(body, program, why);
  if (result && isFloat(*program.elemOf(
                    cast<RankedTensorType>(result.getType()).getElementType())))
    return result;
  if (why != "it has several results")
    why = "its result is no tensor of floats of known shape";
  return {};
}
