//===- RunInputs.cpp - Tensors for a run ----------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Driver/RunInputs.h"
#include "fastk/Dialect/Fastk/FastkDialect.h"
#include "fastk/Driver/Compile.h"
#include "fastk/Runtime/Npy.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <cmath>
#include <cstring>
#include <random>

using namespace fastk;

/// In [0, 1), 53 bits.
static double uniform(std::mt19937_64 &engine) {
  return static_cast<double>(engine() >> 11) * 0x1p-53;
}

/// A normal variate by Box and Muller. std::normal_distribution differs between
/// C++ libraries.
static double normal(std::mt19937_64 &engine) {
  double u = uniform(engine) + 0x1p-54; // never 0
  double v = uniform(engine);
  return std::sqrt(-2.0 * std::log(u)) * std::cos(6.283185307179586 * v);
}

llvm::SmallVector<InputFeatures>
fastk::analyzeArguments(mlir::ModuleOp model, llvm::StringRef function,
                        Fusion fusion) {
  llvm::SmallVector<InputFeatures> features;
  mlir::OwningOpRef<mlir::ModuleOp> module(model.clone());
  auto func = module->lookupSymbol<mlir::func::FuncOp>(function);
  if (!func || failed(runFormWorkloads(*module, fusion)))
    return features;
  features.resize(func.getNumArguments());
  func.walk([&](WorkloadOp workload) {
    WorkloadFeatures found = analyzeWorkload(workload.getBody());
    for (auto [operand, feature] :
         llvm::zip(workload.getInputs(), found.inputs)) {
      mlir::Value value = operand;
      while (mlir::Operation *op = value.getDefiningOp()) {
        if (!mlir::isa<mlir::tensor::ExpandShapeOp,
                       mlir::tensor::CollapseShapeOp>(op))
          break;
        value = op->getOperand(0);
      }
      auto argument = mlir::dyn_cast<mlir::BlockArgument>(value);
      if (argument && argument.getOwner() == &func.front() &&
          features[argument.getArgNumber()].role == InputRole::Data)
        features[argument.getArgNumber()] = feature;
    }
  });
  return features;
}

static HostTensor generate(const TensorType &type,
                           const InputFeatures &features,
                           std::optional<double> wantedScale,
                           std::mt19937_64 &engine) {
  HostTensor tensor(type);
  double usualScale =
      type.shape.size() >= 2 && type.shape.back() > 0
          ? 1.0 / std::sqrt(static_cast<double>(type.shape.back()))
          : 1.0;
  double scale = wantedScale.value_or(usualScale);
  bool isPositive = features.positive || features.nonZero ||
                    features.role == InputRole::Positive;
  bool isFloat = worker::isFloat(type.element);
  uint64_t bound = std::max<int64_t>(features.indexBound, 2);
  for (int64_t i = 0, e = type.elements(); i < e; ++i) {
    if (!isFloat)
      tensor.store(i, static_cast<double>((engine() >> 1) % bound));
    else if (isPositive)
      tensor.store(i, 0.5 + uniform(engine));
    else
      tensor.store(i, scale * normal(engine));
  }
  return tensor;
}

llvm::Expected<std::vector<HostTensor>>
fastk::makeInputs(const Signature &signature, llvm::ArrayRef<std::string> files,
                  llvm::ArrayRef<InputFeatures> features, uint64_t seed,
                  int64_t openSize, std::optional<double> scale) {
  if (files.size() > signature.inputs.size())
    return llvm::createStringError(
        "--inputs names " + std::to_string(files.size()) +
        " files but the function takes " +
        std::to_string(signature.inputs.size()) + " arguments");
  std::vector<HostTensor> inputs;
  std::mt19937_64 engine(seed);
  for (size_t i = 0; i < signature.inputs.size(); ++i) {
    const TensorType &type = signature.inputs[i];
    if (i >= files.size()) {
      TensorType made = type;
      for (int64_t &size : made.shape)
        size = size == -1 ? openSize : size;
      inputs.push_back(
          generate(made, i < features.size() ? features[i] : InputFeatures(),
                   scale, engine));
      continue;
    }
    llvm::Expected<HostTensor> tensor = readNpy(files[i]);
    if (!tensor)
      return tensor.takeError();
    TensorType asBF16 = tensor->type();
    asBF16.element = worker::ElementType::BF16;
    bool isBF16 = type.accepts(asBF16) &&
                  tensor->type().element == worker::ElementType::F32;
    if (!isBF16 && !type.accepts(tensor->type()))
      return llvm::createStringError(files[i] + ": holds " +
                                     tensor->type().str() + " but argument " +
                                     std::to_string(i) + " is " + type.str());
    if (isBF16) {
      HostTensor rounded(asBF16);
      for (int64_t j = 0, e = asBF16.elements(); j < e; ++j)
        rounded.store(j, tensor->load(j));
      tensor = std::move(rounded);
    }
    inputs.push_back(std::move(*tensor));
  }
  return inputs;
}
