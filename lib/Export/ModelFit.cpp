//===- ModelFit.cpp - Where a model's arguments go in a winner ------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Export/ModelFit.h"
#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace fastk;
namespace json = llvm::json;

llvm::Expected<std::vector<ModelArgument>>
fastk::readModelArguments(StringRef sidecar) {
  llvm::Expected<json::Value> value = json::parse(sidecar);
  if (!value)
    return value.takeError();
  auto wrong = [](const Twine &what) {
    return llvm::createStringError("is no sidecar of fastk.importer: " + what);
  };
  const json::Object *object = value->getAsObject();
  const json::Array *list = object ? object->getArray("arguments") : nullptr;
  if (!list)
    return wrong("it has no list 'arguments'");
  if (object->get("returned"))
    return llvm::createStringError("the model returns a container: only a "
                                   "tensor or a tuple of tensors fits");
  if (const json::Array *results = object->getArray("results"))
    for (const json::Value &each : *results)
      if (const json::Object *entry = each.getAsObject())
        if (entry->getString("role") == StringRef("updated"))
          return llvm::createStringError("the model updates its buffer '" +
                                         entry->getString("name").value_or("") +
                                         "', which no winner does");
  std::vector<ModelArgument> arguments;
  size_t inputs = 0;
  for (const json::Value &each : *list) {
    const json::Object *entry = each.getAsObject();
    auto role = entry ? entry->getString("role") : std::nullopt;
    auto name = entry ? entry->getString("name") : std::nullopt;
    if (!role || !name)
      return wrong("an argument has no 'role' or no 'name'");
    ModelArgument argument;
    argument.name = name->str();
    if (const json::Array *shape = entry->getArray("shape"))
      for (const json::Value &extent : *shape)
        argument.shape.push_back(extent.getAsInteger().value_or(-1));
    if (*role == "input")
      argument.input = inputs++;
    else if (*role == "parameter")
      argument.role = ModelArgument::Role::Parameter;
    else if (*role == "buffer")
      argument.role = ModelArgument::Role::Buffer;
    else
      return llvm::createStringError("argument '" + *name + "' is a " + *role +
                                     ", which is neither an input nor a weight "
                                     "of the module");
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

/// What a value is before its elements, in their order, got another shape.
static Value skipReshapes(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

static std::string nameOf(Value value) {
  if (Operation *op = value.getDefiningOp())
    return "'" + op->getName().getStringRef().str() + "'";
  return "an argument of the model";
}

static std::optional<std::vector<int64_t>> viewOf(Value from, Value to) {
  if (from == to)
    return std::nullopt;
  return cast<RankedTensorType>(to.getType()).getShape().vec();
}

llvm::Expected<ModelFit> fastk::fitModel(ModuleOp applied, StringRef key,
                                         std::vector<ModelArgument> arguments) {
  auto functions = applied.getOps<func::FuncOp>();
  if (std::distance(functions.begin(), functions.end()) != 1)
    return llvm::createStringError("the model has not exactly one function");
  func::FuncOp function = *functions.begin();
  if (!function.getBody().hasOneBlock() ||
      function.getNumArguments() != arguments.size())
    return llvm::createStringError(
        "the model's function is not the one that its sidecar describes: "
        "import it again");
  ModelFit fit;
  fit.arguments = std::move(arguments);
  CallOp call;
  Operation *end = function.getBody().front().getTerminator();
  for (auto [index, returned] : llvm::enumerate(end->getOperands())) {
    Value result = skipReshapes(returned);
    auto made = result.getDefiningOp<CallOp>();
    auto lowering = made ? SymbolTable::lookupNearestSymbolFrom<LoweringOp>(
                               made, made.getLoweringAttr())
                         : LoweringOp();
    if (!lowering || lowering.getKey() != key)
      return llvm::createStringError("result " + Twine(index) + " is made by " +
                                     nameOf(result) +
                                     ", which is no part of the winner");
    if (call && call != made)
      return llvm::createStringError("the model calls the winner twice");
    call = made;
    fit.results.push_back(
        {cast<OpResult>(result).getResultNumber(), viewOf(result, returned)});
  }
  if (!call)
    return llvm::createStringError("the model returns nothing");
  for (auto [index, operand] : llvm::enumerate(call->getOperands())) {
    Value source = skipReshapes(operand);
    auto argument = dyn_cast<BlockArgument>(source);
    if (!argument)
      return llvm::createStringError(
          "operand " + Twine(index) + " of the winner is made by " +
          nameOf(source) + ", which is no part of the winner");
    fit.operands.push_back({argument.getArgNumber(), viewOf(source, operand)});
  }
  return fit;
}
