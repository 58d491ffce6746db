//===- ChosenKernel.cpp - What was chosen for an op, as IR ----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChosenKernel.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace fastk;

LogicalResult fastk::refuseChosen(Operation *op, const Twine &why) {
  return op->emitError() << why << " (required by 'fastk.kernel_choices')";
}

void ChosenKernel::write(Operation *op) const {
  Builder builder(op->getContext());
  SmallVector<NamedAttribute> fields;
  if (!strategy.empty())
    fields.push_back(
        builder.getNamedAttr(kStrategyName, builder.getStringAttr(strategy)));
  for (const auto &[name, value] : numbers)
    fields.push_back(
        builder.getNamedAttr(name, builder.getI64IntegerAttr(value)));
  op->setDiscardableAttr(kKernelAttr, builder.getDictionaryAttr(fields));
}

FailureOr<ChosenKernel> ChosenKernel::read(Operation *op) {
  Attribute attribute = op->getDiscardableAttr(kKernelAttr);
  if (!attribute)
    return refuseChosen(op, "has no 'fastk.kernel': run fastk-choose-kernels, "
                            "or write what its kernels shall be");
  auto fields = dyn_cast<DictionaryAttr>(attribute);
  if (!fields)
    return refuseChosen(op, "'fastk.kernel' is no dictionary: write "
                            "{strategy = \"points\"}, and numbers");
  ChosenKernel chosen;
  for (NamedAttribute field : fields) {
    StringRef name = field.getName();
    if (auto text = dyn_cast<StringAttr>(field.getValue());
        text && name == kStrategyName) {
      chosen.strategy = text.str();
      continue;
    }
    auto number = dyn_cast<IntegerAttr>(field.getValue());
    if (!number || name == kStrategyName)
      return refuseChosen(op,
                          "'" + name + "' in 'fastk.kernel' is no " +
                              (name == kStrategyName ? "string" : "integer"));
    chosen.numbers[name.str()] = number.getInt();
  }
  return chosen;
}

LogicalResult
ChosenKernel::follow(Operation *op,
                     const std::map<std::string, int64_t> &decided,
                     KernelChoices &choices) const {
  std::set<std::string> changed;
  std::map<std::string, int64_t> given;
  for (const auto &[name, value] : numbers) {
    auto found = decided.find(name);
    if (found == decided.end()) {
      std::string whom =
          strategy.empty() ? "all kernels" : "'" + strategy + "'";
      return refuseChosen(op, "'" + Twine(name) +
                                  "' in 'fastk.kernel' is nothing that " +
                                  whom + " can be told");
    }
    if (found->second == value)
      continue;
    changed.insert(name);
    given[name] = value;
  }
  // What the model says may be anything; what somebody says is in the table.
  if (failed(KernelChoices(std::move(given)).verify(op)))
    return failure();
  choices.settle(numbers, std::move(changed));
  return success();
}
