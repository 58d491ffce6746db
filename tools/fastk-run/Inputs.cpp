//===- Inputs.cpp - Tensors for a run -------------------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Inputs.h"
#include "fastk/Runtime/Npy.h"
#include <cmath>
#include <cstring>
#include <random>

using namespace fastk;

/// A normal variate by Box and Muller. std::normal_distribution differs between
/// C++ libraries.
static double normal(std::mt19937_64 &engine) {
  constexpr double kScale = 1.0 / 9007199254740992.0; // 2^-53
  double u = (static_cast<double>(engine() >> 11) + 0.5) * kScale;
  double v = static_cast<double>(engine() >> 11) * kScale;
  return std::sqrt(-2.0 * std::log(u)) * std::cos(6.283185307179586 * v);
}

static HostTensor generate(const TensorType &type, std::mt19937_64 &engine) {
  HostTensor tensor(type);
  double scale = type.shape.size() >= 2 && type.shape.back() > 0
                     ? 1.0 / std::sqrt(static_cast<double>(type.shape.back()))
                     : 1.0;
  bool isFloat = worker::isFloat(type.element);
  for (int64_t i = 0, e = type.elements(); i < e; ++i)
    tensor.store(i, isFloat ? scale * normal(engine)
                            : static_cast<double>(engine() >> 63));
  return tensor;
}

llvm::Expected<std::vector<HostTensor>>
fastk::makeInputs(const Signature &signature, llvm::ArrayRef<std::string> files,
                  uint64_t seed) {
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
      inputs.push_back(generate(type, engine));
      continue;
    }
    llvm::Expected<HostTensor> tensor = readNpy(files[i]);
    if (!tensor)
      return tensor.takeError();
    bool isBF16 = type.element == worker::ElementType::BF16 &&
                  tensor->type().element == worker::ElementType::F32 &&
                  tensor->type().shape == type.shape;
    if (!isBF16 && !(tensor->type() == type))
      return llvm::createStringError(files[i] + ": holds " +
                                     tensor->type().str() + " but argument " +
                                     std::to_string(i) + " is " + type.str());
    if (isBF16) {
      HostTensor rounded(type);
      for (int64_t j = 0, e = type.elements(); j < e; ++j)
        rounded.store(j, tensor->load(j));
      tensor = std::move(rounded);
    }
    inputs.push_back(std::move(*tensor));
  }
  return inputs;
}
