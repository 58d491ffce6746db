//===- LaunchRecipe.cpp - A winner as other projects launch it ------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Export/LaunchRecipe.h"
#include "fastk/Evaluate/JobBuilder.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace fastk;

int64_t RecipeTensor::elements() const {
  int64_t product = 1;
  for (int64_t extent : shape)
    product *= extent;
  return product;
}

std::string RecipeTensor::str() const {
  std::string text;
  for (int64_t extent : shape)
    text += std::to_string(extent) + "x";
  return text + std::string(worker::toString(type));
}

std::vector<std::string> LaunchRecipe::kernels() const {
  std::vector<std::string> names;
  for (const worker::PlanStep &step : plan.steps)
    if (const auto *launch = std::get_if<worker::Launch>(&step))
      if (!llvm::is_contained(names, launch->kernel))
        names.push_back(launch->kernel);
  return names;
}

std::string LaunchRecipe::symbolOf(const std::string &kernel) const {
  return kernel + "_of_" + key.substr(0, 8);
}

std::vector<int64_t> LaunchRecipe::workspaceOffsets() const {
  std::vector<int64_t> offsets = {0};
  for (const worker::Workspace &workspace : plan.workspaces)
    offsets.push_back(offsets.back() +
                      int64_t(llvm::alignTo(uint64_t(workspace.bytes), 256)));
  return offsets;
}

std::string fastk::commentOf(llvm::StringRef text) {
  std::string line;
  for (char c : text)
    line += llvm::isPrint(c) ? c : ' ';
  while (!line.empty() && (line.back() == '\\' || line.back() == ' '))
    line.pop_back();
  return line;
}

static std::string identifierOf(llvm::StringRef text) {
  std::string name;
  for (char c : text)
    name += llvm::isAlnum(c) ? c : '_';
  return name.empty() || llvm::isDigit(name.front()) ? "kernel_" + name : name;
}

static llvm::Expected<std::vector<RecipeTensor>>
tensorsOf(mlir::TypeRange types, llvm::StringRef what) {
  std::vector<RecipeTensor> tensors;
  for (auto [index, type] : llvm::enumerate(types)) {
    auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type);
    std::optional<worker::ElementType> element =
        tensor && tensor.hasStaticShape()
            ? toElementType(tensor.getElementType())
            : std::nullopt;
    if (!element) {
      std::string text;
      llvm::raw_string_ostream(text) << type;
      return llvm::createStringError(
          what + " " + llvm::Twine(index) + " is " + text +
          ": exports are of tensors of static shape of f64, f32, f16, bf16, "
          "i64, i32, i8 and i1");
    }
    tensors.push_back({*element, tensor.getShape().vec()});
  }
  return tensors;
}

llvm::Expected<LaunchRecipe> fastk::makeRecipe(const Winner &winner,
                                               LaunchRecipe::Code kind,
                                               std::string code,
                                               worker::LaunchPlan plan) {
  LoweringOp lowering = winner.getLowering();
  auto [device, chip] = lowering.getTarget().split(':');
  if (device != "cuda")
    return llvm::createStringError(
        "is a winner for the host: these exports are of programs for GPUs; "
        "choose some with --target=cuda:sm_90a, or copy it with --format=bank");
  WinnerRecord record = winner.getRecord();
  LaunchRecipe recipe;
  recipe.name = record.name;
  recipe.shapes = record.shapes;
  recipe.key = lowering.getKey().str();
  recipe.precision = stringifyPrecision(lowering.getPrecision()).str();
  recipe.chip = chip.str();
  recipe.title = record.title;
  recipe.machine = record.getMachine().str();
  recipe.medianNs = record.medianNs;
  recipe.speedup = record.speedup;
  recipe.module = identifierOf(record.name) + "_" + recipe.key.substr(0, 8);
  if (lowering.getPrecision() != Precision::ieee)
    recipe.module += "_" + recipe.precision;
  mlir::FunctionType type = lowering.getWorkloadType();
  auto inputs = tensorsOf(type.getInputs(), "operand");
  if (!inputs)
    return inputs.takeError();
  auto outputs = tensorsOf(type.getResults(), "result");
  if (!outputs)
    return outputs.takeError();
  recipe.inputs = std::move(*inputs);
  recipe.outputs = std::move(*outputs);
  recipe.kind = kind;
  recipe.code = std::move(code);
  recipe.plan = std::move(plan);
  return recipe;
}
